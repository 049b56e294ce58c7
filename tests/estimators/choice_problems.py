"""Generated data with a known answer, for the tests of what is chosen."""

from __future__ import annotations

import numpy as np


def irrelevant_features(n=120, d=8, seed=0):
    """Return labels that depend on two of d features, in a way that is not linear."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 - 0.7 > 0.3 * rng.normal(size=n), 1, -1)


def linear_labels(n=100, d=5, seed=0):
    """Return labels by a linear rule in which all features count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ np.array([1.0, -1.0, 0.8, 0.6, -0.7]) > 0.3 * rng.normal(size=n), "a", "b")


def pixels(n=120, d=30, seed=0):
    """Return two classes apart in a few strong features, beside many weak ones that hold nothing but noise."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    scale = np.where(np.arange(d) < 4, 30.0, 0.2)
    X = scale * rng.normal(size=(n, d))
    X[:, :4] += 20.0 * y[:, None]
    return X, y


def curve(n=80, d=1, seed=0, noise=0.15):
    """Return a smooth function of the first feature with Gaussian noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, d))
    return X, np.sin(1.5 * X[:, 0]) + noise * rng.normal(size=n)


def curve_with_outliers(n=80, seed=0):
    """Return the same with one target in ten far off."""
    X, y = curve(n, seed=seed)
    rng = np.random.default_rng(seed + 1)
    y[::10] += rng.choice([-4.0, 4.0], size=y[::10].size)
    return X, y
