"""A progress bar of the working-set solver (extra ``progress``): decades of the gap that are done."""

from __future__ import annotations

import math
import threading
from contextlib import AbstractContextManager

from bayesvm.hyper.progress import terminal_bar
from bayesvm.solvers.working_set import WorkingSetProgress


class GapBar(AbstractContextManager["GapBar"]):
    """Shows how far the gaps of one or several runs have come down; use it in a ``with`` statement.

    Parameters
    ----------
    title : str
        What is being fitted.
    runs : int
        Number of runs.
    """

    def __init__(self, title: str, runs: int) -> None:
        self._bar = terminal_bar(title, total=100 * runs, unit="%")
        self._first: dict[int, float] = {}
        self._done: dict[int, float] = {}
        self._lock = threading.Lock()

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, problem: int, tick: WorkingSetProgress, *, done: bool) -> None:
        """Show where a run is."""
        with self._lock:
            gap = max(tick.gap, tick.tol)
            first = self._first.setdefault(problem, max(gap, 2.0 * tick.tol))
            share = 100.0 if done else 100.0 * math.log(max(first / gap, 1.0)) / math.log(first / tick.tol)
            share = max(share, self._done.get(problem, 0.0))
            self._bar.set_postfix_str(f"gap {tick.gap:.2e}, {tick.n_iter} steps, {tick.active} active", refresh=False)
            self._bar.update(share - self._done.get(problem, 0.0))
            self._done[problem] = share


__all__ = ["GapBar"]
