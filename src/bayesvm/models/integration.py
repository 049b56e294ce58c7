r"""Averaging over theta: predictors at a fixed set of hyperparameters about the optimum, with importance weights.

The points are those of :mod:`bayesvm.hyper.integration_design`, placed by the Gaussian of the quick estimate of the
model evidence (:mod:`bayesvm.hyper.assessment`). Every point gets its own posterior and calibration. Nothing is drawn:
the result is the same each time.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import expit

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.integration_design import importance_weights, integration_design
from bayesvm.likelihoods.base import Classification
from bayesvm.models.base import TrainingData
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.predictor import Predictor
from bayesvm.typing import Matrix

#: Points with less than this share of the largest weight are left out.
SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class Integration:
    """How theta was averaged over.

    Attributes
    ----------
    points : int
        Settings of theta whose predictions are averaged.
    effective : float
        Effective number of points: that of equal weights with the same sum of squares.
    disagreement : float
        Root mean square deviation of the points' leave-one-out predictions from their average: of probabilities, or of
        means in standard deviations of the targets.
    """

    points: int
    effective: float
    disagreement: float


def integrated(
    model: GaussianProcessModel, data: TrainingData, calibrate: str | None
) -> tuple[list[tuple[float, Predictor]], Integration]:
    """Return what predicts in place of a model at one theta, with shares that add up to one.

    Parameters
    ----------
    model : GaussianProcessModel
        At the maximum of its evidence, assessed.
    data : TrainingData
        On which it was fitted.
    calibrate : {"auto", "loo", None}
        Correction of the predictions at every point.
    """
    assert model.assessment is not None
    objective, latent = model.objective, model.maximum.latent
    points = integration_design(model.theta, model.assessment.axes, objective.bounds)
    values = []
    for theta in points.theta:
        try:
            values.append(objective.evaluate(theta, latent).value)
        except NotPositiveDefiniteError:
            values.append(-np.inf)
    weights, effective = importance_weights(values, points.log_density)
    kept = np.flatnonzero(weights >= SHARE * np.max(weights))
    shares = weights[kept] / weights[kept].sum()
    members = []
    for theta in points.theta[kept]:
        moved = model.moved(theta)
        fields = {field.name: getattr(moved, field.name) for field in dataclasses.fields(Predictor)}
        own = dataclasses.replace(model, **fields).calibrated(calibrate, data.counts, tuned=True)
        members.append(own.predictor())
    predictions = np.stack([_left_out(member) for member in members])
    centre = np.tensordot(shares, predictions, axes=1)
    disagreement = float(np.sqrt(np.mean(np.tensordot(shares, (predictions - centre) ** 2, axes=1))))
    found = Integration(kept.size, effective, disagreement)
    return [(float(share), member) for share, member in zip(shares, members, strict=True)], found


def _left_out(member: Predictor) -> Matrix:
    """Return leave-one-out predictions: probabilities, or means of targets."""
    if isinstance(member.likelihood.plain, Classification):
        return np.asarray(expit(member.loo_log_odds()))
    return np.column_stack([q.cavity_mean for q in member.marginals])


__all__ = ["Integration", "integrated"]
