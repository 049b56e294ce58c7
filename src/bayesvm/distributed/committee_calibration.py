"""Calibrating a committee on rows that are predicted without themselves: the temper, and the corrections of the plain estimators."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from bayesvm.distributed.committee import Rule
from bayesvm.distributed.held_out import Predicted
from bayesvm.estimators._calibration import Calibration, ScaleCalibration, calibrate_odds, calibrate_scale
from bayesvm.likelihoods import Classification, Regression

#: Accuracy of the logarithm of the temper.
ACCURACY = 0.02


def temper_odds(
    rule: Rule, likelihood: Classification, rows: Predicted, *, calibrate: str | None, tuned: int
) -> tuple[Rule, Calibration, float]:
    """Return the rule with its temper, the correction of the log odds, and the log likelihood of the rows.

    Parameters
    ----------
    rule : Rule
        How the committee decides.
    likelihood : Classification
        Of one label.
    rows : Predicted
        Rows predicted without themselves.
    calibrate : {"auto", "loo", None}
        Correction of the log odds: weighted by its probability, in full, or none.
    tuned : int
        Number of hyperparameters that were tuned on the same rows.
    """

    def outcome(trial: Rule) -> tuple[Calibration, float]:
        odds = likelihood.log_odds(*trial.combine(rows.sums, rows.prior))
        correction = Calibration()
        if calibrate is not None:
            correction = calibrate_odds(odds, rows.y, rows.weights, tuned=tuned, cautious=calibrate == "auto")
        return correction, float(rows.weights @ log_expit(rows.y * correction.apply(odds)))

    best = _best(rule, lambda trial: outcome(trial)[1])
    return best, *outcome(best)


def temper_scale(
    rule: Rule, noise: Regression, rows: Predicted, *, calibrate: str | None, tuned: int
) -> tuple[Rule, ScaleCalibration, float]:
    """Return the rule with its temper, the correction of the predictive scale, and the log likelihood of the rows.

    The parameters are those of :func:`temper_odds`, with the noise model in place of the likelihood.
    """

    def plain(trial: Rule) -> float:
        return float(rows.weights @ noise.log_predictive(rows.y, *trial.combine(rows.sums, rows.prior)))

    best = _best(rule, plain)
    loo = (rows.y, *best.combine(rows.sums, rows.prior))
    scale = ScaleCalibration()
    if calibrate is not None:
        scale = calibrate_scale(noise, *loo, rows.weights, tuned=tuned, cautious=calibrate == "auto")
    return best, scale, float(rows.weights @ scale.log_density(noise, *loo))


def _best(rule: Rule, value: Callable[[Rule], float]) -> Rule:
    """Return the rule with the temper of the highest value."""
    if not rule.tempered:
        return rule
    ends = (-np.log(8.0 * rule.size), np.log(8.0))
    found = minimize_scalar(
        lambda t: -value(dataclasses.replace(rule, temper=float(np.exp(t)))),
        bounds=ends,
        method="bounded",
        options={"xatol": ACCURACY},
    )
    return dataclasses.replace(rule, temper=float(np.exp(found.x)))


__all__ = ["temper_odds", "temper_scale"]
