"""Least-squares machines: levels at a kernel, pruning, the fitted model."""

from bayesvm.models.ls_svm.fixed_size import FixedSizeLeastSquares
from bayesvm.models.ls_svm.levels import (
    Approximation,
    Levels,
    complete_levels,
    factored_levels,
    landmark_levels,
    leading_levels,
)
from bayesvm.models.ls_svm.model import COMPLETE, LeastSquares, LeastSquaresModel
from bayesvm.models.ls_svm.prune import prune, pruned_sizes

__all__ = [
    "COMPLETE",
    "Approximation",
    "FixedSizeLeastSquares",
    "LeastSquares",
    "LeastSquaresModel",
    "Levels",
    "complete_levels",
    "factored_levels",
    "landmark_levels",
    "leading_levels",
    "prune",
    "pruned_sizes",
]
