r"""Where to begin: starts that fit data whose inputs are standardised.

The papers begin at :math:`\kappa = 1/d`, :math:`\kappa_b = 100` and :math:`\kappa_0 \in \{0.1, 1, 10, 100\}` (Chu2003
section 5); the first starts are these, in the order in which they succeed most often, mixed with starts at the scale of
the data: length scales of about the root mean square distance between rows, which is the same for weighted and for
repeated rows. Starts beyond the list are drawn around them.

For regression the targets are standardised too. The thesis begins at :math:`\kappa = 0.5`, :math:`\kappa_b = 100`, C =
1, :math:`\epsilon = 0.05`, and advises further starts such as C = 10 or :math:`\kappa = 1/d` (Thesis section 4.5); the
list here varies the length scale about :math:`\sqrt d` and the share of the noise in the targets, from which C and
:math:`\epsilon` follow.
"""

from __future__ import annotations

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.likelihoods.base import Regression
from bayesvm.typing import Vector

#: A column that varies by less than this, relative to the one that varies most, is constant up to rounding.
CONSTANT = 1e-9


def n_varying(X: Inputs) -> int:
    """Return the number of columns that vary (all, if the rows are not at hand): constant ones change no start."""
    if len(X) == 0 or X.is_sparse:
        return X.n_features
    spread = np.ptp(X.X, axis=0)
    return max(1, int(np.count_nonzero(spread > CONSTANT * np.max(spread, initial=0.0))))


def scales(X: Inputs, distance: float) -> list[Scale]:
    """Return the deterministic starts for inputs with a typical ``distance`` between rows."""
    d = n_varying(X)
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
        starts.append(kernel.at_scale(_drawn(rng, n_varying(X))).theta)
    return starts[:n_starts]


def _drawn(rng: np.random.Generator, d: int) -> Scale:
    """Return a scale drawn around the deterministic ones."""
    a, b, c = rng.normal(size=3)
    return Scale(float(np.exp(1.0 + 1.5 * a)), float(np.sqrt(d) * np.exp(0.7 * b)), float(np.exp(2.0 + 2.0 * c)), d)


def regression_scales(X: Inputs, spread: float) -> list[tuple[Scale, float]]:
    """Return the deterministic starts, each with the noise's deviation, for targets of the deviation ``spread``."""
    d = n_varying(X)
    root, variance = float(np.sqrt(d)), spread**2
    table = [
        (1.0, root, 1.0, 0.5),
        (1.0, 0.3 * root, 1.0, 0.3),
        (1.0, 2.5 * root, 1.0, 0.3),
        (1.0, float(np.sqrt(2.0)), 100.0, 0.7),
        (1.0, 0.1 * root, 1.0, 0.5),
        (10.0, 3.0 * root, 1.0, 0.1),
    ]
    return [(Scale(v * variance, scale, c * variance, d), noise * spread) for v, scale, c, noise in table]


def regression_starting_points(
    kernel: Kernel, likelihood: Regression, X: Inputs, n_starts: int, rng: np.random.Generator, *, spread: float = 1.0
) -> list[Vector]:
    """Return ``n_starts`` values of theta of kernel and likelihood.

    Parameters
    ----------
    kernel : Kernel
        Bound to the data.
    likelihood : Regression
        Its noise is brought to several standard deviations; the shape of its density stays as given.
    X : Inputs
        Standardised inputs.
    n_starts : int
        How many.
    rng : numpy Generator
        For the starts beyond the deterministic ones.
    spread : float
        Standard deviation of the targets.
    """
    pairs, d = regression_scales(X, spread), n_varying(X)
    while len(pairs) < n_starts:
        a, b, c, e = rng.normal(size=4)
        scale = Scale(
            float(np.exp(a)) * spread**2, float(np.sqrt(d) * np.exp(b)), float(np.exp(2.0 * c)) * spread**2, d
        )
        pairs.append((scale, float(spread * min(1.0, 0.2 * np.exp(e)))))
    unit = likelihood.rescaled(1.0 / float(np.sqrt(likelihood.noise_variance)))
    return [
        np.concatenate([kernel.at_scale(scale).theta, unit.rescaled(noise).theta]) for scale, noise in pairs[:n_starts]
    ]


__all__ = ["n_varying", "regression_starting_points", "scales", "starting_points"]
