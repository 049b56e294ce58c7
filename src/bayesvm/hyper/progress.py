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


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Counts evaluations and shows the best value; use it in a ``with`` statement, and call it with each progress.

    Parameters
    ----------
    title : str
        What is being fitted.
    """

    def __init__(self, title: str) -> None:
        self._bar = terminal_bar(title, unit=" evaluations")

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, progress: SearchProgress) -> None:
        """Count one evaluation."""
        self._bar.set_postfix_str(f"start {progress.start + 1}, log evidence {progress.best:.4f}", refresh=False)
        self._bar.update()


__all__ = ["ProgressBar", "terminal_bar"]
