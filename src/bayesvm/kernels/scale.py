"""A scale at which a search begins: what a kernel needs to know to place its parameters on standardised data."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Scale:
    """A start in words.

    Parameters
    ----------
    variance : float
        Prior variance of the latent function.
    lengthscale : float
        Distance over which it varies.
    constant : float
        Prior variance of its offset.
    n_features : int
        Number of features; a sum over features is divided by it.
    """

    variance: float
    lengthscale: float
    constant: float
    n_features: int


__all__ = ["Scale"]
