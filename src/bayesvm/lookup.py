"""Names that stand for objects in the arguments of estimators."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def lookup(argument: str, name: object, table: Mapping[str, T], kind: type) -> T:
    """Return the entry of that name, or say which names there are; the argument takes objects of ``kind`` too."""
    if isinstance(name, str) and name in table:
        return table[name]
    near = difflib.get_close_matches(name.lower(), table, n=1) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"an object of type {kind.__name__} is accepted too"
    raise ValueError(f"{argument}: expected one of {', '.join(map(repr, table))}, found {name!r}; {hint}")


__all__ = ["lookup"]
