"""Problems of the hinge model, and its naive evidence on a grid."""

import numpy as np

from bayesvm.kernels import Constant, Gaussian


def problem(n, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)


KERNEL = Gaussian(2.0, 1.0) + Constant(0.7)


def brute_force(K, y, C, points=160, reach=7.5):
    L = np.linalg.cholesky(K)
    z = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(*[z] * y.size, indexing="ij")).reshape(y.size, -1)
    W = np.stack(np.meshgrid(*[w] * y.size, indexing="ij")).reshape(y.size, -1).prod(axis=0)
    loss = np.maximum(1.0 - y[:, None] * (L @ Z), 0.0).sum(axis=0)
    return float(np.log(W @ np.exp(-C * loss)) - y.size * np.log1p(np.exp(-2.0 * C)))


def random_problem(rng, largest=3):
    n = int(rng.integers(1, largest + 1))
    X = rng.uniform(-1.0, 1.0, size=(n, 1))
    kernel = Gaussian(float(np.exp(rng.uniform(-2.0, 2.5))), float(np.exp(rng.uniform(-2.0, 1.0)))) + Constant(0.1)
    return kernel.gram(X) + 1e-6 * np.eye(n), rng.choice([-1.0, 1.0], size=n), float(np.exp(rng.uniform(-1.0, 1.5)))
