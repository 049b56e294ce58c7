r"""Where to begin: starts that fit data whose inputs are standardised.

The papers begin at :math:`\kappa = 1/d`, :math:`\kappa_b = 100` and :math:`\kappa_0 \in \{0.1, 1, 10, 100\}` (Chu2003 section
5); the first starts are these, in the order in which they succeed most often, mixed with starts at the scale of the data
(length scale = median distance between points). Starts beyond the list are drawn around them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Scale:
    """One start in words: signal variance, length scale relative to its unit, variance of the constant."""

    variance: float
    lengthscale: float
    constant: float
    unit: str = "dimension"  # or "data"


#: The deterministic starts. Unit "dimension": length scales in sqrt(d), that is kappa = 1/d; "data": in median distances.
SCALES = (
    Scale(10.0, 1.0, 100.0),
    Scale(1.0, 0.5, 1.0, "data"),
    Scale(100.0, 1.0, 100.0),
    Scale(1.0, 1.0, 100.0),
    Scale(0.1, 1.0, 100.0),
    Scale(10.0, 2.0, 1.0, "data"),
)


def median_distance(X: Inputs, rows: int = 500) -> float:
    """Return the median distance between distinct points (of the first ``rows`` rows, spread evenly), at least 1e-3."""
    step = max(1, len(X) // rows)
    part = X.take(np.arange(0, len(X), step)) if step > 1 else X
    squared = part.squared_distances()
    positive = squared[np.triu_indices_from(squared, 1)]
    positive = positive[positive > 0.0]
    return float(np.sqrt(np.median(positive))) if positive.size else 1.0


def starting_points(kernel: Kernel, X: Inputs, n_starts: int, rng: np.random.Generator, *, given: bool) -> list[Vector]:
    """Return ``n_starts`` values of the kernel's theta.

    Parameters
    ----------
    kernel : Kernel
        Bound to the data.
    X : Inputs
        Standardised inputs.
    n_starts : int
        How many.
    rng : numpy Generator
        For the starts beyond the deterministic ones.
    given : bool
        Whether the kernel's own parameters are the user's choice; they are then the first start.
    """
    if n_starts < 1:
        raise ValueError(f"n_starts: expected at least 1, found {n_starts}")
    starts = [kernel.theta] if given else []
    units = {"dimension": float(np.sqrt(X.n_features)), "data": median_distance(X)}
    scales = iter(SCALES)
    while len(starts) < n_starts:
        scale = next(scales, None) or _drawn(rng)
        starts.append(_place(kernel, scale, units[scale.unit], X.n_features))
    return starts


def _drawn(rng: np.random.Generator) -> Scale:
    a, b, c = rng.normal(size=3)
    return Scale(float(np.exp(1.0 + 1.5 * a)), float(np.exp(0.7 * b)), float(np.exp(2.0 + 2.0 * c)))


def _place(kernel: Kernel, scale: Scale, unit: float, d: int) -> Vector:
    """Return the kernel's theta with variances and length scales replaced; other parameters keep their values."""
    theta = kernel.theta.copy()
    for i, name in enumerate(kernel.names):
        leaf, _, parameter = name.partition(".")
        if parameter.startswith("lengthscale"):
            theta[i] = np.log(scale.lengthscale * unit)
        elif parameter.startswith("variance"):
            if leaf.startswith("constant"):
                theta[i] = np.log(scale.constant)
            elif leaf.startswith(("linear", "polynomial")):
                theta[i] = np.log(scale.variance / d)
            else:
                theta[i] = np.log(scale.variance)
    return np.clip(theta, kernel.bounds[:, 0], kernel.bounds[:, 1])


__all__ = ["SCALES", "Scale", "median_distance", "starting_points"]
