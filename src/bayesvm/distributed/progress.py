"""How a distributed fit shows where it is: evidence, gradient norm, seconds per evaluation, blocks of rows done.

Every evaluation is logged (logger ``bayesvm.distributed``, level INFO); with ``verbose=1`` a bar on the terminal counts
blocks (silent where standard error is no terminal). On a cluster Dask's dashboard shows the tasks under the names
``bayesvm-rows``, ``bayesvm-sum`` and so on, and the scheduler keeps one event per evaluation under the topic
``bayesvm`` (``client.get_events("bayesvm")``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from bayesvm.hyper.progress import terminal_bar
from bayesvm.typing import Vector

logger = logging.getLogger("bayesvm.distributed")


class Progress(AbstractContextManager["Progress"]):
    """Display of a fit; use it in a ``with`` statement.

    Parameters
    ----------
    estimator : estimator
        What is being fitted; its ``verbose`` says whether to show a bar.
    """

    def __init__(self, estimator: Any) -> None:
        self._bar: Any = None
        self.evaluations = 0
        if estimator.verbose:
            self._bar = terminal_bar(type(estimator).__name__, unit=" blocks")

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def watch(self, handles: Sequence[Any]) -> None:
        """Count the blocks of a pass over all rows as they are done."""
        if self._bar is not None:
            for handle in handles:
                handle.add_done_callback(lambda _: self._bar.update())

    def evaluated(self, value: float, gradient: Vector, seconds: float) -> None:
        """Report an evaluation."""
        self.evaluations += 1
        norm = float(np.sqrt(gradient @ gradient))
        text = f"evidence {value:.4f}, |gradient| {norm:.3g}, {seconds:.2f} s"
        logger.info("evaluation %d: %s", self.evaluations, text)
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)


__all__ = ["Progress"]
