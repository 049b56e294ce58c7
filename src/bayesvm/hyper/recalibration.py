r"""Slope and shift of log odds from leave-one-out predictions, shrunk together, with what they are worth.

With the leave-one-out log odds :math:`o_i` of the training rows the recalibrated log odds are :math:`s\, o + b`.
:math:`(\ln s, b)` maximise

.. math:: F(\ln s, b) = \sum_i w_i \ln\sigma\big(y_i (s\, o_i + b)\big) - \frac{(\ln s - \ln s_0)^2}{2 \sigma_s^2}
          - \frac{b^2}{2 \sigma_b^2} - \frac{\gamma}{2}\,\frac{s}{s_0} .

*The reference* :math:`s_0` is one for the machine that the evidence chose. For a machine with the same kernel at
another variance it is the ratio of the mean sizes of the log odds, chosen machine over this one: a smaller variance
shrinks all odds alike, and undoing that is no correction to be paid for.

*The last term* accounts for hyperparameters that were tuned on the same rows. :math:`\gamma` of them are determined by
the data (:func:`determined`); each makes the leave-one-out likelihood better than it will be on new rows by about one
nat, half of which is left once the hyperprior has had its say. Since it is the size of the odds from which such a gain
comes, it is taken back in proportion to it.

*What a correction is worth* is its evidence, the integral of :math:`e^F` over both numbers by Laplace's method,

.. math:: \ln E = F(\hat{\ln s}, \hat b) - \ln \sigma_s \sigma_b - \tfrac12 \ln\det(-\nabla\nabla F) ,

with which machines that differ in variance and length scale are weighted (:mod:`bayesvm.hyper.predictive_weights`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from bayesvm.linalg import cholesky
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix, Vector

#: Standard deviations of the logarithm of the slope and of the shift, a priori.
SLOPE, SHIFT = 0.5, 0.5
#: Nats by which the leave-one-out likelihood is too good for each hyperparameter that the data determine.
OPTIMISM = 0.5
#: Bounds of both numbers, in standard deviations.
REACH = 6.0


@dataclasses.dataclass(frozen=True)
class Recalibration:
    """Recalibrated log odds, ``scale * log_odds + shift``.

    Attributes
    ----------
    scale, shift : float
        The two numbers.
    log_likelihood : float
        Leave-one-out log likelihood after the correction.
    gain : float
        By how much that is above the one before it.
    log_evidence : float
        What the correction is worth, to compare machines.
    """

    scale: float
    shift: float
    log_likelihood: float
    gain: float
    log_evidence: float

    def apply(self, log_odds: Vector) -> Vector:
        """Return the recalibrated log odds."""
        return self.scale * log_odds + self.shift


def recalibrate(
    log_odds: Vector, y: Vector, weights: Vector, *, determined: float, reference: float | None = None
) -> Recalibration:
    """Fit slope and shift.

    Parameters
    ----------
    log_odds, y, weights : arrays, shape (n,)
        Leave-one-out log odds, labels -1/+1 and weights of the rows.
    determined : float
        How many hyperparameters the data determine.
    reference : float, optional
        Mean size of the leave-one-out log odds of the machine that the evidence chose; None for that machine itself.
    """
    size = float(np.average(np.abs(log_odds), weights=weights))
    start = 0.0 if reference is None or size == 0.0 else float(np.log(reference / size))
    margin = y * log_odds
    spread = np.array([SLOPE, SHIFT])
    centre = np.array([start, 0.0])

    def loss(p: Vector) -> tuple[float, Vector]:
        corrected = np.exp(p[0]) * margin + p[1] * y
        pull = weights * expit(-corrected)
        tuned = OPTIMISM * determined * np.exp(p[0] - start)
        z = (p - centre) / spread
        value = 0.5 * z @ z + tuned - weights @ log_expit(corrected)
        return float(value), z / spread + np.array([tuned - np.exp(p[0]) * (pull @ margin), -(pull @ y)])

    limits = [(c - REACH * s, c + REACH * s) for c, s in zip(centre, spread, strict=True)]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=limits)
    scale, shift = float(np.exp(found.x[0])), float(found.x[1])
    fitted = float(weights @ log_expit(scale * margin + shift * y))
    curvature = _curvature(found.x, margin, y, weights, OPTIMISM * determined * np.exp(found.x[0] - start))
    log_det = cholesky(curvature, what="the curvature of the recalibration").log_det()
    log_evidence = -float(found.fun) - float(np.sum(np.log(spread))) - 0.5 * log_det
    return Recalibration(scale, shift, fitted, fitted - float(weights @ log_expit(margin)), log_evidence)


def _curvature(p: Vector, margin: Vector, y: Vector, weights: Vector, tuned: float) -> Matrix:
    """Return the second derivatives of the loss, without the part of the slope's that can be negative."""
    scaled = np.exp(p[0]) * margin
    bend = weights * expit(scaled + p[1] * y) * expit(-scaled - p[1] * y)
    directions = np.stack([scaled, y])
    return np.asarray((directions * bend) @ directions.T + np.diag([SLOPE**-2 + tuned, SHIFT**-2]))


def determined(curvature: Matrix, prior_curvature: Matrix) -> float:
    r"""Return how many hyperparameters the data determine, :math:`\gamma = \sum_i \max(0, 1 - 1/\lambda_i)`.

    :math:`\lambda` are the eigenvalues of the curvature of evidence and hyperprior together relative to that of the
    hyperprior alone: one where the data say nothing.

    Parameters
    ----------
    curvature, prior_curvature : arrays, shape (k, k)
        Minus the Hessians; that of the prior positive definite.
    """
    factor = cholesky(prior_curvature, what="the curvature of the hyperprior")
    relative = factor.half_solve(factor.half_solve(curvature).T)
    values, _ = symmetric_eigen(0.5 * (relative + relative.T))
    return float(np.sum(1.0 - 1.0 / np.maximum(values, 1.0)))


__all__ = ["Recalibration", "determined", "recalibrate"]
