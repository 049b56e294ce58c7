"""LIBSVM's sparse text: a target, then index:value pairs with indices from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvm.tables.errors import DataError
from bayesvm.tables.frame import ROW, SOURCE, pandas

if TYPE_CHECKING:
    import pandas as pd

#: Entries of the dense table that is made of the file.
LARGEST = 200_000_000


def read_libsvm(text: str, source: str) -> pd.DataFrame:
    """Read LIBSVM text; the first column is called "target", the others f1, f2, ..."""
    targets: list[str] = []
    numbers: list[int] = []
    places: list[tuple[int, int]] = []
    values: list[float] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        for word in words[1:]:
            if not word.startswith("qid:"):
                index, value = _pair(word, number, source)
                places.append((len(targets), index - 1))
                values.append(value)
        targets.append(words[0])
        numbers.append(number)
    width = max((j for _, j in places), default=-1) + 1
    if width * len(targets) > LARGEST:
        raise DataError(f"{source}: {len(targets)} rows with feature number {width} are too many for a dense table")
    dense = np.zeros((len(targets), width))
    if places:
        dense[tuple(np.array(places).T)] = values
    frame = pandas().DataFrame(dense, columns=[f"f{j + 1}" for j in range(width)])
    frame.insert(0, "target", np.array(targets, dtype=object))
    frame.index = pandas().Index(numbers, name=ROW, dtype=int)
    frame.attrs[SOURCE] = source
    return frame


def _pair(word: str, number: int, source: str) -> tuple[int, float]:
    index, colon, value = word.partition(":")
    try:
        pair = (int(index), float(value))
    except ValueError:
        pair = (0, 0.0)
    if not colon or pair[0] < 1:
        raise DataError(f"{source}, row {number}: expected index:value with an index from 1, found {word[:40]!r}")
    return pair


__all__ = ["read_libsvm"]
