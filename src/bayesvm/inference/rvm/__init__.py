"""Relevance vector machines: weights with a precision each, and the sequential maximisation of their evidence."""

from bayesvm.inference.rvm.gaussian import GaussianRVM
from bayesvm.inference.rvm.laplace import LaplaceRVM
from bayesvm.inference.rvm.problem import RVMProblem, RVMState, basis_cotangent
from bayesvm.inference.rvm.sequential import RVMResult, RVMStart, SequentialRVM

__all__ = [
    "GaussianRVM",
    "LaplaceRVM",
    "RVMProblem",
    "RVMResult",
    "RVMStart",
    "RVMState",
    "SequentialRVM",
    "basis_cotangent",
]
