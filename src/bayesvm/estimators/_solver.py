"""Names of solvers in the constructors of the estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayesvm.solvers import Newton, Solver
from bayesvm.solvers.auto import Auto
from bayesvm.solvers.smo import SMO

SOLVERS: Mapping[str, Callable[[], Solver]] = {"newton": Newton, "smo": SMO, "auto": Auto}


def solver_from_name(name: str) -> Solver:
    """Return the solver of that name with its default options."""
    if name not in SOLVERS:
        raise ValueError(f"solver: expected one of {', '.join(map(repr, SOLVERS))}, found {name!r}")
    return SOLVERS[name]()


__all__ = ["SOLVERS", "solver_from_name"]
