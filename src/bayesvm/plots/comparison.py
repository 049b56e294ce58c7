"""Models side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bayesvm.plots._display import COLOURS, MARKERS, Display, new_axes


@dataclasses.dataclass
class ComparisonDisplay(Display):
    """One panel per measure, one row per model, with standard errors.

    Parameters
    ----------
    models : sequence of str
        Names, from top to bottom.
    measures : mapping
        Per measure one value per model, or a pair (value, standard error).
    """

    models: Sequence[str]
    measures: Mapping[str, Sequence[Any]]

    @classmethod
    def from_table(cls, models: Sequence[str], measures: Mapping[str, Sequence[Any]], *, ax: Any = None) -> Self:
        """Draw a table of results.

        Parameters
        ----------
        models : sequence of str
            Names.
        measures : mapping
            Per measure one entry per model: a number, a pair (number, standard error), or None where there is none.
        ax : array of matplotlib axes, one per measure, optional
            Where to draw.
        """
        for name, column in measures.items():
            if len(column) != len(models):
                raise ValueError(f"{name}: expected {len(models)} values, one per model, found {len(column)}")
        if not measures or not models:
            raise ValueError("from_table: expected at least one model and one measure")
        return cls(models, measures).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        size = (3.4 * len(self.measures) + 1.2, 1.3 + 0.36 * len(self.models))
        ax = new_axes(ax, len(self.measures), figsize=size, sharey=True)
        places = np.arange(len(self.models))[::-1]
        for one, (name, column) in zip(np.ravel(ax), self.measures.items(), strict=True):
            for i, entry in enumerate(column):
                if entry is None:
                    continue
                value, error = entry if isinstance(entry, tuple | list) else (entry, None)
                one.errorbar(
                    [value],
                    [places[i]],
                    xerr=None if error is None else [error],
                    marker=MARKERS[i % len(MARKERS)],
                    color=COLOURS[i % len(COLOURS)],
                    capsize=4,
                    markersize=8,
                )
            one.set_yticks(places, self.models)
            one.set_ylim(-0.7, len(self.models) - 0.3)
            one.set_xlabel(name)
            one.grid(axis="x", alpha=0.4)
        return self._drawn(ax)


__all__ = ["ComparisonDisplay"]
