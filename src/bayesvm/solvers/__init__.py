"""Mode finding: (K, y, likelihood) -> MAPResult."""

from bayesvm.solvers.auto import Auto
from bayesvm.solvers.base import MAPResult, Solver, Status
from bayesvm.solvers.names import from_name
from bayesvm.solvers.newton import Newton
from bayesvm.solvers.smo import SMO
from bayesvm.solvers.working_set import WorkingSet

__all__ = ["SMO", "Auto", "MAPResult", "Newton", "Solver", "Status", "WorkingSet", "from_name"]
