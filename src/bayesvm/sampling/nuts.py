"""Hamiltonian Monte Carlo without U-turns, by nutpie."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.sampling.optional_imports import required
from bayesvm.sampling.target import Target
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Chains:
    """Draws of theta, shape (chains, draws, p), and the number of divergent transitions (0 without gradients)."""

    theta: Any
    divergences: int


def nuts(target: Target, start: Vector, *, draws: int, tune: int, chains: int, seed: int, cores: int) -> Chains:
    """Draw by NUTS from near ``start``.

    Parameters
    ----------
    target : Target
        Its density must be smooth.
    start : array, shape (p,)
        A theta of high density.
    draws, tune, chains : int
        Draws per chain, draws before them during which the sampler adapts, and number of chains.
    seed : int
        Seed.
    cores : int
        Chains that run at the same time.
    """
    nutpie = required("nutpie")
    compiled = required("nutpie.compiled_pyfunc")
    p, origin = start.size, target.coordinates(start)

    def make_log_density() -> Callable[[Vector], tuple[float, Vector]]:
        latent: Vector | None = None

        def log_density(u: Vector) -> tuple[float, Vector]:
            nonlocal latent
            value, gradient, latent = target.log_density(u, latent)
            return value, gradient

        return log_density

    def make_expand(*_: Any) -> Callable[[Vector], dict[str, Vector]]:
        return lambda u: {"theta": target.theta(np.asarray(u))}

    def initial(chain_seed: int) -> Vector:
        return origin + 0.1 * np.random.default_rng(chain_seed).standard_normal(p)

    model = compiled.from_pyfunc(
        p, make_log_density, make_expand, [np.dtype("float64")], [(p,)], ["theta"], make_initial_point_fn=initial
    )
    trace = nutpie.sample(
        model, draws=draws, tune=tune, chains=chains, cores=cores, seed=seed, progress_bar=False, save_warmup=False
    )
    diverging = int(np.sum(np.asarray(trace.sample_stats["diverging"])))
    theta: Matrix = np.asarray(trace.posterior["theta"])
    return Chains(theta, diverging)


__all__ = ["Chains", "nuts"]
