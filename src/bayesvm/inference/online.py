r"""Learning a Gaussian process one sample at a time, by the parameterisation lemma (Thesis (3.58)-(3.66), Csato2002).

The posterior process has mean :math:`k_x^\top \alpha` and covariance :math:`k(x, x') + k_x^\top C k_{x'}`, with
:math:`k_x` the covariances to the basis vectors. A new sample with likelihood :math:`p(y|f)` changes them through two
numbers, the derivatives w and r of :math:`\ln \int p(y|f)\, \mathcal N(f; m, v)\, df` in the mean m (3.65):

.. math:: \alpha \leftarrow \alpha + w s, \qquad C \leftarrow C + r s s^\top, \qquad s = C k + e,

where e is the unit vector of the new sample, which joins the basis (3.62)-(3.63): exact for Gaussian noise, in any
order. No inverse appears.

With a budget the basis is kept small. A sample whose prior variance is explained by the basis,
:math:`\gamma = k_{**} - k^\top K^{-1} k \approx 0`, does not join: its unit vector is replaced by the projection
:math:`K^{-1} k`. If the basis is full, the vector whose removal changes the posterior least,
:math:`\alpha_i^2/(Q_{ii} + C_{ii})` with :math:`Q = K^{-1}`, is projected onto the others by

.. math:: \alpha \leftarrow \alpha - \frac{\alpha_i}{Q_{ii} + C_{ii}} (Q_i + C_i), \qquad
          C \leftarrow C + \frac{Q_i Q_i^\top}{Q_{ii}} - \frac{(Q_i + C_i)(Q_i + C_i)^\top}{Q_{ii} + C_{ii}},

which is the process closest in relative entropy. Vectors join only if :math:`\gamma` is not small, so that K can be
factored.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.typing import Indices, Matrix, Vector

#: Least variance of a prediction, relative to the prior: what rounding leaves of none.
LEAST = 1e-12


@dataclasses.dataclass(frozen=True)
class OnlineState:
    r"""The posterior process after some samples.

    Attributes
    ----------
    alpha, C : arrays, shapes (m,) and (m, m)
        Parameters of mean and covariance, the thesis' w and R.
    K : array, shape (m, m)
        Gram matrix of the basis vectors (empty as long as nothing is projected).
    factor : Cholesky or None
        Of K; None if nothing is projected.
    log_evidence : float
        Sum of the logarithms of the predictive probabilities of the samples in the order in which they came.
    n_seen : int
        Number of samples.
    """

    alpha: Vector
    C: Matrix
    K: Matrix
    factor: Cholesky | None
    log_evidence: float = 0.0
    n_seen: int = 0

    @property
    def size(self) -> int:
        """Number of basis vectors."""
        return int(self.alpha.size)

    def predict(self, K_s: Matrix, k_ss: Vector) -> tuple[Vector, Vector]:
        """Return means and variances at new points; ``K_s`` has one row per point, one column per basis vector."""
        var = k_ss + np.einsum("ij,ij->i", K_s @ self.C, K_s)
        return K_s @ self.alpha, np.maximum(var, LEAST * k_ss)

    def novelty(self, K_s: Matrix, k_ss: Vector) -> Vector:
        r"""Return the share :math:`\gamma/k_{**}` of the prior variance that the basis leaves unexplained."""
        if self.size == 0:
            return np.ones_like(k_ss)
        factor = self.factor or cholesky(self.K, jitter=True, what="the Gram matrix of the basis vectors")
        V = factor.half_solve(K_s.T)
        return np.asarray(np.clip(1.0 - np.einsum("ij,ij->j", V, V) / k_ss, 0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class OnlineUpdate:
    """How samples are taken in.

    Parameters
    ----------
    budget : int or None
        Largest number of basis vectors; None: no limit.
    novelty : float
        Least share of unexplained prior variance with which a sample joins the basis; 0 with ``budget=None``: all join,
        and nothing is projected.
    """

    budget: int | None = None
    novelty: float = 0.0

    @property
    def projects(self) -> bool:
        """Whether samples may be projected."""
        return self.budget is not None or self.novelty > 0.0

    def empty(self) -> OnlineState:
        """Return the prior."""
        none = np.empty((0, 0))
        return OnlineState(np.empty(0), none, none, Cholesky(np.empty((0, 0), order="F")) if self.projects else None)

    def observe(
        self, state: OnlineState, k: Vector, k_self: float, y: float, likelihood: Likelihood
    ) -> tuple[OnlineState, Indices]:
        """Take in one sample.

        Parameters
        ----------
        state : OnlineState
            What is known so far.
        k : array, shape (m,)
            Covariances of the sample with the basis vectors.
        k_self : float
            Its prior variance.
        y : float
            Label -1/+1 or target.
        likelihood : Likelihood
            Of one sample.

        Returns
        -------
        state : OnlineState
        kept : array of int
            The basis vectors now, as positions among the old ones followed by the sample (number m).
        """
        m = state.size
        Ck = state.C @ k
        mean, var = float(k @ state.alpha), max(float(k_self + k @ Ck), LEAST * k_self)
        tilted = likelihood.tilted(np.array([y]), np.array([mean]), np.array([var]))
        w, r = float(tilted.slope[0]), float(tilted.bend[0])
        counted = dataclasses.replace(
            state, log_evidence=state.log_evidence + float(tilted.log_z[0]), n_seen=state.n_seen + 1
        )
        if state.factor is None:
            return _joined(counted, k, k_self, Ck, w, r, None), np.arange(m + 1)
        half = state.factor.half_solve(k)
        gamma = k_self - float(half @ half)
        if gamma <= max(self.novelty, 1e-9) * k_self:
            s = Ck + state.factor.back_solve(half)
            return dataclasses.replace(counted, alpha=state.alpha + w * s, C=state.C + r * np.outer(s, s)), np.arange(m)
        grown = _joined(counted, k, k_self, Ck, w, r, (half, gamma))
        if self.budget is None or grown.size <= self.budget:
            return grown, np.arange(m + 1)
        return _removed(grown)


def _bordered(A: Matrix, row: Vector, corner: float) -> Matrix:
    """Return a symmetric matrix with one more row and column."""
    n = row.size
    B = np.empty((n + 1, n + 1), order="F")
    B[:n, :n] = A
    B[n, :n] = B[:n, n] = row
    B[n, n] = corner
    return B


def _joined(
    state: OnlineState, k: Vector, k_self: float, Ck: Vector, w: float, r: float, border: tuple[Vector, float] | None
) -> OnlineState:
    """Return the state with the sample among the basis vectors; ``border`` is the new row of the Cholesky factor."""
    s = np.append(Ck, 1.0)
    C = _bordered(state.C, np.zeros_like(Ck), 0.0)
    C += r * np.outer(s, s)
    factor = None
    if border is not None and state.factor is not None:
        half, gamma = border
        factor = Cholesky(_bordered(state.factor.L, half, float(np.sqrt(gamma))))
    return dataclasses.replace(
        state, alpha=np.append(state.alpha, 0.0) + w * s, C=C, K=_bordered(state.K, k, k_self), factor=factor
    )


def _removed(state: OnlineState) -> tuple[OnlineState, Indices]:
    """Return the state without the basis vector that matters least, projected onto the others."""
    assert state.factor is not None
    Q = state.factor.inverse()
    i = int(np.argmin(removal_scores(state, Q)))
    keep = np.delete(np.arange(state.size), i)
    q, c = Q[keep, i], state.C[keep, i]
    total = Q[i, i] + state.C[i, i]
    alpha = state.alpha[keep] - state.alpha[i] / total * (q + c)
    C = state.C[np.ix_(keep, keep)] + np.outer(q, q) / Q[i, i] - np.outer(q + c, q + c) / total
    K = state.K[np.ix_(keep, keep)]
    factor = cholesky(K, jitter=True, what="the Gram matrix of the basis vectors")
    return dataclasses.replace(state, alpha=alpha, C=C, K=K, factor=factor), keep


def removal_scores(state: OnlineState, Q: Matrix) -> Vector:
    """Return how much the posterior mean would change without each basis vector; Q is the inverse of ``state.K``."""
    return np.asarray(state.alpha**2 / np.maximum(np.diagonal(Q) + np.diagonal(state.C), np.finfo(float).tiny))


__all__ = ["OnlineState", "OnlineUpdate", "removal_scores"]
