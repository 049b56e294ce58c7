"""Random problems, and the formulas of VanGestel2002 written down directly with dense matrices."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

DATA = Path(os.environ.get("BAYESVM_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def data_set(name):
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"data set {name}.npz is absent (set BAYESVM_DATA)")
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def random_problem(seed, n=None, outputs=1):
    """Return inputs, a Gaussian Gram matrix and noisy targets (labels for even seeds)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60)) if n is None else n
    X = rng.normal(size=(n, int(rng.integers(1, 5))))
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.5 * distances / rng.uniform(0.5, 2.0) ** 2)
    f = np.sin(X @ rng.normal(size=(X.shape[1], outputs)))
    y = f + 0.4 * rng.normal(size=f.shape)
    return X, K, np.where(y > 0.0, 1.0, -1.0) if seed % 2 == 0 else y


def saddle_solution(K, y, gamma, bias=True):
    """Solve (2.19), or (2.23) without bias, as it stands."""
    n = len(K)
    if not bias:
        return np.linalg.solve(K + np.eye(n) / gamma, y), 0.0
    system = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.eye(n) / gamma]])
    solution = np.linalg.solve(system, np.concatenate([[0.0], y]))
    return solution[1:], solution[0]


def level2_cost(K, y, gamma):
    """J_4 of (4.8) from the coefficients and a dense determinant in the complement of the ones vector."""
    n = len(K)
    alpha, b = saddle_solution(K, y, gamma)
    E_D = 0.5 * np.sum(alpha**2) / gamma**2
    E_W = 0.5 * alpha @ (y - alpha / gamma - b)
    M = np.eye(n) - 1.0 / n
    log_det = np.linalg.slogdet(M @ K @ M + np.eye(n) / gamma)[1] + np.log(gamma)  # without the direction of ones
    return log_det + (n - 1) * np.log(E_W + gamma * E_D)


def level2_by_search(K, y, low=-8.0, high=12.0):
    """Minimise J_4 by a fine grid and golden section."""
    grid = np.linspace(low, high, 400)
    costs = [level2_cost(K, y, np.exp(g)) for g in grid]
    i = int(np.clip(np.argmin(costs), 1, len(grid) - 2))
    bracket = (grid[i - 1], grid[i + 1])
    found = minimize_scalar(
        lambda g: level2_cost(K, y, np.exp(g)), bounds=bracket, method="bounded", options={"xatol": 1e-9}
    )
    return np.exp(found.x), found.fun, 0 < int(np.argmin(costs)) < len(grid) - 1


def features(seed=0, n=40, m=6):
    """Return an explicit feature map at training and new rows, with labels."""
    rng = np.random.default_rng(seed)
    Phi, Phi_s = rng.normal(size=(n, m)), rng.normal(size=(7, m))
    y = np.where(Phi @ rng.normal(size=m) + rng.normal(size=n) > 0.2, 1.0, -1.0)
    return Phi, Phi_s, y
