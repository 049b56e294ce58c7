"""The three levels of inference of a least-squares machine (VanGestel2002), as functions of the Gram matrix."""

from bayesvm.inference.ls_svm.design import Design
from bayesvm.inference.ls_svm.factored import Factored, factored
from bayesvm.inference.ls_svm.fisher import FisherDirections, fisher_directions
from bayesvm.inference.ls_svm.joint import Joint, relative_gamma, relative_range
from bayesvm.inference.ls_svm.level1 import LevelOne, solve_direct, solve_iterative, solve_spectral, solved_by
from bayesvm.inference.ls_svm.level2 import LevelTwo, level2, level2_at, level2_terms
from bayesvm.inference.ls_svm.level3 import level3, log_evidence, occam
from bayesvm.inference.ls_svm.moderation import Moderator, softmax_log_odds
from bayesvm.inference.ls_svm.predictor import (
    GroupCentres,
    Predictor,
    coordinate_predictor,
    feature_predictor,
    group_weights,
    row_predictor,
)
from bayesvm.inference.ls_svm.robust import robust_weights
from bayesvm.inference.ls_svm.spectrum import (
    FeatureSums,
    Spectrum,
    complete_spectrum,
    feature_spectrum,
    leading_spectrum,
)

__all__ = [
    "Design",
    "Factored",
    "FeatureSums",
    "FisherDirections",
    "GroupCentres",
    "Joint",
    "LevelOne",
    "LevelTwo",
    "Moderator",
    "Predictor",
    "Spectrum",
    "complete_spectrum",
    "coordinate_predictor",
    "factored",
    "feature_predictor",
    "feature_spectrum",
    "fisher_directions",
    "group_weights",
    "leading_spectrum",
    "level2",
    "level2_at",
    "level2_terms",
    "level3",
    "log_evidence",
    "occam",
    "relative_gamma",
    "relative_range",
    "robust_weights",
    "row_predictor",
    "softmax_log_odds",
    "solve_direct",
    "solve_iterative",
    "solve_spectral",
    "solved_by",
]
