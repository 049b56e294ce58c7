r"""Marginals at the training points, and what they would be without each point's own term (leave-one-out).

For any posterior of the shared form, with the diagonal v of :math:`V = (K^{-1} + W)^{-1}`, taking away the Gaussian
term :math:`\exp(\nu_i f_i - \tfrac12 W_i f_i^2)`, :math:`\nu = \alpha + W m`, of point i leaves the *cavity*

.. math:: v_{-i} = \frac{v_i}{1 - v_i W_i}, \qquad m_{-i} = m_i - v_{-i}\, \alpha_i .

For expectation propagation this is the cavity of its fixed point; for Laplace and variational posteriors it is the
posterior of the other points with their terms unchanged, the analogous approximation. For Gaussian noise it is exact.
On the support :math:`1 - v_i W_i = (B^{-1})_{ii}`, which does not cancel. A point that occurs c times (a sample weight)
is left out once: :math:`W_i / c` and :math:`\alpha_i / c` take the places of :math:`W_i` and :math:`\alpha_i`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.base import Factor, Posterior
from bayesvm.linalg.site_posterior import SitePosterior
from bayesvm.linalg.support_factor import SupportFactor
from bayesvm.solvers.newton import times
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Marginals:
    """Posterior marginals at all training points.

    Attributes
    ----------
    mean, var : arrays, shape (n,)
        Of the latent values.
    alpha : array, shape (n,)
        Coefficients, zero off the support.
    rest : array, shape (n,)
        1 - v W / c: the precision of the cavity over the precision of the marginal.
    copies : array, shape (n,), or 1.0
        c, how often each point occurs (sample weights): the cavity leaves one occurrence out.
    """

    mean: Vector
    var: Vector
    alpha: Vector
    rest: Vector
    copies: Vector | float = 1.0

    @property
    def cavity_var(self) -> Vector:
        """Variance of each latent value given the other points."""
        return self.var / self.rest

    @property
    def cavity_mean(self) -> Vector:
        """Mean of each latent value given the other points."""
        return self.mean - self.cavity_var * (self.alpha / self.copies)

    @classmethod
    def of(cls, K: Matrix, alpha: Vector, factor: Factor, copies: Vector | float = 1.0) -> Marginals:
        """Compute them from the coefficients of all training points and the factor."""
        var, rest = factor.marginals(K)
        return cls(times(K, alpha), var, alpha, _shared(rest, copies), copies)

    @classmethod
    def of_sites(cls, posterior: SitePosterior, copies: Vector | float = 1.0) -> Marginals:
        """Take them from a posterior that has them."""
        return cls(posterior.mean, posterior.var, posterior.alpha, _shared(posterior.rest, copies), copies)

    @classmethod
    def under(cls, sites: Matrix, mean: Vector, var: Vector, copies: Vector | float) -> Marginals:
        r"""Return those with given means and variances under sites :math:`(\tau, \nu)`."""
        tau, nu = sites
        return cls(mean, var, nu - tau * mean, _shared(1.0 - var * tau, copies), copies)


def _shared(rest: Vector, copies: Vector | float) -> Vector:
    """Return 1 - v W / c from 1 - v W; a point that occurs once keeps all digits of a small number."""
    return (rest + (copies - 1.0)) / copies if np.any(copies != 1.0) else rest


def leave_one_out(K: Matrix, posterior: Posterior, copies: Vector | float = 1.0) -> Marginals:
    """Return the marginals of a posterior, from which the cavities follow."""
    return Marginals.of(K, posterior.coefficients(K.shape[0]), posterior.factor, copies)


def left_out_means(K: Matrix, posterior: Posterior, copies: Vector | float = 1.0) -> tuple[Vector, Vector]:
    """Return the means at all training points, and what each would be without the point's own term.

    Only points with a coefficient change when they leave: for a sparse posterior variances are computed for these
    alone, and the cost is lower than that of :func:`leave_one_out`.
    """
    factor, rows = posterior.factor, posterior.support
    if not isinstance(factor, SupportFactor):
        q = leave_one_out(K, posterior, copies)
        return q.mean, q.cavity_mean
    mean = times(K, posterior.coefficients(K.shape[0]))
    own = dataclasses.replace(factor, support=np.searchsorted(rows, factor.support))
    var, rest = own.marginals(K[np.ix_(rows, rows)])
    c = np.broadcast_to(copies, mean.size)[rows]
    left_out = mean.copy()
    left_out[rows] -= var / _shared(rest, c) * posterior.alpha / c
    return mean, left_out


def left_out_columns(K: Matrix, alpha: Matrix, factor: SupportFactor, copies: Vector | float) -> tuple[Matrix, Matrix]:
    """Return the same for several columns of coefficients that share a factor, in which every point has a part."""
    mean, (var, rest) = K @ alpha, factor.marginals(K)
    c = np.broadcast_to(copies, mean.shape[0])
    return mean, mean - (var / (_shared(rest, c) * c))[:, None] * alpha


__all__ = ["Marginals", "leave_one_out", "left_out_columns", "left_out_means"]
