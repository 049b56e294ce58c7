r"""Newton's method or the working set, whichever suits the problem.

Measured on one core with a Gaussian plus a constant kernel in five dimensions (cold start, residual 1e-8), seconds of
Newton and of the working set:

=======================  ============  ============  ============
loss                     n = 1000      n = 2000      n = 4000
=======================  ============  ============  ============
trigonometric            0.07, 0.05    0.32, 0.20    2.7, 0.7
narrow soft insensitive  0.13, 1.0     0.44, 3.8     2.0, 14
=======================  ============  ============  ============

From a good warm start Newton needs one or two steps and is the faster one throughout.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import ClassVar

import numpy as np

from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.base import Likelihood
from bayesvm.solvers.base import MAPResult, Solver
from bayesvm.solvers.newton import Newton
from bayesvm.solvers.smo import SMO
from bayesvm.typing import Matrix, Vector

_log = logging.getLogger(__name__)

#: Share of the samples that a sparse loss is expected to leave in the support.
SHARE = 0.5
#: Number of samples from which the working set is the faster one for losses of the margin, from a cold start.
LARGE = 1000


@dataclasses.dataclass(frozen=True)
class Auto(Solver):
    """Chooses between :class:`Newton` and :class:`SMO` for every problem; a log record and the result say which.

    Newton cannot treat kinks, and it factors a matrix of the size of the support: it is left out if that is expected to
    exceed ``memory``. The working set needs a known dual; it is taken from a cold start of at least a thousand samples
    with a loss of the margin. In all other cases Newton is the faster one.

    Parameters
    ----------
    newton : Newton
        Options of the one.
    smo : SMO
        Options of the other.
    memory : int
        Bytes that a factor may take.
    """

    needs_smoothness: ClassVar[int] = 0
    needs_convex: ClassVar[bool] = True

    newton: Newton = dataclasses.field(default_factory=Newton)
    smo: SMO = dataclasses.field(default_factory=SMO)
    memory: int = 2**31

    def check(self, likelihood: Likelihood) -> None:
        """Refuse what neither solver can treat."""
        try:
            self.newton.check(likelihood)
        except IncompatibleError:
            self.smo.check(likelihood)

    def choose(self, n: int, likelihood: Likelihood, *, warm: bool) -> tuple[Solver, str]:
        """Return the solver for n samples, and the reason in words."""
        dual = likelihood.plain.dual(np.ones(1))
        if likelihood.traits.smoothness < self.newton.needs_smoothness:
            return self.smo, "the loss has kinks"
        if dual is None:
            return self.newton, "the dual of the loss is not known"
        support = n * (SHARE if likelihood.traits.sparse else 1.0)
        if 8.0 * support**2 > self.memory:
            return self.smo, f"a factor of {support:.0f} expected support vectors exceeds {self.memory} bytes"
        if warm:
            return self.newton, "there is a warm start"
        if n >= LARGE and likelihood.traits.sparse and 0.0 in (dual.lower[0], dual.upper[0]):
            return self.smo, f"{n} samples with a loss of the margin and no warm start"
        return self.newton, "the factor is small or the loss is of the residual"

    def solve(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> MAPResult:
        """Return the mode; see :meth:`bayesvm.solvers.base.Solver.solve`."""
        solver, reason = self.choose(y.size, likelihood, warm=warm_start is not None)
        name = type(solver).__name__
        _log.info("mode of %d samples by %s: %s", y.size, name, reason)
        return dataclasses.replace(solver.solve(K, y, likelihood, warm_start=warm_start), solver=name)


__all__ = ["Auto"]
