"""Warm starts that stay with the workers.

An evaluation may begin where an earlier one ended. The latent values are as many as the rows, so they never travel:
each worker keeps those of its own blocks for the last few evaluations, under the name of the evaluation, and a search
passes that name instead of the values. What is not found (a worker was lost, or a block moved) costs a cold start and
changes no result beyond the solver's tolerance.
"""

from __future__ import annotations

import collections
from abc import ABC, abstractmethod

from bayesvm.typing import Vector

#: Evaluations per block whose latent values are kept: the best point of each of several starts, and trials.
KEPT = 24

#: Latent values by block and evaluation.
Kept = dict[int, "collections.OrderedDict[str, Vector]"]


class LatentStore(ABC):
    """Latent values by block and evaluation."""

    @abstractmethod
    def _values(self) -> Kept:
        """Return what this process keeps."""

    def get(self, block: int, evaluation: str | None) -> Vector | None:
        """Return the latent values of a block at an evaluation, None if they are not here."""
        kept = None if evaluation is None else self._values().get(block)
        return None if kept is None or evaluation is None else kept.get(evaluation)

    def put(self, block: int, evaluation: str, latent: Vector) -> None:
        """Keep the latent values of a block, and forget the oldest."""
        kept = self._values().setdefault(block, collections.OrderedDict())
        kept[evaluation] = latent
        while len(kept) > KEPT:
            kept.popitem(last=False)


class LocalLatents(LatentStore):
    """In this process."""

    def __init__(self) -> None:
        self._here: Kept = {}

    def _values(self) -> Kept:
        return self._here


class WorkerLatents(LatentStore):
    """On the Dask worker that runs the task; an object of this class is a name, and pickles as such.

    Parameters
    ----------
    fit : str
        Name of the fit.
    """

    def __init__(self, fit: str) -> None:
        self._fit = fit

    def _values(self) -> Kept:
        from distributed import get_worker

        fits = vars(get_worker()).setdefault("bayesvm_latents", collections.OrderedDict())
        kept: Kept = fits.setdefault(self._fit, {})
        while len(fits) > 2:  # fits that ended
            fits.popitem(last=False)
        return kept


__all__ = ["LatentStore", "LocalLatents", "WorkerLatents"]
