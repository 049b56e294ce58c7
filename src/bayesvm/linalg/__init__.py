"""The only place with LAPACK calls: Cholesky with a jitter policy, and the factor on the support."""

from bayesvm.linalg.cholesky import Cholesky, cholesky
from bayesvm.linalg.support import SupportFactor

__all__ = ["Cholesky", "SupportFactor", "cholesky"]
