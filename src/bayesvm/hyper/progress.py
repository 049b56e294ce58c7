"""Progress bars (extra ``progress``), and one as a callback of the maximiser."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from bayesvm.hyper.multistart import SearchProgress


def terminal_bar(title: str, **options: Any) -> Any:
    """Return a bar of tqdm, which is silent where standard error is not a terminal."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise ImportError("a progress bar (verbose=1) needs tqdm: pip install 'bayesvm[progress]'") from None
    return tqdm(desc=title, disable=None, leave=False, **options)


#: Evaluations that a start takes as a rule, by which the length of a search is guessed.
EVALUATIONS = 25
#: By how much the guess grows when it turns out too small.
GROWTH = 1.25


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Counts evaluations against an expected number; use it in a ``with`` statement, and call it with each progress.

    How many evaluations a search takes is not known before: the total, and with it the time left, is a guess that
    grows when it is reached. Evidences are not shown, since those on the way are of surrogates and of some of the rows,
    and cannot be compared with one another nor with the final one.

    Parameters
    ----------
    title : str
        What is being fitted.
    expected : int
        Evaluations that are expected, from the number of starts and outputs.
    """

    def __init__(self, title: str, expected: int = EVALUATIONS) -> None:
        self._bar = terminal_bar(title, total=max(1, expected), unit=" evaluations")

    def __exit__(self, *error: object) -> None:
        self._bar.total = self._bar.n
        self._bar.close()

    def __call__(self, progress: SearchProgress) -> None:
        """Count one evaluation."""
        if self._bar.n + 1 >= self._bar.total:
            self._bar.total = int(GROWTH * self._bar.total) + 1
        start = f"start {progress.start + 1}"
        self._bar.set_postfix_str(f"{progress.candidate}: {start}" if progress.candidate else start, refresh=False)
        self._bar.update()


__all__ = ["EVALUATIONS", "ProgressBar", "terminal_bar"]
