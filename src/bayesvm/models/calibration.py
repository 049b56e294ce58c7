r"""Recalibration on leave-one-out predictions: two numbers for probabilities, one for error bars.

*Classification.* With the leave-one-out log odds :math:`o_i` of the training rows, the recalibrated log odds are
:math:`s\, o + b`, s > 0: monotone, so that the order of the rows stays. :math:`(\ln s, b)` maximise

.. math:: \sum_i \ln \sigma\big(y_i (s\, o_i + b)\big) - \tfrac12 (\ln s)^2 - \tfrac12 b^2 .

*How much of it is used.* The leave-one-out predictions come from hyperparameters that were tuned on the same rows, and
on small data the two numbers fit noise. So the correction is weighted by its probability against "no correction": with
the gain G in the sum above, n rows and p tuned hyperparameters,

.. math:: w = \sigma\big(G - \ln n - p\big), \qquad s_w = s^w, \quad b_w = w\, b,

the first penalty being that of the Bayesian information criterion for two numbers, the second one nat for each
hyperparameter.

*Regression.* The standard deviation of the predictive distribution is multiplied by c; :math:`\ln c` is found and
weighted in the same way, from leave-one-out residuals, with half the first penalty (one number).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit

from bayesvm.likelihoods.base import Regression
from bayesvm.typing import Vector

#: The least gain, in nats, for which a fit is worth reporting.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Corrected log odds, ``scale * log_odds + shift``.

    Attributes
    ----------
    scale, shift : float
        What is applied.
    gain : float
        Gain in leave-one-out log likelihood of the full correction, in nats.
    weight : float
        How much of the full correction is applied, between 0 and 1.
    """

    scale: float = 1.0
    shift: float = 0.0
    gain: float = 0.0
    weight: float = 0.0

    def apply(self, log_odds: Vector) -> Vector:
        """Return the corrected log odds."""
        return self.scale * log_odds + self.shift


def calibrate_odds(log_odds: Vector, y: Vector, weights: Vector, *, tuned: int, cautious: bool) -> Calibration:
    """Fit the correction of log odds.

    Parameters
    ----------
    log_odds, y : arrays, shape (n,)
        Leave-one-out log odds and labels -1/+1.
    weights : array, shape (n,)
        Weights of the rows.
    tuned : int
        Number of hyperparameters that were tuned on the same rows.
    cautious : bool
        Whether the correction is weighted by its probability, or applied in full.
    """
    margin = y * log_odds

    def loss(p: Vector) -> tuple[float, Vector]:
        scale = np.exp(p[0])
        corrected = scale * margin + p[1] * y
        pull = weights * expit(-corrected)
        gradient = p - np.array([scale * (pull @ margin), pull @ y])
        return float(0.5 * (p @ p) - weights @ log_expit(corrected)), gradient

    log_scale, shift, gain = _fitted(loss, 2)
    weight = _probability(gain, np.log(weights.sum()) + tuned) if cautious else 1.0
    return Calibration(float(np.exp(weight * log_scale)), float(weight * shift), gain, weight)


@dataclasses.dataclass(frozen=True)
class ScaleCalibration:
    """Corrected predictive distribution: deviations from the mean times ``scale``; see :class:`Calibration`."""

    scale: float = 1.0
    gain: float = 0.0
    weight: float = 0.0

    def log_density(self, noise: Regression, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the logarithm of the corrected predictive density."""
        density = noise.log_predictive(mean + (y - mean) / self.scale, mean, var)
        return np.asarray(density - np.log(self.scale))


def calibrate_scale(
    noise: Regression, y: Vector, mean: Vector, var: Vector, weights: Vector, *, tuned: int, cautious: bool
) -> ScaleCalibration:
    """Fit the correction of a scale.

    Parameters
    ----------
    noise : Regression
        Distribution of the noise.
    y, mean, var : arrays, shape (n,)
        Targets, and means and variances of their latent values, each predicted without the target itself.
    weights, tuned, cautious
        As in :func:`calibrate_odds`.
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


def _fitted(loss: Callable[[Vector], tuple[float, Vector]], size: int) -> tuple[float, ...]:
    """Return the minimiser of a loss, searched from zero, followed by what it gains."""
    origin = np.zeros(size)
    base = loss(origin)[0]
    found = minimize(loss, origin, jac=True, method="L-BFGS-B", bounds=[(-3.0, 3.0)] * size)
    gain = base - float(found.fun)
    return (*(float(v) for v in found.x), gain) if gain > ROUNDING else (*origin.tolist(), 0.0)


def _probability(gain: float, penalty: float) -> float:
    """Return the probability of the correction against none."""
    return float(expit(gain - penalty))


__all__ = ["Calibration", "ScaleCalibration", "calibrate_odds", "calibrate_scale"]
