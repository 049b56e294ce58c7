"""The latent function over one feature."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from bayesvm.plots._display import COLOURS, Display, feature_names, final_estimator, need, new_axes
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass
class LatentFunctionDisplay(Display):
    """Latent mean with error bars over one feature (Chu2003 Figure 2).

    Parameters
    ----------
    x, mean, std : arrays, shape (k,)
        The curve, with one standard deviation.
    lower, upper : arrays, shape (k,), or None
        Interval of a new observation, for regression.
    points : array, shape (n, 2)
        Training points: feature, and target (or label as -1 and 1).
    name : str
        Name of the feature.
    is_regression : bool
        Whether the points are targets.
    """

    x: Vector
    mean: Vector
    std: Vector
    lower: Vector | None
    upper: Vector | None
    points: Matrix
    name: str
    is_regression: bool

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature: int = 0,
        confidence: float = 0.95,
        grid: int = 200,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted estimator with its training points.

        Parameters
        ----------
        estimator : fitted estimator
            With ``predict_latent``; two classes or one output.
        X, y : arrays
            The training data.
        feature : int
            Which feature to draw; all others are kept at their median.
        confidence : float
            Probability of the interval of a new observation (regression).
        grid : int
            Points of the curve.
        ax : matplotlib axes, optional
            Where to draw.
        """
        inner = final_estimator(estimator)
        need(estimator, cls.__name__, "predict_latent")
        points, targets = np.asarray(X, dtype=float), np.asarray(y)
        x = np.linspace(points[:, feature].min(), points[:, feature].max(), grid)
        x = x + 0.06 * (x[-1] - x[0]) * np.linspace(-1.0, 1.0, grid)
        rows = np.tile(np.median(points, axis=0), (grid, 1))
        rows[:, feature] = x
        given = type(X)(rows, columns=list(X.columns)) if hasattr(X, "columns") else rows
        mean, std = estimator.predict_latent(given)
        if np.ndim(mean) != 1:
            raise ValueError(f"{cls.__name__}: expected one latent function, found {np.shape(mean)[1]}")
        is_regression = not hasattr(inner, "classes_")
        values = targets if is_regression else 2.0 * (targets == inner.classes_[-1]) - 1.0
        lower = upper = None
        if hasattr(inner, "predict_interval"):
            lower, upper = estimator.predict_interval(given, confidence)
        name = feature_names(inner, points.shape[1])[feature]
        pairs = np.column_stack([points[:, feature], values])
        return cls(x, mean, std, lower, upper, pairs, name, is_regression).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        if self.lower is not None:
            ax.fill_between(self.x, self.lower, self.upper, color="0.88", label="interval of a new observation")
        ax.fill_between(
            self.x,
            self.mean - 2 * self.std,
            self.mean + 2 * self.std,
            color=COLOURS[3],
            alpha=0.55,
            label="two standard deviations",
        )
        ax.plot(self.x, self.mean, color=COLOURS[0], linewidth=2, label="latent mean")
        ax.plot(*self.points.T, linestyle="none", marker="x", color="black", markersize=4, label="training data")
        if not self.is_regression:
            for level in (-1.0, 0.0, 1.0):
                ax.axhline(level, color="black", linewidth=0.7, linestyle="-" if level == 0.0 else "--")
        ax.set(xlabel=self.name, ylabel="target" if self.is_regression else "latent function", title="Latent function")
        ax.legend(fontsize=8, loc="best")
        return self._drawn(ax)


__all__ = ["LatentFunctionDisplay"]
