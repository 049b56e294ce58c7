"""Calibrating a committee on rows that are predicted without themselves: its temper, then its predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from bayesvm.distributed.committee import CommitteeRule
from bayesvm.distributed.held_out import Predicted
from bayesvm.likelihoods import Classification, Likelihood, Regression
from bayesvm.models.calibration import CAUTIOUS, FULL, Calibration, ScaleCalibration, calibrate_odds, calibrate_scale

#: Accuracy of the logarithm of the temper.
ACCURACY = 0.02


#: The rule with its temper, the correction of the predictions, and the log likelihood of the rows with both.
Calibrated = tuple[CommitteeRule, Calibration | ScaleCalibration, float]


def calibrate(
    rule: CommitteeRule, likelihood: Likelihood, rows: Predicted, *, how: str | None, tuned: float
) -> Calibrated:
    """Set the temper and the correction of one output.

    Parameters
    ----------
    rule : CommitteeRule
        How predictions are combined.
    likelihood : Likelihood
        Of one label or target, without weights.
    rows : Predicted
        Rows predicted without themselves.
    how : {"auto", "loo", None}
        Correction of the predictions: weighted by its probability, in full, or none.
    tuned : float
        Number of hyperparameters that were tuned on the same rows.
    """
    if isinstance(likelihood, Classification):
        return _calibrate_labels(rule, likelihood, rows, how, tuned)
    assert isinstance(likelihood, Regression)
    return _calibrate_targets(rule, likelihood, rows, how, tuned)


def _calibrate_labels(
    rule: CommitteeRule, likelihood: Classification, rows: Predicted, how: str | None, tuned: float
) -> Calibrated:
    """Every temper is judged with the correction of the log odds that suits it."""

    def outcome(trial: CommitteeRule) -> tuple[Calibration, float]:
        odds = likelihood.log_odds(*trial.combine(rows.sums, rows.prior))
        correction = Calibration()
        if how is not None:
            correction = calibrate_odds(
                odds, rows.y, rows.weights, determined=tuned, shrinkage=CAUTIOUS if how == "auto" else FULL
            )
        return correction, float(rows.weights @ log_expit(rows.y * correction.apply(odds)))

    best = _best(rule, lambda trial: outcome(trial)[1])
    return best, *outcome(best)


def _calibrate_targets(
    rule: CommitteeRule, noise: Regression, rows: Predicted, how: str | None, tuned: float
) -> Calibrated:
    """The temper is set first, then the correction of the predictive scale."""

    def plain(trial: CommitteeRule) -> float:
        return float(rows.weights @ noise.log_predictive(rows.y, *trial.combine(rows.sums, rows.prior)))

    best = _best(rule, plain)
    loo = (rows.y, *best.combine(rows.sums, rows.prior))
    scale = ScaleCalibration()
    if how is not None:
        scale = calibrate_scale(noise, *loo, rows.weights, tuned=tuned, cautious=how == "auto")
    return best, scale, float(rows.weights @ scale.log_density(noise, *loo))


def _best(rule: CommitteeRule, value: Callable[[CommitteeRule], float]) -> CommitteeRule:
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


__all__ = ["calibrate"]
