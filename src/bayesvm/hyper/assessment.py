r"""A quick estimate of the model evidence, by which candidates are weighed while a kernel is chosen.

Laplace's method in the hyperparameters needs the curvature of :math:`v = \ln P(D|\theta) + \ln P(\theta)` at its
maximum. :mod:`bayesvm.hyper.model_evidence` spends :math:`4k + 1` evaluations on it, with the shape along every axis
and an error; here the k evaluations of one-sided differences of the gradient have to do. For expectation propagation
the sites are kept as they are, so that each costs one factorisation: what is left out is the response of the sites,
and the curvature comes out positive definite nearly always.

With the curvatures A of v and P of the hyperprior, and the eigenvalues :math:`\lambda_i` of A relative to P (one where
the data say nothing),

.. math:: \ln P(D|M) \approx v(\hat\theta) + \tfrac k2 \ln 2\pi - \tfrac12 \ln\det P
          - \tfrac12 \sum_i \ln\max(\lambda_i, 1), \qquad \gamma = \sum_i \max(0, 1 - 1/\lambda_i) .

:math:`\gamma` is how many hyperparameters the data determine. Where the evidence curves upward, :math:`\lambda_i < 1`,
no Gaussian fits and the direction counts as one in which the data say nothing; ``open`` is the number of these.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference import EP, Inference
from bayesvm.inference.kept_sites import KeptSites
from bayesvm.linalg import cholesky
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Indices, Matrix, Vector

#: Step of the differences in theta.
STEP = 0.1
#: How far below one a relative curvature may be by rounding.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Assessment:
    r"""What a candidate is worth.

    Attributes
    ----------
    log_model_evidence : float
        Estimate of :math:`\ln P(D|M)`.
    determined : float
        :math:`\gamma`, how many hyperparameters the data determine.
    open : int
        Directions in which the evidence curves upward.
    axes : array, shape (k, k)
        Principal axes of the Gaussian about the maximum, one column each, of a length of one standard deviation.
    """

    log_model_evidence: float
    determined: float
    open: int
    axes: Matrix

    @property
    def score(self) -> float:
        r"""What candidates are weighted by, :math:`\ln P(D|M) - \gamma/2`.

        The predictions come from one theta and not from the integral over it: at the maximum the data look better than
        at a theta of their own by half a nat for each hyperparameter that they determine.
        """
        return self.log_model_evidence - 0.5 * self.determined


def assess(
    objective: EvidenceObjective, here: Evaluation, value: float | None = None, rows: Indices | None = None
) -> Assessment:
    """Estimate the model evidence at a maximum.

    Parameters
    ----------
    objective : EvidenceObjective
        Log evidence plus log hyperprior (proper), whose curvature is taken.
    here : Evaluation
        At its maximum.
    value : float, optional
        Log evidence plus log hyperprior by a better method; by default that of ``here``.
    rows : array of int, optional
        Training rows from which the curvature is estimated; all by default.
    """
    return _relative_curvature(objective, here, rows).assessment(here.value if value is None else value)


def predict_assessment(objective: EvidenceObjective, here: Evaluation, rows: Indices | None = None) -> Assessment:
    """Estimate the model evidence at the maximum that one Newton step predicts from a point which is not one.

    A direction in which the evidence curves upward may hold any gain: the estimate is then infinite.

    Parameters
    ----------
    objective : EvidenceObjective
        Log evidence plus log hyperprior (proper).
    here : Evaluation
        Where the step begins.
    rows : array of int, optional
        Training rows from which the curvature is estimated; all by default.
    """
    curvature = _relative_curvature(objective, here, rows)
    slope = curvature.axes.T @ here.gradient
    found = curvature.assessment(here.value + 0.5 * float(slope @ slope))
    return dataclasses.replace(found, log_model_evidence=np.inf) if np.any(curvature.values <= 0.0) else found


@dataclasses.dataclass(frozen=True)
class _RelativeCurvature:
    """Eigenvalues of A relative to P, the axes of the Gaussian, and the log determinant of P."""

    values: Vector
    axes: Matrix
    log_det: float

    def assessment(self, value: float) -> Assessment:
        """Return the assessment of a maximum with the given value."""
        least = np.maximum(self.values, 1.0)
        volume = 0.5 * least.size * np.log(2.0 * np.pi) - 0.5 * (self.log_det + float(np.sum(np.log(least))))
        upward = int(np.count_nonzero(self.values < 1.0 - ROUNDING))
        return Assessment(value + volume, float(np.sum(1.0 - 1.0 / least)), upward, self.axes)


def _relative_curvature(
    objective: EvidenceObjective, here: Evaluation, rows: Indices | None = None
) -> _RelativeCurvature:
    """Return the curvature at a point, from the given rows or all."""
    P = _prior_curvature(objective.prior, here.theta, objective.names)
    latent, share = here.evidence.latent, 1.0
    if rows is not None:
        objective, latent, share = objective.part(rows), latent[..., rows], objective.n_rows / rows.size
    A = P + share * _curvature(objective, here.theta, latent)
    prior = cholesky(P, what="the curvature of the hyperprior")
    relative = prior.half_solve(prior.half_solve(A).T)
    values, vectors = symmetric_eigen(0.5 * (relative + relative.T))
    axes = prior.back_solve(vectors / np.sqrt(np.maximum(values, 1.0)))
    return _RelativeCurvature(values, axes, prior.log_det())


def _curvature(objective: EvidenceObjective, theta: Vector, latent: Vector) -> Matrix:
    """Return minus the Hessian of the log evidence from one-sided differences, away from a bound."""
    bare = dataclasses.replace(objective, prior=Flat(), inference=_with_sites_kept(objective))
    base, high, rows = bare.evaluate(theta, latent).gradient, objective.bounds[:, 1], []
    for i, at in enumerate(theta):
        moved = theta.copy()
        moved[i] = at + STEP if at + STEP <= high[i] else at - STEP
        try:
            gradient = bare.evaluate(moved, latent).gradient
        except NotPositiveDefiniteError:
            moved[i] = 2.0 * at - moved[i]
            gradient = bare.evaluate(moved, latent).gradient
        rows.append((base - gradient) / (moved[i] - at))
    H: Matrix = np.array(rows).reshape(theta.size, theta.size)
    return np.asarray(0.5 * (H + H.T))


def _with_sites_kept(objective: EvidenceObjective) -> Inference:
    """Return the method of inference, that of expectation propagation without a change of its sites."""
    if not isinstance(objective.inference, EP):
        return objective.inference
    return dataclasses.replace(objective.inference, max_iter=0) if objective.likelihood.theta.size else KeptSites()


def _prior_curvature(prior: Hyperprior, theta: Vector, names: tuple[str, ...]) -> Matrix:
    """Return minus the Hessian of the log hyperprior, by central differences of its gradient."""
    rows = []
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = STEP
        ends = [prior.log_density(theta + sign * step, names)[1] for sign in (1.0, -1.0)]
        rows.append((ends[1] - ends[0]) / (2.0 * STEP))
    H: Matrix = np.array(rows).reshape(theta.size, theta.size)
    return np.asarray(0.5 * (H + H.T))


__all__ = ["Assessment", "assess", "predict_assessment"]
