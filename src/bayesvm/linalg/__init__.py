"""The only place with LAPACK calls: Cholesky with a jitter policy, and the factor on the support."""

from bayesvm.linalg.cholesky import Cholesky, cholesky
from bayesvm.linalg.inducing_factor import InducingFactor
from bayesvm.linalg.least_squares import least_squares
from bayesvm.linalg.signed_factor import SignedFactor
from bayesvm.linalg.support_factor import SupportFactor

__all__ = ["Cholesky", "InducingFactor", "SignedFactor", "SupportFactor", "cholesky", "least_squares"]
