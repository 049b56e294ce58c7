"""Draws of the latent function from the prior of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.inference.hinge.annealed import with_nugget
from bayesvm.kernels import Kernel
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix


def sample_prior(kernel: Kernel, X: Any, n_draws: int = 1, random_state: Any = None) -> Matrix:
    r"""Return draws of the latent function from the prior :math:`Q(\theta)` of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Covariance.
    X : array, shape (n, d)
        Where.
    n_draws : int
        Number of draws.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    draws : array, shape (n, n_draws)
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"sample_prior: expected a matrix, one row per point, found {X.ndim} dimension(s)")
    K = kernel.bind(X.shape[1]).gram(X)
    L = cholesky(with_nugget(K), jitter=True, what=f"the Gram matrix of {kernel!r}").lower()
    return np.asarray(L @ np.random.default_rng(random_state).standard_normal((len(X), n_draws)))


__all__ = ["sample_prior"]
