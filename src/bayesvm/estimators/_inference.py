"""Names of inference methods in the constructors of the estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayesvm.inference import EP, Exact, Inference, Laplace, Variational
from bayesvm.likelihoods.base import Likelihood
from bayesvm.solvers import Solver

METHODS: Mapping[str, Callable[[Solver], Inference]] = {
    "laplace": Laplace,
    "ep": lambda solver: EP(),
    "variational": lambda solver: Variational(),
}

#: Expectation propagation for predictions, run once. The weakest sites, which together move a mean by a twentieth of its
#: standard deviation at most, are left out.
PREDICTIVE_EP = EP(prune=0.05)


def inference_from_name(name: str, likelihood: Likelihood, solver: Solver) -> Inference:
    """Return the method of that name, with the solver that finds its mode; exact inference where the likelihood permits it."""
    if name not in METHODS:
        raise ValueError(f"inference: expected one of {', '.join(map(repr, METHODS))}, found {name!r}")
    return Exact() if likelihood.traits.quadratic else METHODS[name](solver)


__all__ = ["METHODS", "PREDICTIVE_EP", "inference_from_name"]
