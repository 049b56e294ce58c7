"""Draws of the hyperparameters of a fitted estimator, and what can be done with them."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import generator
from bayesvm.estimators.committee import Committee
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.hyper import EvidenceObjective, Flat, Hyperprior, has_jumps, thesis_prior
from bayesvm.sampling.diagnostics import Diagnostics, diagnose
from bayesvm.sampling.ensemble import ensemble
from bayesvm.sampling.nuts import Chains, nuts
from bayesvm.sampling.optional_imports import required
from bayesvm.sampling.target import Target
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class ThetaSamples:
    """Draws from the posterior of the hyperparameters.

    Attributes
    ----------
    estimator : fitted estimator
        Whose hyperparameters were drawn.
    data : list of arviz.InferenceData
        One per model, with the variable ``theta`` (logarithms, on the scale used inside) and the names of its entries
        as coordinate ``parameter``.
    diagnostics : list of Diagnostics
        One per model.
    method : str
        "nuts" or "ensemble".
    seconds : float
        Time taken.
    """

    estimator: Any
    data: list[Any]
    diagnostics: list[Diagnostics]
    method: str
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether all chains have mixed."""
        return not any(d.problems for d in self.diagnostics)

    def draws(self, machine: int = 0) -> Vector:
        """Return all draws of theta of one model, shape (n_draws, p)."""
        theta = np.asarray(self.data[machine].posterior["theta"])
        return theta.reshape(-1, theta.shape[-1])

    def committee(self, n_members: int = 100) -> Committee:
        """Return the estimator averaged over draws, Thesis (3.70).

        Parameters
        ----------
        n_members : int
            Number of draws, spread evenly over all chains.

        Returns
        -------
        committee : Committee
            With the methods of the estimator.
        """
        pools = [self.draws(k) for k in range(len(self.data))]
        size = min(n_members, min(len(pool) for pool in pools))
        picked = [pool[np.linspace(0, len(pool) - 1, size).round().astype(int)] for pool in pools]
        thetas = [[pick[i] for pick in picked] for i in range(size)]
        return Committee.of(self.estimator, thetas, np.full(size, 1.0 / size))


def sample_theta(
    estimator: Any,
    *,
    draws: int = 500,
    tune: int = 300,
    chains: int = 4,
    method: str = "auto",
    hyperprior: Hyperprior | None = None,
    n_jobs: int = 1,
    random_state: Any = None,
) -> ThetaSamples:
    r"""Draw hyperparameters from :math:`P(\theta|D) \propto P(D|\theta) P(\theta)` (Thesis (1.30), (3.70)).

    Parameters
    ----------
    estimator : fitted self-tuning classifier or regressor
        :class:`~bayesvm.BayesianSVC`, :class:`~bayesvm.BayesianSVR`, :class:`~bayesvm.GPClassifier`, ...
    draws, tune : int
        Draws per chain, and adaptive draws before them. The ensemble takes ten times as many of both: its steps are
        cheaper and less independent.
    chains : int
        Number of chains.
    method : {"auto", "nuts", "ensemble"}
        "nuts" (nutpie) follows the gradient of the evidence; "ensemble" (emcee) uses its value only. "auto": the
        ensemble where the evidence jumps (see :ref:`jumps`), otherwise NUTS.
    hyperprior : Hyperprior, optional
        None: that of the estimator, or :func:`~bayesvm.hyper.thesis_prior` if that is flat. Where a prior is flat, the
        bounds of the parameters limit it.
    n_jobs : int
        Chains of NUTS that run at the same time.
    random_state : int, Generator or RandomState, optional
        Seed.

    Returns
    -------
    samples : ThetaSamples

    Warns
    -----
    ConvergenceWarning
        If :math:`\hat R` exceeds 1.01, or fewer than 400 effective draws were made of some hyperparameter.
    """
    check_is_fitted(estimator)
    if method not in ("auto", "nuts", "ensemble"):
        raise ValueError(f"method: expected 'auto', 'nuts' or 'ensemble', found {method!r}")
    models = _models_of(estimator)
    jumps = any(has_jumps(model.objective) for model in models)
    chosen = ("ensemble" if jumps else "nuts") if method == "auto" else method
    arviz = required("arviz")
    rng, began = generator(random_state), time.perf_counter()
    data, found = [], []
    for model in models:
        objective = model.objective
        prior = hyperprior or (thesis_prior() if isinstance(objective.prior, Flat) else objective.prior)
        target = Target(dataclasses.replace(objective, prior=prior))
        made = _draw(target, model.theta, chosen, draws, tune, chains, int(rng.integers(2**31)), n_jobs)
        posterior = {"theta": made.theta}
        data.append(
            arviz.from_dict(posterior, coords={"parameter": list(objective.names)}, dims={"theta": ["parameter"]})
        )
        found.append(diagnose(data[-1], objective.names, made.divergences))
    problems = sorted({d.problems for d in found if d.problems})
    if problems:
        warnings.warn(
            f"sample_theta: the chains have not mixed: {'; '.join(problems)}", ConvergenceWarning, stacklevel=2
        )
    return ThetaSamples(estimator, data, found, chosen, time.perf_counter() - began)


def _models_of(estimator: Any) -> Any:
    """Return the models of a fitted estimator; refuse those whose evidence is no density of their hyperparameters."""
    models = getattr(estimator, "models_", ())
    if not models or not all(isinstance(getattr(m, "objective", None), EvidenceObjective) for m in models):
        raise TypeError(
            "sample_theta: expected a fitted estimator with a Gaussian process posterior, found "
            f"{type(estimator).__name__}"
        )
    return models


def _draw(
    target: Target, start: Vector, method: str, draws: int, tune: int, chains: int, seed: int, cores: int
) -> Chains:
    if method == "nuts":
        return nuts(target, start, draws=draws, tune=tune, chains=chains, seed=seed, cores=cores)
    return ensemble(target, start, draws=10 * draws, tune=10 * tune, walkers=4 * chains, seed=seed)


__all__ = ["ThetaSamples", "sample_theta"]
