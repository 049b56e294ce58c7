"""Relevance vector machines: weights with a precision each, and the sequential maximisation of their evidence."""

from bayesvm.inference.relevance.problem import RelevanceProblem, State, basis_cotangent
from bayesvm.inference.relevance.quadratic import QuadraticProblem
from bayesvm.inference.relevance.rows import RowsProblem
from bayesvm.inference.relevance.sequential import Relevance, RelevanceStart, SequentialRelevance

__all__ = [
    "QuadraticProblem",
    "Relevance",
    "RelevanceProblem",
    "RelevanceStart",
    "RowsProblem",
    "SequentialRelevance",
    "State",
    "basis_cotangent",
]
