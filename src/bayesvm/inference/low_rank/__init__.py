"""Inference beyond a few thousand rows: features of inducing inputs, and blocks of rows given their neighbours."""

from bayesvm.inference.low_rank.evidence import WeightEvidence, WeightPosterior
from bayesvm.inference.low_rank.features import FeatureBlock, Features, FeaturesHere
from bayesvm.inference.low_rank.sites import infer_sites
from bayesvm.inference.low_rank.weights import infer_weights

__all__ = [
    "FeatureBlock",
    "Features",
    "FeaturesHere",
    "WeightEvidence",
    "WeightPosterior",
    "infer_sites",
    "infer_weights",
]
