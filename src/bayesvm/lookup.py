"""Names in arguments: the objects that they stand for, the nearest to a wrong one, and lists of them in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

#: Names that are listed in a message.
LISTED = 12


def lookup(argument: str, name: object, table: Mapping[str, T], kind: type) -> T:
    """Return the entry of that name, or say which names there are; the argument takes objects of ``kind`` too."""
    if isinstance(name, str) and name in table:
        return table[name]
    near = did_you_mean(name, table, "; {}") if isinstance(name, str) else ""
    hint = near or f"; an object of type {kind.__name__} is accepted too"
    raise ValueError(f"{argument}: expected one of {', '.join(map(repr, table))}, found {name!r}{hint}")


def did_you_mean(word: str, known: Iterable[str], form: str = " ({})") -> str:
    """Return "did you mean 'x'?" for the known name nearest to a word, an empty text if none is near.

    Upper and lower case are the same. ``form`` has the place of the question in the message.

    Examples
    --------
    >>> from bayesvm.lookup import did_you_mean
    >>> did_you_mean("tarrget", ["target", "age"])
    " (did you mean 'target'?)"
    """
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return form.format(f"did you mean {by_lower[near[0]]!r}?") if near else ""


def listed(names: Iterable[str]) -> str:
    """Return names with commas between, the first of them if there are many."""
    names = list(names)
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")


__all__ = ["did_you_mean", "listed", "lookup"]
