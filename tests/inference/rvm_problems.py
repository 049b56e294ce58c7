"""Data and basis functions for relevance vector machines."""

import numpy as np

from bayesvm.kernels import Gaussian


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 2))
    f = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    return X, f + 0.2 * rng.normal(size=n), np.where(f + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def basis_of(X, lengthscale=1.2):
    return np.column_stack([np.ones(len(X)), Gaussian(1.0, lengthscale).gram(X)])


ACTIVE = np.array([0, 3, 7, 12])
LOGS = np.array([0.3, -1.0, 0.5, 1.2])
