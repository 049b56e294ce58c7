r"""Recalibration on leave-one-out predictions: two numbers for probabilities, one for error bars.

*Classification.* With the leave-one-out log odds :math:`o_i` of the training rows, the recalibrated log odds are
:math:`s\, o + b`, s > 0: monotone, so that the order of the rows stays. :math:`(\ln s, b)` maximise

.. math:: F(\ln s, b) = \sum_i w_i \ln\sigma\big(y_i (s\, o_i + b)\big) - \frac{(\ln s - \ln s_0)^2}{2 \sigma_s^2}
          - \frac{b^2}{2 \sigma_b^2} - \tau\,\gamma\,\frac{s}{s_0} .

The *reference* :math:`s_0` is one for the model that the evidence chose. For a model with the same kernel at another
variance it is the ratio of the mean sizes of the log odds, chosen model over this one: a smaller variance shrinks all
odds alike, and undoing that is no correction to be paid for.

The *last term* accounts for hyperparameters that were tuned on the same rows. :math:`\gamma` of them are determined by
the data; each makes the leave-one-out likelihood better than it will be on new rows by about one nat, of which
:math:`\tau` is left once the hyperprior has had its say. Since it is the size of the odds from which such a gain comes,
it is taken back in proportion to it.

What a correction is *worth* is its evidence, the integral of :math:`e^F` over both numbers by Laplace's method,

.. math:: \ln E = F(\hat{\ln s}, \hat b) - \ln \sigma_s \sigma_b - \tfrac12 \ln\det(-\nabla\nabla F) ,

by which models that differ in variance and length scale are weighted (:mod:`bayesvm.models.places`).

*Regression.* The standard deviation of the predictive distribution is multiplied by c; :math:`\ln c` is found from
leave-one-out residuals. As far as the data justify it means: weighted by its probability against "no correction". With
the gain G in log likelihood, n rows and p tuned hyperparameters

.. math:: w = \sigma\big(G - \tfrac12\ln n - p\big), \qquad c_w = c^w ,

the first penalty being that of the Bayesian information criterion for one number, the second one nat for each
hyperparameter.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit

from bayesvm.likelihoods.base import Regression
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: The least gain, in nats, for which a fit is worth reporting.
ROUNDING = 1e-9
#: Bounds of the logarithm of the slope and of the shift, in standard deviations.
REACH = 6.0


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Corrected log odds, ``scale * log_odds + shift``.

    Attributes
    ----------
    scale, shift : float
        What is applied.
    gain : float
        By how much the correction raises the leave-one-out log likelihood, in nats.
    log_evidence : float
        What the correction is worth, to compare models.
    """

    scale: float = 1.0
    shift: float = 0.0
    gain: float = 0.0
    log_evidence: float = 0.0

    def apply(self, log_odds: Vector) -> Vector:
        """Return the corrected log odds."""
        return self.scale * log_odds + self.shift


@dataclasses.dataclass(frozen=True)
class Shrinkage:
    r"""How far the data must justify a correction of log odds.

    Parameters
    ----------
    slope, shift : float
        :math:`\sigma_s, \sigma_b`: standard deviations of the logarithm of the slope and of the shift, a priori.
    optimism : float
        :math:`\tau`: nats by which the leave-one-out likelihood is too good for each tuned hyperparameter.
    """

    slope: float
    shift: float
    optimism: float


#: As far as the data justify it, and (nearly) in full.
CAUTIOUS = Shrinkage(0.5, 0.5, 0.5)
FULL = Shrinkage(1.0, 1.0, 0.0)


def calibrate_odds(
    log_odds: Vector,
    y: Vector,
    weights: Vector,
    *,
    determined: float,
    shrinkage: Shrinkage = CAUTIOUS,
    reference: float | None = None,
) -> Calibration:
    r"""Fit the correction of log odds.

    Parameters
    ----------
    log_odds, y : arrays, shape (n,)
        Leave-one-out log odds and labels -1/+1.
    weights : array, shape (n,)
        Weights of the rows.
    determined : float
        :math:`\gamma`, how many hyperparameters the same rows determined.
    shrinkage : Shrinkage
        How far the data must justify it.
    reference : float, optional
        Mean size of the leave-one-out log odds of the model that the evidence chose; None for that model itself.
    """
    size = float(np.average(np.abs(log_odds), weights=weights))
    start = 0.0 if reference is None or size == 0.0 or reference == 0.0 else float(np.log(reference / size))
    margin = y * log_odds
    spread = np.array([shrinkage.slope, shrinkage.shift])
    centre = np.array([start, 0.0])

    def loss(p: Vector) -> tuple[float, Vector]:
        corrected = np.exp(p[0]) * margin + p[1] * y
        pull = weights * expit(-corrected)
        tuned = shrinkage.optimism * determined * np.exp(p[0] - start)
        z = (p - centre) / spread
        value = 0.5 * z @ z + tuned - weights @ log_expit(corrected)
        return float(value), z / spread + np.array([tuned - np.exp(p[0]) * (pull @ margin), -(pull @ y)])

    limits = [(c - REACH * s, c + REACH * s) for c, s in zip(centre, spread, strict=True)]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=limits)
    scale, shift = float(np.exp(found.x[0])), float(found.x[1])
    tuned = shrinkage.optimism * determined * np.exp(found.x[0] - start)
    curvature = _curvature(scale * margin, shift, y, weights) + np.diag(spread**-2.0 + np.array([tuned, 0.0]))
    log_det = cholesky(curvature, what="the curvature of the calibration").log_det()
    log_evidence = -float(found.fun) - float(np.sum(np.log(spread))) - 0.5 * log_det
    gain = float(weights @ (log_expit(scale * margin + shift * y) - log_expit(margin)))
    return Calibration(scale, shift, gain, log_evidence)


def _curvature(scaled: Vector, shift: float, y: Vector, weights: Vector) -> Matrix:
    """Return the second derivatives of the log loss in (ln s, b), without the indefinite part of the slope's."""
    bend = weights * expit(scaled + shift * y) * expit(-scaled - shift * y)
    directions = np.stack([scaled, y])
    return np.asarray((directions * bend) @ directions.T)


@dataclasses.dataclass(frozen=True)
class ScaleCalibration:
    """Corrected predictive distribution: deviations from the mean times ``scale``.

    ``gain`` is that of the full correction in leave-one-out log likelihood, in nats, ``weight`` how much of it is
    applied, between 0 and 1.
    """

    scale: float = 1.0
    gain: float = 0.0
    weight: float = 0.0

    def log_density(self, noise: Regression, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the logarithm of the corrected predictive density."""
        density = noise.log_predictive(mean + (y - mean) / self.scale, mean, var)
        return np.asarray(density - np.log(self.scale))


def calibrate_scale(
    noise: Regression, y: Vector, mean: Vector, var: Vector, weights: Vector, *, tuned: float, cautious: bool
) -> ScaleCalibration:
    """Fit the correction of a scale.

    Parameters
    ----------
    noise : Regression
        Distribution of the noise.
    y, mean, var : arrays, shape (n,)
        Targets, and means and variances of their latent values, each predicted without the target itself.
    weights : array, shape (n,)
        Weights of the rows.
    tuned : float
        Number of hyperparameters that were tuned on the same rows.
    cautious : bool
        Whether the correction is weighted by its probability, or applied in full.
    """

    def loss(log_scale: float) -> float:
        trial = ScaleCalibration(float(np.exp(log_scale)))
        return float(0.5 * log_scale**2 - weights @ trial.log_density(noise, y, mean, var))

    found = minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded", options={"xatol": 1e-3})
    gain = loss(0.0) - float(found.fun)
    if gain <= ROUNDING:
        return ScaleCalibration()
    weight = _probability(gain, 0.5 * np.log(weights.sum()) + tuned) if cautious else 1.0
    return ScaleCalibration(float(np.exp(weight * found.x)), gain, weight)


def _probability(gain: float, penalty: float) -> float:
    """Return the probability of the correction against none."""
    return float(expit(gain - penalty))


__all__ = ["CAUTIOUS", "FULL", "Calibration", "ScaleCalibration", "Shrinkage", "calibrate_odds", "calibrate_scale"]
