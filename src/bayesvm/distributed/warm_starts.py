"""Warm starts that stay with the workers.

An evaluation may begin where an earlier one ended. The latent values are as many as the rows, so they never travel: each worker
keeps those of its own blocks for the last few evaluations, under the number of the evaluation, and a climb passes that number
instead of the values. What is not found (a worker was lost, or a block moved) costs a cold start and changes no result
beyond the solver's tolerance.
"""

from __future__ import annotations

import collections
from abc import ABC, abstractmethod

from bayesvm.typing import Vector

#: Evaluations per block whose latent values are kept: the best point of each of several climbs, and trials.
KEPT = 24

Shelf = dict[int, "collections.OrderedDict[str, Vector]"]


class LatentStore(ABC):
    """Latent values by block and evaluation."""

    @abstractmethod
    def _shelf(self) -> Shelf:
        """Return what this process keeps."""

    def get(self, block: int, evaluation: str | None) -> Vector | None:
        """Return the latent values of a block at an evaluation, None if they are not here."""
        return None if evaluation is None else self._shelf().get(block, {}).get(evaluation)

    def put(self, block: int, evaluation: str, latent: Vector) -> None:
        """Keep the latent values of a block, and forget the oldest."""
        kept = self._shelf().setdefault(block, collections.OrderedDict())
        kept[evaluation] = latent
        while len(kept) > KEPT:
            kept.popitem(last=False)


class LocalLatents(LatentStore):
    """In this process."""

    def __init__(self) -> None:
        self._kept: Shelf = {}

    def _shelf(self) -> Shelf:
        return self._kept


class WorkerLatents(LatentStore):
    """On the Dask worker that runs the task; an object of this class is a name, and pickles as such.

    Parameters
    ----------
    run : str
        Name of the fit.
    """

    def __init__(self, run: str) -> None:
        self._run = run

    def _shelf(self) -> Shelf:
        from distributed import get_worker

        shelves = vars(get_worker()).setdefault("bayesvm_latents", collections.OrderedDict())
        shelf: Shelf = shelves.setdefault(self._run, {})
        while len(shelves) > 2:  # fits that ended
            shelves.popitem(last=False)
        return shelf


__all__ = ["LatentStore", "LocalLatents", "WorkerLatents"]
