"""A progress bar as a callback of the maximiser (extra ``progress``); silent where standard error is not a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from bayesvm.hyper.multistart import SearchProgress


class ProgressBar:
    """Counts evaluations and shows the best value; use it in a ``with`` statement, and call it with each progress.

    Parameters
    ----------
    title : str
        What is being fitted.
    """

    def __init__(self, title: str) -> None:
        try:
            from tqdm import tqdm
        except ImportError:
            raise ImportError("a progress bar (verbose=1) needs tqdm: pip install 'bayesvm[progress]'") from None
        self._bar = tqdm(desc=title, unit=" evaluations", disable=None, leave=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def __call__(self, progress: SearchProgress) -> None:
        """Count one evaluation."""
        self._bar.set_postfix_str(f"start {progress.start + 1}, log evidence {progress.best:.4f}", refresh=False)
        self._bar.update()


__all__ = ["ProgressBar"]
