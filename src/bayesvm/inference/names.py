"""Inference methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayesvm import solvers
from bayesvm.inference.base import Inference
from bayesvm.inference.ep import EP
from bayesvm.inference.exact import Exact
from bayesvm.inference.laplace import Laplace
from bayesvm.inference.variational import Variational
from bayesvm.likelihoods.base import Likelihood
from bayesvm.lookup import lookup
from bayesvm.solvers import Solver

#: Names that estimators accept, each with how the method is made of the solver for its mode.
METHODS: Mapping[str, Callable[[Solver], Inference]] = {
    "laplace": Laplace,
    "ep": lambda solver: EP(),
    "variational": lambda solver: Variational(),
}

#: Expectation propagation for predictions, run once after a search with another method. The weakest sites, which
#: together move a mean by a twentieth of its standard deviation at most, are left out, and moments match to a
#: ten-thousandth of it.
PREDICTIVE_EP = EP(tol=1e-4, prune=0.05)

#: The same with many rows, where sites are not left out.
MANY_ROWS_EP = EP(tol=1e-4)


def from_name(
    method: str | Inference, solver: str | Solver = "newton", likelihood: Likelihood | None = None
) -> Inference:
    """Return the method of that name; a method is returned as it is.

    Parameters
    ----------
    method : str or Inference
        One of :data:`METHODS`, or an object.
    solver : str or Solver
        Finds the mode, where the named method needs one.
    likelihood : Likelihood, optional
        What it is for. With a quadratic loss every named method finds the same Gaussian posterior, and
        :class:`~bayesvm.inference.exact.Exact` finds it in one step.
    """
    if isinstance(method, Inference):
        return method
    make, found = lookup("inference", method, METHODS, Inference), solvers.from_name(solver)
    return Exact() if likelihood is not None and likelihood.traits.quadratic else make(found)


__all__ = ["MANY_ROWS_EP", "METHODS", "PREDICTIVE_EP", "from_name"]
