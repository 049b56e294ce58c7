"""Mode finding: (K, y, likelihood) -> MAPResult."""

from bayesvm.solvers.base import MAPResult, Solver, Status
from bayesvm.solvers.newton import Newton

__all__ = ["MAPResult", "Newton", "Solver", "Status"]
