r"""Posterior of the weights of the active basis functions at given precisions (Thesis (3.35), (3.39)).

With :math:`f = \Phi w` and :math:`w_i \sim \mathcal N(0, 1/a_i)` the weights are written :math:`w = A^{-1/2} v`, so that v has a unit
prior and, with :math:`\Psi = \Phi A^{-1/2}`, the mode minimises

.. math:: \sum_i \ell(y_i, f_i) + \tfrac12 v^\top v, \qquad f = \Psi v .

The Hessian :math:`I + \Psi^\top W \Psi` has eigenvalues of at least one whatever the basis functions are: two that coincide, or
precisions that differ by many orders of magnitude, do no harm.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class WeightPosterior:
    r"""Gaussian at the mode, in the coordinates :math:`v = A^{1/2} w`.

    Attributes
    ----------
    psi : array, shape (n, m)
        :math:`\Psi`, the active basis functions divided by the roots of their precisions.
    v : array, shape (m,)
        The mode.
    f : array, shape (n,)
        Latent values at the mode.
    derivatives : Derivatives
        Of the loss, at ``f``.
    factor : Cholesky
        Of :math:`I + \Psi^\top W \Psi`.
    status : Status
        How Newton's method stopped.
    """

    psi: Matrix
    v: Vector
    f: Vector
    derivatives: Derivatives
    factor: Cholesky
    status: Status

    @property
    def log_evidence(self) -> float:
        r"""Return :math:`-\sum \ell - \tfrac12 v^\top v - \tfrac12 \ln |I + \Psi^\top W \Psi|`: Laplace's method, exact for a
        quadratic loss (Thesis (3.21), (3.38)).
        """
        return float(-np.sum(self.derivatives.loss) - 0.5 * (self.v @ self.v) - 0.5 * self.factor.log_det())


def weight_posterior(
    phi: Matrix,
    y: Vector,
    likelihood: Likelihood,
    precision: Vector,
    start: Vector | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 50,
) -> WeightPosterior:
    r"""Find the mode by Newton's method with step halving.

    Parameters
    ----------
    phi : array, shape (n, m)
        Active basis functions at the training inputs.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        With a convex loss whose second derivative exists.
    precision : array, shape (m,)
        Prior precisions of the weights.
    start : array, shape (m,), optional
        Weights w from which to begin; changes the cost, not the result.
    tol : float
        Largest entry of the gradient in v, relative to the size of its terms.
    max_iter : int
        Largest number of Newton steps.
    """
    root = np.sqrt(precision)
    psi = phi / root
    v = np.zeros(root.size) if start is None else start * root
    f = psi @ v
    d = likelihood.derivatives(y, f)
    objective = float(np.sum(d.loss) + 0.5 * (v @ v))
    if not np.isfinite(objective):
        v = np.zeros(root.size)
        f = np.zeros(y.size)
        d = likelihood.derivatives(y, f)
        objective = float(np.sum(d.loss))
    status = Status.MAX_ITER
    factor = _factor(psi, d.curvature)
    for _ in range(max_iter):
        gradient = psi.T @ d.gradient + v
        scale = 1.0 + np.max(np.abs(v), initial=0.0) + np.max(np.abs(psi).T @ np.abs(d.gradient), initial=0.0)
        if np.max(np.abs(gradient), initial=0.0) <= tol * scale:
            status = Status.CONVERGED
            break
        step = factor.solve(gradient)
        moved = _descend(psi, y, likelihood, v, step, objective)
        if moved is None:
            status = Status.STALLED
            break
        v, f, d, objective = moved
        if not likelihood.traits.quadratic:
            factor = _factor(psi, d.curvature)
    return WeightPosterior(psi, v, f, d, factor, status)


def _factor(psi: Matrix, curvature: Vector) -> Cholesky:
    H = psi.T @ (curvature[:, None] * psi)
    H[np.diag_indices_from(H)] += 1.0
    return cholesky(H, overwrite=True, what="the Hessian of the weights")


def _descend(
    psi: Matrix, y: Vector, likelihood: Likelihood, v: Vector, step: Vector, objective: float
) -> tuple[Vector, Vector, Derivatives, float] | None:
    """Return a point along the step whose objective is not higher, None if there is none."""
    t = 1.0
    slack = 1e-13 * (1.0 + abs(objective))
    while t > 1e-8:
        new = v - t * step
        f = psi @ new
        d = likelihood.derivatives(y, f)
        value = float(np.sum(d.loss) + 0.5 * (new @ new))
        if value <= objective + slack:
            return new, f, d, value
        t *= 0.5
    return None


__all__ = ["WeightPosterior", "weight_posterior"]
