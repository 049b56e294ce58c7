r"""Two-class data made by known laws. Every generator also returns the true :math:`P(y = 1 | x)`.

The error of the best possible classifier is then ``bayes_error(p)``, an estimate without test labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr

from bayesvm.typing import Indices, Matrix, Vector

#: What a generator returns: inputs, labels -1 and +1, and the probability of +1.
Draw = tuple[Matrix, Indices, Vector]


def bayes_error(p: Vector) -> float:
    r"""Return :math:`E \min(p, 1 - p)`, the error of the best classifier, estimated on the drawn inputs."""
    p = np.asarray(p, dtype=float)
    return float(np.mean(np.minimum(p, 1.0 - p)))


def make_twonorm(n: int = 400, *, d: int = 20, random_state: Any = None) -> Draw:
    r"""Return Breiman's twonorm: unit Gaussians around :math:`\pm (a, \dots, a)`, :math:`a = 2/\sqrt d`.

    :math:`P(y=1|x)` is the logistic function of :math:`2 a \sum_l x_l`; the Bayes error is
    :math:`\Phi(-2)`, 2.275 per cent.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of inputs.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : array, shape (n, d)
    y : array of int, shape (n,)
        Labels -1 and +1.
    p : array, shape (n,)
        True probability of +1.
    """
    rng = np.random.default_rng(random_state)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    a = 2.0 / np.sqrt(d)
    X = rng.normal(size=(n, d)) + a * y[:, None]
    return X, y, expit(2.0 * a * X.sum(axis=1))


def make_ringnorm(n: int = 400, *, d: int = 20, random_state: Any = None) -> Draw:
    r"""Return Breiman's ringnorm: :math:`\mathcal N(0, 4 I)` for +1 against :math:`\mathcal N(a 1, I)` for -1.

    Here :math:`a = 2/\sqrt d`. The Bayes error in 20 dimensions is about 1.2 per cent. Parameters and results as in
    :func:`make_twonorm`.
    """
    rng = np.random.default_rng(random_state)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    a = 2.0 / np.sqrt(d)
    narrow = rng.normal(size=(n, d)) + a
    X = np.where(y[:, None] > 0, 2.0 * rng.normal(size=(n, d)), narrow)
    odds = -0.125 * np.sum(X**2, axis=1) - d * np.log(2.0) + 0.5 * np.sum((X - a) ** 2, axis=1)
    return X, y, expit(odds)


#: Breiman's triangles, of height 6 around the points 11, 15 and 7 of 21, and the two that each class mixes.
TRIANGLES = np.maximum(6.0 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0.0)
WAVEFORM_CLASSES = ((0, 1), (0, 2), (1, 2))


def make_waveform(n: int = 400, *, classes: tuple[int, int] = (0, 1), random_state: Any = None) -> Draw:
    r"""Return two of Breiman's three classes of waveforms in 21 inputs.

    :math:`x = u h_a + (1-u) h_b` plus unit Gaussian noise, u uniform on [0, 1]; the classes 0, 1, 2 mix the first
    triangle with the second, the first with the third, the second with the third. The integral over u gives
    :math:`P(y=1|x)` in closed form. The Bayes error is about 4.8 per cent for classes 0 and 1, and 7.6 for 1 and 2.

    Parameters
    ----------
    n : int
        Number of rows.
    classes : pair of int
        The class that is labelled +1, and the one that is labelled -1.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X, y, p : arrays
        As in :func:`make_twonorm`.
    """
    if len(classes) != 2 or classes[0] == classes[1] or not set(classes) <= {0, 1, 2}:
        raise ValueError(f"make_waveform: expected two different classes of 0, 1, 2, found {classes!r}")
    rng = np.random.default_rng(random_state)
    (a, b), (c, d) = (TRIANGLES[list(WAVEFORM_CLASSES[k])] for k in classes)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    u = rng.random((n, 1))
    first, second = (np.where(y[:, None] > 0, *pair) for pair in ((a, c), (b, d)))
    X = u * first + (1.0 - u) * second + rng.normal(size=(n, 21))
    return X, y, expit(_log_segment(X, b, a) - _log_segment(X, d, c))


def _log_segment(X: Matrix, start: Vector, end: Vector) -> Vector:
    r"""Return :math:`\ln \int_0^1 e^{-|x - (1-u) s - u e|^2/2} du - \tfrac12 \ln 2\pi`."""
    g, r = end - start, X - start
    length = float(np.sqrt(g @ g))
    b = r @ g / length
    # ln(Phi(length - b) - Phi(-b)) by the tail in which the interval lies, where the two are told apart
    near = np.where(b > 0.5 * length, length - b, b)
    high, low = log_ndtr(near), log_ndtr(near - length)
    across = np.sum(r**2, axis=1) - b**2
    return np.asarray(-0.5 * across + high + np.log1p(-np.exp(low - high)) - np.log(length))


def make_simulated_1d(n: int = 100, *, outlier: bool = False, random_state: Any = None) -> Draw:
    r"""Return the one-dimensional set of Chu2003 section 5.1.

    :math:`\mathcal N(-2, 1)` for +1, :math:`\mathcal N(2, 1)` for -1. Half of the rows are of either class. With
    ``outlier``, one more row of class -1 at -2. The Bayes error is :math:`\Phi(-2)`.

    Parameters
    ----------
    n : int
        Number of rows, without the outlier.
    outlier : bool
        Whether to append the outlier.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X, y, p : arrays
        As in :func:`make_twonorm`.
    """
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) < n // 2, 1, -1)
    X = rng.normal(size=(n, 1)) - 2.0 * y[:, None]
    if outlier:
        X, y = np.vstack([X, [[-2.0]]]), np.append(y, -1)
    return X, y, expit(-4.0 * X[:, 0])


def make_simulated_2d(n: int = 1000, *, random_state: Any = None) -> Draw:
    r"""Return the two-dimensional set of Chu2003 section 5.2.

    :math:`\mathcal N((-2, 0), \mathrm{diag}(1, 2))` for +1 and :math:`\mathcal N((2, 0), \mathrm{diag}(2, 1))` for -1,
    half of the rows each; the diagonals are variances. The Bayes error is about 4.7 per cent. Parameters and results as
    in :func:`make_twonorm`.
    """
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) < n // 2, 1, -1)
    variance = np.where(y[:, None] > 0, [1.0, 2.0], [2.0, 1.0])
    X = np.sqrt(variance) * rng.normal(size=(n, 2))
    X[:, 0] -= 2.0 * y
    return X, y, expit(simulated_2d_odds(X))


def simulated_2d_odds(X: Matrix) -> Vector:
    """Return the true log odds of +1 in the two-dimensional set of Chu2003."""
    x1, x2 = X[:, 0], X[:, 1]
    return np.asarray(-0.5 * ((x1 + 2.0) ** 2 + 0.5 * x2**2) + 0.5 * (0.5 * (x1 - 2.0) ** 2 + x2**2))


#: Centres of the two bumps of class -1, then of class +1, and their common variance.
RIPLEY_CENTRES = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
RIPLEY_VARIANCE = 0.03


def make_ripley(n: int = 250, *, random_state: Any = None) -> Draw:
    r"""Return Ripley's mixture: each class is two equal Gaussians in the plane with variance 0.03.

    The Bayes error is about 8.9 per cent (8.0 on Ripley's own test rows). Parameters and results as in
    :func:`make_twonorm`.
    """
    rng = np.random.default_rng(random_state)
    y, bump = rng.integers(2, size=n), rng.integers(2, size=n)
    X = RIPLEY_CENTRES[y, bump] + np.sqrt(RIPLEY_VARIANCE) * rng.normal(size=(n, 2))
    exponents = -np.sum((X[:, None, None, :] - RIPLEY_CENTRES) ** 2, axis=-1) / (2.0 * RIPLEY_VARIANCE)
    density = np.logaddexp(exponents[..., 0], exponents[..., 1])
    return X, 2 * y - 1, expit(density[:, 1] - density[:, 0])


def make_checkerboard(n: int = 400, *, cells: int = 4, flip: float = 0.0, random_state: Any = None) -> Draw:
    """Return a checkerboard on the unit square; labels are flipped with a given probability, the Bayes error.

    Parameters
    ----------
    n : int
        Number of rows.
    cells : int
        Squares along each side.
    flip : float
        Probability of a flipped label, at most a half.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X, y, p : arrays
        As in :func:`make_twonorm`.
    """
    if not 0.0 <= flip <= 0.5:
        raise ValueError(f"make_checkerboard: expected flip from 0 to 0.5, found {flip!r}")
    rng = np.random.default_rng(random_state)
    X = rng.random((n, 2))
    dark = np.floor(cells * X).sum(axis=1) % 2 == 0
    y = np.where(dark ^ (rng.random(n) < flip), 1, -1)
    return X, y, np.where(dark, 1.0 - flip, flip)


__all__ = [
    "bayes_error",
    "make_checkerboard",
    "make_ringnorm",
    "make_ripley",
    "make_simulated_1d",
    "make_simulated_2d",
    "make_twonorm",
    "make_waveform",
    "simulated_2d_odds",
]
