"""The mode by Newton's method and Laplace's evidence.

:mod:`bayesvm.solvers.newton`, :mod:`bayesvm.inference.laplace` and the kernels state the same in NumPy.
"""

from bayesvm._core.mode._mode import Ending, LossKind, TermKind, derivatives, laplace, newton, use_lapack
from bayesvm._core.scipy_routines import ROUTINES

use_lapack(ROUTINES)

__all__ = ["Ending", "LossKind", "TermKind", "derivatives", "laplace", "newton"]
