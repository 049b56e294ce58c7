"""Relevance of the features."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from bayesvm.plots._display import COLOURS, Display, final_estimator, need, new_axes


@dataclasses.dataclass
class RelevanceDisplay(Display):
    """Bars of the relevances of the features, largest first.

    Parameters
    ----------
    relevance : mapping
        Relevance by name.
    """

    relevance: Mapping[str, float]

    @classmethod
    def from_estimator(cls, estimator: Any, *, largest: int = 20, ax: Any = None) -> Self:
        """Draw the relevances of an estimator that was fitted with ``ard=True``.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            With ``named_relevance_``.
        largest : int
            How many features to draw.
        ax : matplotlib axes, optional
            Where to draw.
        """
        inner = final_estimator(estimator)
        need(inner, cls.__name__, "named_relevance_")
        if inner.named_relevance_ is None:
            raise ValueError(f"{cls.__name__}: expected one relevance per feature; fit the estimator with ard=True")
        return cls(dict(list(inner.named_relevance_.items())[:largest])).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax, figsize=(6.4, 1.2 + 0.3 * len(self.relevance)))
        names, values = list(self.relevance), np.fromiter(self.relevance.values(), dtype=float)
        places = np.arange(len(names))[::-1]
        ax.barh(places, values, color=COLOURS[0], edgecolor="black", linewidth=0.6)
        ax.set_yticks(places, names)
        ax.set(
            xlabel="relevance (inverse squared length scale of the standardised feature)", title="Relevance of features"
        )
        return self._drawn(ax)


__all__ = ["RelevanceDisplay"]
