r"""Mean and variance of a posterior on given basis functions, fitted to the training rows.

With the orthonormal functions :math:`\phi(x) = L^{-1} k_B(x)`, :math:`L L^\top = K_{BB}`, of a basis B, and
:math:`G = \Phi^\top R\, \Phi`, the projected posterior of :mod:`bayesvm.inference.reduction` is

.. math:: \phi(x)^\top \Phi^\top \alpha, \qquad r(x, x) + \phi(x)^\top (I - G)\, \phi(x), \qquad
          r(x, x) = k(x, x) - \phi(x)^\top \phi(x).

It is exact at the rows of B, its mean lacks :math:`z = (K - \Phi\Phi^\top)\alpha` elsewhere, and its variance is nearly
always too large, by the part of r that other rows explain. Among the posteriors with the same functions two changes are
the nearest to the training rows :math:`i`, which have variances :math:`v_i` and weights :math:`\omega_i`:

.. math:: \min_\delta \sum_i \frac{\omega_i}{v_i} \bigl(z_i - \phi_i^\top \delta\bigr)^2 + \lambda |\delta|^2, \qquad
          \min_{0 \le t \le T} \sum_i \frac{\omega_i}{v_i^2}\bigl(e_i - t q_i\bigr)^2,

with the excess :math:`e_i` of the variances and :math:`q_i = \phi_i^\top (I - G)\, \phi_i`. The mean becomes
:math:`\phi^\top(\Phi^\top\alpha + \delta)` and the variance :math:`r + (1 - t)\, \phi^\top (I - G)\, \phi`, which
remains that of a Gaussian process, since a covariance is only scaled down. The small :math:`\lambda` keeps the
equations well conditioned and :math:`\delta` from functions that no row shows.

*Elsewhere.* The change of the mean at any x is :math:`\sum_i \alpha_i r(x, x_i) - \phi(x)^\top \delta`. By Cauchy and
Schwarz its parts are at most :math:`\sqrt{r(x, x)}\, \sqrt{\alpha^\top z}` and
:math:`\sqrt{(1 - t)\, \phi^\top (I - G)\, \phi}\, \sqrt{\delta^\top (I - G)^{-1} \delta / (1 - t)}`, and the two roots
in front are the parts of the variance :math:`\tilde s(x)^2`, so that

.. math:: |\tilde m(x) - m(x)| \le \tilde s(x)\, \sqrt{\alpha^\top z + \delta^\top (I - G)^{-1} \delta / (1 - t)} .
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from bayesvm.inference.base import Posterior
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.typing import Matrix, Vector

#: Lambda: what a change of norm one counts, in squared standard deviations of one row.
RIDGE = 0.1
#: T: by which share variances within the basis shrink at most.
SHRINKAGE = 0.5


@dataclasses.dataclass(frozen=True)
class Output:
    """One posterior in the course of the choice of a basis; ``z`` and ``excess`` are updated in place."""

    alpha: Vector  #: Coefficients of all training rows.
    posterior: Posterior
    mean: Vector  #: Posterior means of the training rows.
    var: Vector  #: Their posterior variances.
    weights: Vector  #: How often a row counts.
    z: Vector  #: What the projected mean lacks.
    excess: Vector  #: By how much the projected variance exceeds ``var``.

    @classmethod
    def before(cls, K: Matrix, posterior: Posterior, var: Vector, weights: Vector) -> Output:
        """Return an output before any row is chosen: the projected process is the prior."""
        alpha = posterior.coefficients(K.shape[0])
        mean = K @ alpha
        return cls(alpha, posterior, mean, var, weights, mean.copy(), np.diagonal(K) - var)

    @functools.cached_property
    def std(self) -> Vector:
        """Posterior standard deviations of the training rows."""
        return np.sqrt(self.var)

    def mean_change(self) -> Vector:
        """Return the changes of the means in standard deviations."""
        return np.asarray(np.abs(self.z) / self.std)

    def std_change(self) -> Vector:
        """Return the relative changes of the standard deviations."""
        return np.asarray(np.abs(np.sqrt(np.maximum(1.0 + self.excess / self.var, 0.0)) - 1.0))

    def change(self) -> float:
        """Return the largest change at a training row."""
        return max(float(np.max(self.mean_change())), float(np.max(self.std_change())))

    def products(self, Phi: Matrix, new: Matrix) -> Matrix:
        r"""Return :math:`\Phi^\top \mathrm{diag}(\omega / v)\, \Phi_{new}`, columns of the equations of delta."""
        return np.asarray(Phi.T @ (new * (self.weights / self.var)[:, None]))


@dataclasses.dataclass(frozen=True)
class BasisFit:
    """Coefficients and variances of an output on a basis, and what has changed at the training rows."""

    delta: Vector  #: Change of the coefficients of the functions.
    coefficients: Vector  #: Of the functions, delta included.
    shrinkage: float  #: t.
    output: Output  #: With the changes that remain.


def factor_of(products: Matrix) -> Cholesky:
    """Return the factor of the equations of delta; its leading blocks belong to the first functions alone."""
    A = np.array(products, order="F")
    A[np.diag_indices(A.shape[0])] += RIDGE
    return cholesky(A, overwrite=True)


def fit_on(output: Output, Phi: Matrix, factor: Cholesky, left: Vector, excess: Vector) -> BasisFit:
    """Return the mean and the variance of an output on the functions Phi that are nearest to the training rows.

    Parameters
    ----------
    output : Output
        Its ``z`` and ``excess`` are not used.
    Phi : array, shape (n, b)
        Values of the functions.
    factor : Cholesky
        Of the equations of delta for these functions, or for more of which these are the first.
    left : array, shape (n,)
        r at the training rows.
    excess : array, shape (n,)
        By how much the projected variances exceed the posterior ones.
    """
    b = Phi.shape[1]
    projected = Phi.T @ output.alpha
    z = output.mean - Phi @ projected
    scale = output.weights / output.var
    delta = Cholesky(np.asfortranarray(factor.L[:b, :b])).solve(Phi.T @ (scale * z))
    inside, above = (output.var + excess - left) / output.var, excess / output.var
    square = float(output.weights @ inside**2)
    share = float(output.weights @ (inside * above)) / square if square > 0.0 else 0.0
    shrinkage = min(max(share, 0.0), SHRINKAGE)
    after = dataclasses.replace(output, z=z - Phi @ delta, excess=excess - shrinkage * inside * output.var)
    return BasisFit(delta, projected + delta, shrinkage, after)


def squared_bound(output: Output, fit: BasisFit, Phi: Matrix, removed: Matrix) -> float:
    r"""Return :math:`\alpha^\top z + \delta^\top (I - G)^{-1} \delta / (1 - t)`; see the module."""
    projected = fit.coefficients - fit.delta
    lacking = max(float(output.alpha @ (output.mean - Phi @ projected)), 0.0)
    root = cholesky(np.asfortranarray(np.eye(removed.shape[0]) - removed), jitter=True, what="the posterior of a basis")
    half = root.half_solve(fit.delta)
    return lacking + float(half @ half) / (1.0 - fit.shrinkage)


__all__ = ["BasisFit", "Output", "factor_of", "fit_on", "squared_bound"]
