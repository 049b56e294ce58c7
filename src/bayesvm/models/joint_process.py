"""Several classes with one given kernel: one against the rest, with probabilities that are found together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bayesvm.models.average import AveragedClasses
from bayesvm.models.base import TrainingData
from bayesvm.models.class_scores import MeanFunctions, ScoredClasses
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel
from bayesvm.models.joint_calibration import CAUTIOUS_CLASSES, FULL_CLASSES, calibrate_classes
from bayesvm.typing import Indices, Matrix


@dataclasses.dataclass(frozen=True)
class JointProcess(GaussianProcess):
    """Gaussian processes of several classes with a common kernel; ``calibrate`` must not be None.

    Theta maximises the sum of the one-against-rest evidences. The posterior means of all classes are turned into
    probabilities by :mod:`bayesvm.models.joint_calibration`.
    """

    def finish(self, model: GaussianProcessModel, data: TrainingData) -> AveragedClasses:  # type: ignore[override]
        """Return the model with its probabilities, which depend on the rows with a coefficient."""
        refined = model.refined(self.posterior).reduced(self.reduce)
        n, left_out = data.n_rows, refined.loo_latent()[0]
        coefficients = np.column_stack([posterior.coefficients(n) for posterior in refined.posteriors])
        functions = MeanFunctions.of(refined.kernel, data.X.forget(), coefficients)
        determined = refined.determined if self.options.optimize else 0.0
        return alone(refined, scored(functions, left_out, data, self.calibrate, determined))


def scored(
    functions: Any, left_out: Matrix, data: TrainingData, calibrate: str | None, determined: float
) -> ScoredClasses:
    """Return functions of several classes with the calibration of their left-out values.

    Parameters
    ----------
    functions : MeanFunctions, or a fitted model with as many outputs
        Gives the scores.
    left_out : array, shape (n, C)
        Scores of the training rows, each without itself.
    data : TrainingData
        With class numbers.
    calibrate : {"auto", "loo"}
        As far as the data justify it, or (nearly) in full.
    determined : float
        How many hyperparameters the same rows determined.
    """
    shrinkage = CAUTIOUS_CLASSES if calibrate == "auto" else FULL_CLASSES
    fit = calibrate_classes(left_out, class_numbers(data), data.counts, determined=determined, shrinkage=shrinkage)
    return ScoredClasses(functions, fit, left_out)


def alone(model: GaussianProcessModel, member: ScoredClasses) -> AveragedClasses:
    """Return a model of several classes whose probabilities come from one member."""
    return AveragedClasses(model, (member,), np.ones(1), model.candidates)


def class_numbers(data: TrainingData) -> Indices:
    """Return the class numbers of the rows, which data of several classes have."""
    if data.codes is None:
        raise ValueError("codes: expected the class numbers of the rows, found None")
    return data.codes


__all__ = ["JointProcess", "alone", "class_numbers", "scored"]
