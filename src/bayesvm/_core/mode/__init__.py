"""The mode by Newton's method; :mod:`bayesvm.solvers.newton` states the same in NumPy."""

from bayesvm._core.mode._mode import Ending, LossKind, derivatives, newton, use_lapack
from bayesvm._core.scipy_routines import ROUTINES

use_lapack(ROUTINES)

__all__ = ["Ending", "LossKind", "derivatives", "newton"]
