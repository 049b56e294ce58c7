"""How a command reads its table, and which of its columns it uses: options as they were typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesvm.cli.exit_codes import UsageError
from bayesvm.lookup import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


def check_choice(option: str, found: str | None, known: Sequence[str]) -> None:
    """Refuse a value that is not among the known ones, with the nearest of them."""
    if found is not None and found not in known:
        raise UsageError(f"{option}: expected one of {', '.join(known)}, found {found!r}{did_you_mean(found, known)}")


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """Options of reading; see :func:`bayesvm.tables.read_table`."""

    format: str | None = None
    header: bool | None = None
    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None

    def read(self, path: str) -> pd.DataFrame:
        """Return the table of a file, its cells as they stand in it."""
        from bayesvm.tables import read_table
        from bayesvm.tables.readers import FORMATS

        check_choice("format", self.format, FORMATS)
        if self.delimiter not in (None, "\\t") and len(str(self.delimiter)) != 1:
            raise UsageError(f"delimiter: expected one character, found {self.delimiter!r}")
        options = {**dataclasses.asdict(self), "delimiter": "\t" if self.delimiter == "\\t" else self.delimiter}
        return read_table(path, parse=False, **options)


@dataclasses.dataclass(frozen=True)
class ColumnOptions:
    """Options about columns, as typed: names or numbers from 1, with commas between."""

    features: Sequence[str] = ()
    drop: Sequence[str] = ()
    categories: Sequence[str] = ()
    decimal: str | None = None
    day_first: bool | None = None

    def encoder(self, frame: pd.DataFrame, taken: Sequence[str]) -> Any:
        """Return the encoder of the features of a table, ``taken`` being its columns that serve as something else."""
        from bayesvm.tables import TableEncoder

        chosen = {name: find_columns(frame, getattr(self, name)) for name in ("features", "drop", "categories")}
        for option, names in chosen.items():
            if set(names) & set(taken):
                raise UsageError(f"--{option}: {', '.join(set(names) & set(taken))} is the target or holds the weights")
        return TableEncoder(
            features=chosen["features"] or None,
            drop=chosen["drop"],
            categories=chosen["categories"],
            decimal=self.decimal,
            day_first=self.day_first,
        )


def find_column(frame: pd.DataFrame, wanted: str) -> str:
    """Return the name of a column that is given by its name, or by its number from 1 (-1: the last)."""
    from bayesvm.tables.frame import no_column

    names = list(frame.columns)
    if wanted in names:
        return wanted
    place = int(wanted) if wanted.removeprefix("-").isdecimal() else 0
    if place == 0 or not -len(names) <= place <= len(names):
        raise no_column(frame, wanted)
    return str(names[place - 1 if place > 0 else place])


def find_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the names of columns that are given one by one or with commas between."""
    found = []
    for item in wanted:
        parts = [item] if item in frame.columns else [part.strip() for part in item.split(",") if part.strip()]
        found += [find_column(frame, part) for part in parts]
    return list(dict.fromkeys(found))


__all__ = ["ColumnOptions", "ReadOptions", "check_choice", "find_column", "find_columns"]
