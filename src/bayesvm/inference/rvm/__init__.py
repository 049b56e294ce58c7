"""Relevance vector machines: weights with a precision each, and the sequential maximisation of their evidence."""

from bayesvm.inference.rvm.gaussian import QuadraticProblem
from bayesvm.inference.rvm.laplace import RowsProblem
from bayesvm.inference.rvm.problem import RelevanceProblem, State, basis_cotangent
from bayesvm.inference.rvm.sequential import Relevance, RelevanceStart, SequentialRelevance

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
