"""Gaussian integrals; :mod:`bayesvm._core.quadrature.reference` states the same in NumPy."""

from bayesvm._core.quadrature._quadrature import fixed_rule

__all__ = ["fixed_rule"]
