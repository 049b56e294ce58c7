r"""Where to begin: starts that fit data whose inputs are standardised.

The papers begin at :math:`\kappa = 1/d`, :math:`\kappa_b = 100` and :math:`\kappa_0 \in \{0.1, 1, 10, 100\}` (Chu2003 section
5); the first starts are these, in the order in which they succeed most often, mixed with starts at the scale of the data:
length scales of about the root mean square distance between rows, which is the same for weighted and for repeated rows.
Starts beyond the list are drawn around them.
"""

from __future__ import annotations

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.typing import Vector


def scales(X: Inputs, distance: float) -> list[Scale]:
    """Return the deterministic starts for inputs with a typical ``distance`` between rows."""
    d = X.n_features
    root = float(np.sqrt(d))
    return [
        Scale(10.0, root, 100.0, d),
        Scale(1.0, 0.5 * distance, 1.0, d),
        Scale(100.0, root, 100.0, d),
        Scale(1.0, root, 100.0, d),
        Scale(0.1, root, 100.0, d),
        Scale(10.0, 2.0 * distance, 1.0, d),
    ]


def starting_points(
    kernel: Kernel, X: Inputs, n_starts: int, rng: np.random.Generator, *, distance: float
) -> list[Vector]:
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
    distance : float
        Typical distance between two rows of X.
    """
    starts = [kernel.at_scale(scale).theta for scale in scales(X, distance)]
    while len(starts) < n_starts:
        starts.append(kernel.at_scale(_drawn(rng, X.n_features)).theta)
    return starts[:n_starts]


def _drawn(rng: np.random.Generator, d: int) -> Scale:
    """Return a scale drawn around the deterministic ones."""
    a, b, c = rng.normal(size=3)
    return Scale(float(np.exp(1.0 + 1.5 * a)), float(np.sqrt(d) * np.exp(0.7 * b)), float(np.exp(2.0 + 2.0 * c)), d)


__all__ = ["scales", "starting_points"]
