"""LIBSVM's sparse text: a target, then index:value pairs with indices from 1."""

from __future__ import annotations

import numpy as np

from bayesvm.tables.readers.text import decoded
from bayesvm.tables.table import DataError, Table, text_column

#: Entries of the dense table that is made of the file.
LARGEST = 200_000_000


def read_libsvm(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read LIBSVM text; the first column is called "target", the others f1, f2, ..."""
    targets: list[str | None] = []
    entries: list[list[tuple[int, float]]] = []
    numbers: list[int] = []
    width = 0
    for number, line in enumerate(decoded(content, source).splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        numbers.append(number)
        targets.append(words[0])
        pairs = [_pair(word, number, source) for word in words[1:] if not word.startswith("qid:")]
        entries.append(pairs)
        width = max(width, max((index for index, _ in pairs), default=0))
    if width * len(targets) > LARGEST:
        raise DataError(f"{source}: {len(targets)} rows with feature number {width} are too many for a dense table")
    dense = np.zeros((len(targets), width))
    for i, pairs in enumerate(entries):
        for index, value in pairs:
            dense[i, index - 1] = value
    columns = {"target": text_column(targets), **{f"f{j + 1}": dense[:, j].copy() for j in range(width)}}
    return Table(columns, source, np.array(numbers, dtype=int))


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
