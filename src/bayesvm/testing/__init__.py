"""Public conformance checks: run them on your own kernels, likelihoods, solvers and inference methods.

Each check returns nothing and raises ``AssertionError`` with what was expected and what was found.
"""

from bayesvm.testing.differences import five_point, relative_error
from bayesvm.testing.evidence import exact_log_evidence
from bayesvm.testing.gradient import GradientReport, check_gradient
from bayesvm.testing.inference import check_inference
from bayesvm.testing.kernels import check_kernel
from bayesvm.testing.likelihoods import check_likelihood
from bayesvm.testing.solvers import check_solver

__all__ = [
    "GradientReport",
    "check_gradient",
    "check_inference",
    "check_kernel",
    "check_likelihood",
    "check_solver",
    "exact_log_evidence",
    "five_point",
    "relative_error",
]
