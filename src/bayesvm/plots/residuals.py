"""Residuals of a regressor with its intervals."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from bayesvm.plots._display import COLOURS, Display, final_estimator, legend_below, need, new_axes
from bayesvm.typing import Vector


@dataclasses.dataclass
class ResidualsDisplay(Display):
    """Residuals against predictions, with the interval of each.

    Parameters
    ----------
    predicted, residual : arrays, shape (n,)
        Predictions, and targets minus predictions.
    below, above : arrays, shape (n,)
        How far the interval reaches below and above the prediction.
    confidence : float
        Probability of the intervals.
    """

    predicted: Vector
    residual: Vector
    below: Vector
    above: Vector
    confidence: float

    @property
    def coverage(self) -> float:
        """Share of the targets that lie in their interval."""
        return float(np.mean((self.residual >= -self.below) & (self.residual <= self.above)))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, confidence: float = 0.95, ax: Any = None) -> Self:
        """Draw the residuals of a fitted regressor on given data.

        Parameters
        ----------
        estimator : fitted regressor
            With ``predict_interval``; one output.
        X, y : arrays
            Data, best not those of training.
        confidence : float
            Probability of the intervals.
        ax : matplotlib axes, optional
            Where to draw.
        """
        need(final_estimator(estimator), cls.__name__, "predict_interval")
        inputs = X if estimator is final_estimator(estimator) else estimator[:-1].transform(X)
        lower, upper = final_estimator(estimator).predict_interval(inputs, confidence)
        return cls.from_predictions(y, estimator.predict(X), lower, upper, confidence=confidence, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, lower: Any, upper: Any, *, confidence: float = 0.95, ax: Any = None
    ) -> Self:
        """Draw the residuals of given predictions and intervals."""
        y, predicted, lower, upper = (np.asarray(a, dtype=float) for a in (y, predicted, lower, upper))
        if not (y.shape == predicted.shape == lower.shape == upper.shape) or y.ndim != 1:
            raise ValueError(
                f"from_predictions: expected vectors of one length, found shapes {y.shape}, {predicted.shape}"
            )
        return cls(predicted, y - predicted, predicted - lower, upper - predicted, confidence).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        order = np.argsort(self.predicted, kind="stable")
        x = self.predicted[order]
        ax.vlines(
            x, -self.below[order], self.above[order], color="0.8", linewidth=2, label=f"{self.confidence:.0%} interval"
        )
        inside = (self.residual >= -self.below) & (self.residual <= self.above)
        for rows, marker, colour, label in (
            (inside, "o", COLOURS[0], "inside"),
            (~inside, "X", COLOURS[6], "outside"),
        ):
            ax.plot(
                self.predicted[rows],
                self.residual[rows],
                linestyle="none",
                marker=marker,
                color=colour,
                markersize=4,
                label=label,
            )
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set(xlabel="prediction", ylabel="target minus prediction", title=f"Residuals ({self.coverage:.0%} inside)")
        legend_below(ax)
        return self._drawn(ax)


__all__ = ["ResidualsDisplay"]
