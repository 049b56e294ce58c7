"""Calibration of probabilities."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
from scipy.stats import beta

from bayesvm.plots._display import COLOURS, Display, final_estimator, need, new_axes
from bayesvm.typing import Indices, Vector


@dataclasses.dataclass(frozen=True)
class ReliabilityBins:
    """Bins of predicted probabilities that are not empty.

    Attributes
    ----------
    predicted, observed : arrays, shape (k,)
        Mean probability and frequency.
    counts : array of int, shape (k,)
        Predictions in it.
    lower, upper : arrays, shape (k,)
        Interval of the frequency (Jeffreys, 95 %).
    """

    predicted: Vector
    observed: Vector
    counts: Indices
    lower: Vector
    upper: Vector


def reliability_bins(outcome: Any, probability: Any, n_bins: int) -> ReliabilityBins:
    """Return observed frequencies in equal bins of the predicted probability."""
    outcome, probability = np.asarray(outcome, dtype=float), np.asarray(probability, dtype=float)
    if outcome.shape != probability.shape or outcome.ndim != 1 or outcome.size == 0:
        raise ValueError(
            f"from_predictions: expected outcomes and probabilities of one length, found shapes {outcome.shape} "
            f"and {probability.shape}"
        )
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    used = counts > 0
    hits = np.bincount(bins, weights=outcome, minlength=n_bins)[used]
    sums = np.bincount(bins, weights=probability, minlength=n_bins)[used]
    n = counts[used]
    lower, upper = (np.asarray(beta.ppf(q, hits + 0.5, n - hits + 0.5)) for q in (0.025, 0.975))
    return ReliabilityBins(sums / n, hits / n, n, lower, upper)


@dataclasses.dataclass
class ReliabilityDisplay(Display):
    """Observed frequency against predicted probability, with intervals, above the number of predictions.

    Parameters
    ----------
    predicted, observed : arrays, shape (k,)
        Mean probability and frequency of each bin that is not empty.
    counts : array of int, shape (k,)
        Predictions in it.
    lower, upper : arrays, shape (k,)
        Interval of the frequency (Jeffreys, 95 %).
    label : str
        What the probability is of.
    """

    predicted: Vector
    observed: Vector
    counts: Indices
    lower: Vector
    upper: Vector
    label: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, positive: Any = None, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw the calibration of a fitted classifier on test data.

        Parameters
        ----------
        estimator : fitted classifier
            With ``predict_proba``.
        X, y : arrays
            Test data.
        positive : class label, optional
            Class whose probability is judged; the last one of two. With more classes and None, that of the predicted
            class.
        n_bins : int
            Number of bins.
        ax : matplotlib axes, optional
            Where to draw.
        """
        need(final_estimator(estimator), cls.__name__, "predict_proba", "classes_")
        proba, classes, y = estimator.predict_proba(X), final_estimator(estimator).classes_, np.asarray(y)
        if positive is None and len(classes) > 2:
            top = proba.argmax(axis=1)
            return cls.from_predictions(
                classes[top] == y, proba.max(axis=1), n_bins=n_bins, label="the predicted class", ax=ax
            )
        k = len(classes) - 1 if positive is None else int(np.flatnonzero(classes == positive)[0])
        return cls.from_predictions(y == classes[k], proba[:, k], n_bins=n_bins, label=str(classes[k]), ax=ax)

    @classmethod
    def from_predictions(
        cls, outcome: Any, probability: Any, *, n_bins: int = 10, label: str = "the class", ax: Any = None
    ) -> Self:
        """Draw the calibration of given probabilities of an outcome that is true or false."""
        found = reliability_bins(outcome, probability, n_bins)
        return cls(found.predicted, found.observed, found.counts, found.lower, found.upper, label).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax, figsize=(5.2, 4.8))
        ax.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1, label="perfect")
        bars = np.abs(np.vstack([self.lower, self.upper]) - self.observed)
        ax.errorbar(
            self.predicted,
            self.observed,
            yerr=bars,
            fmt="o-",
            color=COLOURS[0],
            capsize=3,
            label="observed, 95 % interval",
        )
        counts = ax.inset_axes([0.0, 0.0, 1.0, 0.16], sharex=ax)
        counts.bar(self.predicted, self.counts, width=0.05, color="0.6", edgecolor="black", linewidth=0.5)
        counts.axis("off")
        ax.set(
            xlim=(0, 1),
            ylim=(-0.02, 1.02),
            xlabel=f"predicted probability of {self.label}",
            ylabel="observed frequency",
        )
        ax.set_title("Reliability (bars: number of predictions)")
        ax.legend(fontsize=8, loc="upper left")
        return self._drawn(ax)


__all__ = ["ReliabilityBins", "ReliabilityDisplay", "reliability_bins"]
