"""Inference beyond a few thousand rows: features of inducing inputs, and blocks of rows given their neighbours."""

from bayesvm.inference.low_rank.features import FeatureBlock, Features
from bayesvm.inference.low_rank.weights import WeightEvidence, WeightPosterior, infer_weights

__all__ = ["FeatureBlock", "Features", "WeightEvidence", "WeightPosterior", "infer_weights"]
