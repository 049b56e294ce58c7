"""An ensemble of walkers that needs no gradients, by emcee: for evidences that jump."""

from __future__ import annotations

import numpy as np

from bayesvm.sampling.nuts import Chains
from bayesvm.sampling.optional_imports import required
from bayesvm.sampling.target import Target
from bayesvm.typing import Vector


def ensemble(target: Target, start: Vector, *, draws: int, tune: int, walkers: int, seed: int) -> Chains:
    """Draw by the affine-invariant stretch move from near ``start``; every walker counts as a chain.

    Parameters
    ----------
    target : Target
        Any density.
    start : array, shape (p,)
        A theta of high density.
    draws, tune : int
        Steps per walker, and steps before them that are left out.
    walkers : int
        Number of walkers, at least twice the number of hyperparameters.
    seed : int
        Seed.
    """
    emcee = required("emcee")
    p = start.size
    walkers = max(walkers, 2 * p + 2)
    state = np.random.RandomState(seed)
    first = target.coordinates(start) + 0.1 * state.standard_normal((walkers, p))
    moves = [(emcee.moves.DEMove(), 0.8), (emcee.moves.DESnookerMove(), 0.2)]
    sampler = emcee.EnsembleSampler(walkers, p, lambda u: target.log_density(u)[0], moves=moves)
    sampler.random_state = state.get_state()
    sampler.run_mcmc(first, tune + draws, progress=False)
    chain = sampler.get_chain(discard=tune)  # (draws, walkers, p)
    return Chains(target.theta(np.swapaxes(chain, 0, 1)), 0)


__all__ = ["ensemble"]
