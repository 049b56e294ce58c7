"""Data drawn from the support vector machine as a probability model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from bayesvm.inference.hinge.annealed import with_nugget
from bayesvm.inference.hinge.elliptical_slice import elliptical_step
from bayesvm.inference.hinge.normalizer import Normalizer, log_nu
from bayesvm.kernels import Gaussian, Kernel
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.typing import Matrix, Vector

#: Draws an array of rows from Q(x): given a Generator and a number.
InputSampler = Callable[[np.random.Generator, int], Matrix]


def make_sollich(
    n: int = 50,
    *,
    kernel: Kernel | None = None,
    C: float = 2.0,
    inputs: InputSampler | None = None,
    n_extra: int = 0,
    n_nodes: int = 200,
    sweeps: int = 600,
    random_state: Any = None,
) -> tuple[Matrix, Vector, Vector]:
    r"""Return data from the model of Sollich1999 (3).

    The model's own recipe, to restart with a new function whenever a point is rejected, is too slow beyond a few
    points. Instead the latent function is drawn from the effective prior :math:`P(\theta) \propto Q(\theta)\,
    N^n(\theta)` by elliptical slice sampling on nodes of Q(x); inputs then follow :math:`P(x|\theta) \propto Q(x)\,
    \nu(\theta(x))` (by rejection of single points, which is right once :math:`\theta` is given) and labels
    :math:`P(y|x, \theta)`, Sollich1999 (5).

    Parameters
    ----------
    n : int
        Number of training samples, which is a parameter of the model.
    kernel : Kernel, optional
        Prior covariance; by default that of Figure 2, ``Gaussian(1.25, 0.05)``.
    C : float
        Noise parameter.
    inputs : callable, optional
        Draws rows of Q(x), given a Generator and a number; by default uniform on [0, 1].
    n_extra : int
        Number of further samples of the same function, for tests; they follow the first n.
    n_nodes : int
        Nodes that stand for Q(x).
    sweeps : int
        Steps of the Markov chain.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : array, shape (n + n_extra, d)
    y : array of int, shape (n + n_extra,)
        Labels -1 and +1.
    f : array, shape (n + n_extra,)
        The latent function at the rows of X.
    """
    rng = np.random.default_rng(random_state)
    draw = inputs if inputs is not None else _uniform
    nodes = draw(rng, n_nodes)
    bound = (Gaussian(1.25, 0.05) if kernel is None else kernel).bind(nodes.shape[1])
    coefficients, factor = _effective_draw(bound, nodes, n, C, sweeps, rng)
    rows: list[Matrix] = []
    values: list[Vector] = []
    while sum(map(len, values)) < n + n_extra:
        X = draw(rng, 4 * (n + n_extra))
        f = _conditional(bound, X, nodes, coefficients, factor, rng)
        kept = rng.uniform(size=f.size) < np.exp(log_nu(f, C))
        rows.append(X[kept])
        values.append(f[kept])
    X, f = np.concatenate(rows)[: n + n_extra], np.concatenate(values)[: n + n_extra]
    return X, np.where(rng.uniform(size=f.size) < label_probability(f, C), 1, -1), f


def label_probability(f: Vector, C: float) -> Vector:
    r"""Return :math:`P(y = 1 | \theta)` of Sollich1999 (5)."""
    return np.asarray(expit(C * (np.maximum(1.0 + f, 0.0) - np.maximum(1.0 - f, 0.0))))


def _uniform(rng: np.random.Generator, m: int) -> Matrix:
    return rng.uniform(size=(m, 1))


def _effective_draw(
    kernel: Kernel, nodes: Matrix, n: int, C: float, sweeps: int, rng: np.random.Generator
) -> tuple[Vector, Cholesky]:
    """Return a draw of the effective prior at the nodes, as coefficients, and the factor of the Gram matrix."""
    factor = cholesky(with_nugget(kernel.gram(nodes)), jitter=True, what="the Gram matrix of the nodes")
    L = factor.lower()
    log_factor = Normalizer(np.full(len(nodes), 1.0 / len(nodes)), float(n)).log_factor(C)
    theta = L @ rng.standard_normal((len(nodes), 1))
    value = log_factor(theta)
    for k in range(sweeps):
        power = min(1.0, (k + 1) / (0.3 * sweeps))  # annealed first, so as not to be caught where it happens to begin
        theta, value = elliptical_step(theta, value, L @ rng.standard_normal(theta.shape), log_factor, power, rng)
    return factor.solve(theta[:, 0]), factor


def _conditional(
    kernel: Kernel, X: Matrix, nodes: Matrix, coefficients: Vector, factor: Cholesky, rng: np.random.Generator
) -> Vector:
    """Return the function at new rows, given its values at the nodes (row by row: the rest between nodes is small)."""
    K_s = kernel.gram(X, nodes)
    V = factor.half_solve(np.asfortranarray(K_s.T))
    var = np.maximum(kernel.diag(X) - np.einsum("ij,ij->j", V, V), 0.0)
    return np.asarray(K_s @ coefficients + np.sqrt(var) * rng.standard_normal(len(X)))


__all__ = ["InputSampler", "label_probability", "make_sollich"]
