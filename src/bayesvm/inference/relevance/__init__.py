"""Relevance vector machines: weights with a precision each, and the sequential maximisation of their evidence."""

from bayesvm.inference.relevance.level1 import WeightPosterior, weight_posterior
from bayesvm.inference.relevance.level2 import ActiveEvidence, active_evidence
from bayesvm.inference.relevance.sequential import Relevance, RelevanceStart, SequentialRelevance

__all__ = [
    "ActiveEvidence",
    "Relevance",
    "RelevanceStart",
    "SequentialRelevance",
    "WeightPosterior",
    "active_evidence",
    "weight_posterior",
]
