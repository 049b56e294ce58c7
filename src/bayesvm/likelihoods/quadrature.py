r"""Logarithms of :math:`\int e^{-\ell(t)}\, \mathcal N(t; m, v)\, dt` for a piecewise smooth loss.

:func:`~bayesvm.likelihoods.adaptive_quadrature.gaussian_panels` makes the panels (nodes and logarithms of weights), :func:`log_sum_exp`
reduces them; :func:`log_gaussian_integral` is the two together, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesvm.likelihoods.adaptive_quadrature import Panels, Profile, gaussian_panels
from bayesvm.typing import Matrix, Vector

#: Samples treated at once: the nodes of a block stay within the cache.
BLOCK = 2048


def log_sum_exp(panels: Panels, log_factor: Matrix, n: int) -> Vector:
    r"""Return, for each of n samples, :math:`\ln \sum e^{a + b + \text{log\_factor}}` over its rows and nodes."""
    terms = panels.log_weight + log_factor
    top = np.max(terms, axis=1)
    row = panels.base + top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1))
    best = np.full(n, -np.inf)
    np.maximum.at(best, panels.sample, row)
    best_or_zero = np.where(np.isfinite(best), best, 0.0)
    total = np.bincount(panels.sample, np.exp(row - best_or_zero[panels.sample]), n)
    with np.errstate(divide="ignore"):
        return np.asarray(best_or_zero + np.log(total))


def check_gaussians(mean: Vector, var: Vector) -> None:
    """Raise ``ValueError`` unless the means are finite and the variances finite and not negative."""
    good = np.isfinite(mean)
    if not np.all(good):
        raise ValueError(f"mean: expected finite numbers, found {float(mean[~good].flat[0])}")
    good = (var >= 0.0) & (var < np.inf)
    if not np.all(good):
        raise ValueError(f"var: expected finite non-negative variances, found {float(var[~good].flat[0])}")


def log_gaussian_integral(
    profile: Profile,
    knots: Sequence[float],
    domain: tuple[float, float],
    mean: Vector,
    var: Vector,
    *,
    origin: float = 0.0,
) -> Vector:
    r"""Return :math:`\ln \int e^{-\ell(t)}\, \mathcal N(t; m, v)\, dt` for vectors of means and variances.

    Parameters
    ----------
    profile : callable
        Maps an array of :math:`x = t - \text{origin}` to the loss with its derivatives; the loss must be convex on each
        piece.
    knots : sequence of float
        Increasing points t between which the loss is smooth at the scale of the rule.
    domain : pair of float
        Open interval on which the loss is finite.
    mean, var : arrays of one shape
        Parameters of the Gaussians; a variance of zero gives minus the loss at the mean.
    origin : float
        The point from which ``profile`` measures t; the end of the domain where the loss is infinite, if there is one, so
        that distances from it are exact.

    Returns
    -------
    array of the shape of ``mean``
        Right to about 1e-12, or to rounding where the logarithm itself is huge or the loss is steep: an error of the last
        bit in t counts with the slope of the loss.
    """
    check_gaussians(mean, var)
    shape = mean.shape
    mean, var = np.ravel(mean), np.ravel(var)
    out = np.empty(mean.size)
    point, spread = np.flatnonzero(var == 0.0), np.flatnonzero(var > 0.0)
    out[point] = -profile(mean[point] - origin).loss
    for start in range(0, spread.size, BLOCK):
        part = spread[start : start + BLOCK]
        panels = gaussian_panels(profile, knots, domain, mean[part], var[part], origin=origin)
        out[part] = log_sum_exp(panels, -profile(panels.x).loss, part.size)
    return out.reshape(shape)


__all__ = ["check_gaussians", "gaussian_panels", "log_gaussian_integral", "log_sum_exp"]
