"""What an experiment is: a frozen object that says what to run, and what the paper found.

An experiment has *cases* (a data set, a size, a method), a case has *units* (its partitions, or seeds), and a unit is
one call of a pure function that returns a dictionary of numbers. Units are independent, so they can be run in any
order, in parallel, and kept.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bayesvm.datasets import DataSet, data_directory, load_npz

#: Numbers of one unit: JSON values, as a rule floats.
Numbers = dict[str, Any]
#: Class labels, of any kind.
Labels = NDArray[Any]
#: Finished units by case.
Found = Mapping[str, Sequence[Numbers]]


@dataclasses.dataclass(frozen=True)
class Source:
    """Where data sets come from.

    Parameters
    ----------
    directory : Path or None
        The directory; None means that there is none.
    """

    directory: Path | None

    @classmethod
    def of(cls, directory: str | Path | None) -> Source:
        """Return the given directory, or that of ``BAYESVM_DATA``."""
        return cls(data_directory(directory))

    def missing(self, needs: Sequence[str]) -> list[str]:
        """Return the files that are needed and absent."""
        return [
            f"{name}.npz" for name in needs if self.directory is None or not (self.directory / f"{name}.npz").is_file()
        ]

    def load(self, name: str) -> DataSet:
        """Return the data set ``<name>.npz``."""
        return load_npz(name, self.directory)


@dataclasses.dataclass(frozen=True)
class Published:
    """A number of a paper: mean, standard deviation over runs, number of runs (where given)."""

    mean: float
    std: float | None = None
    runs: int | None = dataclasses.field(default=None, kw_only=True)

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None if the paper does not tell."""
        return None if self.std is None or not self.runs else self.std / math.sqrt(self.runs)


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of a table.

    Parameters
    ----------
    name : str
        Its name.
    params : mapping
        What the unit function is given.
    tiny : mapping
        Entries of ``params`` in the smallest setting that still runs (``--quick``).
    needs : tuple of str
        Names of data sets.
    units : int
        Number of units unless the user asks for another.
    most : int or None
        Largest number of units that makes sense.
    """

    name: str
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tiny: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    needs: tuple[str, ...] = ()
    units: int = 1
    most: int | None = None

    def count(self, asked: int | None) -> int:
        """Return how many units to run."""
        wanted = self.units if asked is None else asked
        return wanted if self.most is None else min(wanted, self.most)

    def settings(self, quick: bool) -> dict[str, Any]:
        """Return the parameters, in the smallest setting if ``quick``."""
        return {**self.params, **(self.tiny if quick else {})}


@dataclasses.dataclass(frozen=True)
class Column:
    """One quantity of a table.

    Parameters
    ----------
    key : str
        Its key in the numbers of a unit.
    head : str
        Heading.
    digits : int
        Digits after the point.
    published : mapping
        The paper's number by case.
    against : str or None
        Name with which a case's rival is formed (case name + this): the difference to it is then given, paired by unit.
    better : {"lower", "higher", None}
        Which side of the paper's number is an improvement; None where nearness is wanted.
    """

    key: str
    head: str
    digits: int = 2
    published: Mapping[str, Published] = dataclasses.field(default_factory=dict)
    against: str | None = None
    better: str | None = None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: the chosen cases by the columns, or the columns by one case if ``transposed``."""

    name: str
    title: str
    columns: tuple[Column, ...]
    cases: tuple[str, ...] | None = None
    transposed: bool = False
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        As on the command line, such as ``chu2003-table4``.
    reference : str
        Where it is in the paper.
    title : str
        What it shows.
    cases : tuple of Case
        Its rows.
    run : callable
        ``run(params, seed, source)`` returns the numbers of one unit; pure, and of module level.
    tables : tuple of Table
        Ours beside the paper's.
    plot : callable or None
        ``plot(figure, found)`` draws; None draws the differences of the tables.
    also : tuple of str
        Other names, for tables that share the units.
    """

    name: str
    reference: str
    title: str
    cases: tuple[Case, ...]
    run: Callable[[Mapping[str, Any], int, Source], Numbers]
    tables: tuple[Table, ...] = ()
    plot: Callable[[Any, Found], None] | None = None
    also: tuple[str, ...] = ()

    def case(self, name: str) -> Case:
        """Return the case of that name."""
        return next(case for case in self.cases if case.name == name)


def published(rows: Mapping[str, tuple[float, ...]], runs: int | None = None) -> dict[str, Published]:
    """Return published numbers from (mean, standard deviation) or (mean,) by case."""
    return {
        case: Published(values[0], values[1] if len(values) > 1 else None, runs=runs) for case, values in rows.items()
    }


__all__ = ["Case", "Column", "Experiment", "Found", "Labels", "Numbers", "Published", "Source", "Table", "published"]
