"""Solvers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayesvm.lookup import lookup
from bayesvm.solvers.auto import Auto
from bayesvm.solvers.base import Solver
from bayesvm.solvers.newton import Newton
from bayesvm.solvers.smo import SMO

#: Names that estimators accept.
SOLVERS: Mapping[str, Callable[[], Solver]] = {"newton": Newton, "smo": SMO, "auto": Auto}


def from_name(solver: str | Solver) -> Solver:
    """Return the solver of that name with its default options; a solver is returned as it is."""
    return solver if isinstance(solver, Solver) else lookup("solver", solver, SOLVERS, Solver)()


__all__ = ["SOLVERS", "from_name"]
