"""Near misses: what a word that is not known may have been meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Names that are listed in a message.
LISTED = 12


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the known name nearest to a word, an empty text if none is near.

    Examples
    --------
    >>> from bayesvm.tables.suggestion import did_you_mean
    >>> did_you_mean("tarrget", ["target", "age"])
    " (did you mean 'target'?)"
    """
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def listed(names: Iterable[str]) -> str:
    """Return names with commas between, the first of them if there are many."""
    names = list(names)
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")


__all__ = ["did_you_mean", "listed"]
