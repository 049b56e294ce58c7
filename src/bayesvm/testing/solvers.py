"""Conformance of a solver."""

from __future__ import annotations

import numpy as np

from bayesvm.likelihoods.base import Classification, Likelihood
from bayesvm.solvers.base import Solver
from bayesvm.typing import Matrix, Vector


def problem(likelihood: Likelihood, n: int = 40, seed: int = 0) -> tuple[Matrix, Vector]:
    """Return a small Gram matrix and targets that fit the likelihood."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    signal = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1]
    noisy = signal + 0.3 * rng.normal(size=n)
    y = np.where(noisy > 0.0, 1.0, -1.0) if isinstance(likelihood.plain, Classification) else noisy
    K = 1.7 * np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)) + 0.4
    return K, y


def check_solver(solver: Solver, likelihood: Likelihood, *, tol: float = 1e-7, seed: int = 0) -> None:
    """Check that a solver finds the mode, cold and warm, and reports truly.

    Parameters
    ----------
    solver : Solver
        The solver.
    likelihood : Likelihood
        One that it can treat.
    tol : float
        Largest violation of the optimality conditions, relative to the largest slope of the loss.
    seed : int
        Seed of the problem.

    Raises
    ------
    AssertionError
        With what was expected and what was found.
    """
    who = f"{type(solver).__name__} with {likelihood!r}"
    K, y = problem(likelihood, seed=seed)
    result = solver.solve(K, y, likelihood)
    if not result.status.ok:
        raise AssertionError(f"{who}: did not converge: {result.status.value}")
    d = likelihood.derivatives(y, result.f)
    scale = max(1.0, float(np.max(np.abs(d.gradient))))
    kkt = float(np.max(np.abs(result.alpha + d.gradient))) / scale
    if kkt > tol:
        raise AssertionError(f"{who}: expected alpha = -loss', found a violation of {kkt:.2e}")
    gap = float(np.max(np.abs(result.f - K @ result.alpha))) / (scale * float(np.max(np.abs(K).sum(axis=1))))
    if gap > tol:
        raise AssertionError(f"{who}: expected f = K alpha, found a difference of {gap:.2e}")
    objective = float(0.5 * result.alpha @ result.f + d.loss.sum())
    if not np.isclose(result.objective, objective, rtol=1e-9, atol=1e-9):
        raise AssertionError(f"{who}: reports the objective {result.objective}, which is {objective}")
    _check_minimum(who, K, y, likelihood, result.alpha, objective, seed)
    again = solver.solve(K, y, likelihood, warm_start=result.f)
    if again.n_iter > result.n_iter or not np.allclose(again.f, result.f, atol=1e3 * tol * scale):
        raise AssertionError(f"{who}: a warm start at the mode took {again.n_iter} steps (cold: {result.n_iter})")


def _check_minimum(
    who: str, K: Matrix, y: Vector, likelihood: Likelihood, alpha: Vector, objective: float, seed: int
) -> None:
    """No small move in alpha may decrease the objective."""
    rng = np.random.default_rng(seed + 1)
    for size in (1e-1, 1e-2, 1e-3):
        moved = alpha + size * rng.normal(size=alpha.size) / alpha.size
        f = K @ moved
        value = float(0.5 * moved @ f + likelihood.derivatives(y, f).loss.sum())
        if value < objective - 1e-8 * (1.0 + abs(objective)):
            raise AssertionError(
                f"{who}: a random move of size {size} lowers the objective from {objective} to {value}"
            )


__all__ = ["check_solver", "problem"]
