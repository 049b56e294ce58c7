"""Probability surface of a classifier with two features."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from bayesvm.plots._display import (
    DASHES,
    FACES,
    MARKERS,
    SURFACE,
    Display,
    feature_names,
    final_estimator,
    legend_below,
    need,
    new_axes,
)
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass
class DecisionSurfaceDisplay(Display):
    """Class probabilities over two features, with contours, margins and support vectors.

    Parameters
    ----------
    first, second : arrays, shape (k,), (l,)
        Values of the two features.
    proba : array, shape (l, k, n_classes)
        Class probabilities.
    latent : array, shape (l, k), or None
        Latent mean, two classes only: its levels -1 and 1 are the margins.
    X, y : arrays
        Points to draw, and their classes as numbers.
    support : array of int
        Which of them are support vectors.
    classes, names : sequences of str
        Names of classes and features.
    others : int
        Features that are not drawn, and kept at their median.
    """

    first: Vector
    second: Vector
    proba: Matrix
    latent: Matrix | None
    X: Matrix
    y: Indices
    support: Indices
    classes: tuple[str, ...]
    names: tuple[str, str]
    others: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, features: tuple[int, int] = (0, 1), grid: int = 120, ax: Any = None
    ) -> Self:
        """Draw a fitted classifier with its training points.

        Parameters
        ----------
        estimator : fitted classifier
            With ``predict_proba``.
        X, y : arrays
            The training data.
        features : pair of int
            Which features to draw; all others are kept at their median.
        grid : int
            Points per side.
        ax : matplotlib axes, optional
            Where to draw.
        """
        inner = final_estimator(estimator)
        need(inner, cls.__name__, "predict_proba", "classes_")
        points = np.asarray(X, dtype=float)
        a, b = features
        low, high = points.min(axis=0), points.max(axis=0)
        pad = 0.08 * np.where(high > low, high - low, 1.0)
        sides = [np.linspace(low[k] - pad[k], high[k] + pad[k], grid) for k in (a, b)]
        rows = np.tile(np.median(points, axis=0), (grid * grid, 1))
        rows[:, a], rows[:, b] = (part.ravel() for part in np.meshgrid(*sides))
        given = type(X)(rows, columns=list(X.columns)) if hasattr(X, "columns") else rows
        proba = np.asarray(estimator.predict_proba(given)).reshape(grid, grid, -1)
        latent = None
        if proba.shape[2] == 2 and hasattr(estimator, "predict_latent"):
            latent = np.asarray(estimator.predict_latent(given, return_std=False)).reshape(grid, grid)
        names = feature_names(inner, points.shape[1])
        return cls(
            sides[0],
            sides[1],
            proba,
            latent,
            points[:, [a, b]],
            np.searchsorted(inner.classes_, np.asarray(y)),
            np.asarray(getattr(inner, "support_", np.empty(0, dtype=int))),
            tuple(str(name) for name in inner.classes_),
            (names[a], names[b]),
            points.shape[1] - 2,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        if len(self.classes) == 2:
            surface, title = self.proba[:, :, 1], f"Probability of {self.classes[1]}"
            lowest = 0
        else:
            surface, title = self.proba.max(axis=2), "Probability of the most probable class"
            lowest = 10 // len(self.classes)
        tenths = np.arange(lowest, 11) / 10.0
        filled = ax.contourf(self.first, self.second, surface, levels=tenths, cmap=SURFACE, alpha=0.9)
        ax.figure.colorbar(filled, ax=ax, ticks=tenths)
        if self.others:
            kept = f"{self.others} other features" if self.others > 1 else "the other feature"
            title += f"\n(a slice: {kept} at the median)"
        self._lines(ax)
        for k, name in enumerate(self.classes):
            own = self.X[self.y == k]
            face = FACES[k % len(FACES)]
            ax.scatter(
                *own.T, s=20, marker=MARKERS[k % len(MARKERS)], c=face, edgecolors="black", linewidths=0.6, label=name
            )
        if 0 < self.support.size < len(self.X):
            chosen = self.X[self.support]
            ax.scatter(*chosen.T, s=62, facecolors="none", edgecolors="black", linewidths=0.8, label="support vectors")
        ax.set(xlabel=self.names[0], ylabel=self.names[1], title=title)
        legend_below(ax)
        return self._drawn(ax)

    def _lines(self, ax: Any) -> None:
        if len(self.classes) == 2:
            lines = ax.contour(
                self.first,
                self.second,
                self.proba[:, :, 1],
                levels=[0.1, 0.5, 0.9],
                colors="black",
                linewidths=[0.8, 2, 0.8],
            )
            ax.clabel(lines, fmt="%.1f", fontsize=8)
            if self.latent is not None:
                style = {"colors": "white", "linewidths": 1, "linestyles": "--"}
                ax.contour(self.first, self.second, self.latent, levels=[-1, 1], **style)
                # white lines are seen on the surface, not on paper: the legend has them in grey
                ax.plot([], [], color="0.5", linewidth=1, linestyle="--", label="margins")
            return
        winner = self.proba.argmax(axis=2)
        for k in range(len(self.classes)):
            style = {"colors": "black", "linewidths": 1.0, "linestyles": [DASHES[k % len(DASHES)]]}
            ax.contour(self.first, self.second, (winner == k).astype(float), levels=[0.5], **style)


__all__ = ["DecisionSurfaceDisplay"]
