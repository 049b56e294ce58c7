r"""What a solver is (the contract page of this folder).

A solver finds the mode of the posterior of the latent values for a given Gram matrix,

.. math:: \min_f \; S(f) = \tfrac12 f^\top K^{-1} f + \sum_i \ell(y_i, f_i),

written with :math:`f = K \alpha`, so that :math:`K^{-1}` is never formed. At the mode
:math:`\alpha_i = -\ell'(y_i, f_i)` (Chu2003 (15), Thesis (4.26)). Its fields are options only; what it found, and how
well, is in the :class:`MAPResult`.
"""

from __future__ import annotations

import dataclasses
import enum
from abc import ABC, abstractmethod
from typing import ClassVar, Self

from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.typing import Matrix, Vector


class Status(enum.Enum):
    """How a solver stopped; the value is the message."""

    CONVERGED = "converged: the optimality conditions hold to the tolerance"
    STALLED = "stalled: rounding errors prevent a further decrease of the objective"
    OSCILLATES = "oscillates: the updates do not settle even with the heaviest damping"
    MAX_ITER = "stopped at the maximal number of iterations before the tolerance was met"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:  # some readers of stored models look for this alone
        return type(self), (self.value,)

    @property
    def ok(self) -> bool:
        """Whether the result is as good as was asked for."""
        return self is Status.CONVERGED


@dataclasses.dataclass(frozen=True)
class MAPResult:
    r"""The mode of the posterior of the latent values.

    Attributes
    ----------
    alpha : array, shape (n,)
        Coefficients, :math:`f = K \alpha`; exactly zero for points that are not support vectors.
    f : array, shape (n,)
        Latent values at the mode.
    objective : float
        :math:`S(f)`.
    derivatives : Derivatives
        Loss and derivatives at ``f``.
    kkt : float
        :math:`\max_i |\alpha_i + \ell'_i| / \max(1, \max_i |\ell'_i|)`, the relative violation of the optimality
        conditions, measured before ``alpha`` was set to :math:`-\ell'`.
    n_iter : int
        Factorisations, or steps of a working set, that were needed.
    status : Status
        How the solver stopped.
    solver : str
        Which solver was taken, where there was a choice.
    """

    alpha: Vector
    f: Vector
    objective: float
    derivatives: Derivatives
    kkt: float
    n_iter: int
    status: Status
    solver: str = ""


@dataclasses.dataclass(frozen=True)
class Solver(ABC):
    """Finds the mode; see the module for the problem that is solved."""

    #: Number of continuous derivatives of the loss that the method needs, and whether the loss must be convex.
    needs_smoothness: ClassVar[int]
    needs_convex: ClassVar[bool]

    @abstractmethod
    def solve(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> MAPResult:
        """Return the mode for the Gram matrix ``K``; ``warm_start`` is a guess of the latent values f."""

    def check(self, likelihood: Likelihood) -> None:
        """Raise :class:`IncompatibleError`, naming what is missing, if the likelihood cannot be treated."""
        require(type(self).__name__, likelihood, smoothness=self.needs_smoothness, convex=self.needs_convex)


def require(who: str, likelihood: Likelihood, *, smoothness: int, convex: bool) -> None:
    """Raise :class:`IncompatibleError` unless the likelihood has the traits that ``who`` needs."""
    missing = []
    if likelihood.traits.smoothness < smoothness:
        missing.append(f"{smoothness} continuous derivative(s) of the loss (it has {likelihood.traits.smoothness})")
    if convex and not likelihood.traits.convex:
        missing.append("a convex loss")
    if missing:
        raise IncompatibleError(f"{who} cannot treat {type(likelihood).__name__}: it needs {' and '.join(missing)}")


__all__ = ["MAPResult", "Solver", "Status", "require"]
