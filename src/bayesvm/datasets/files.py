"""Data sets from files: a directory of ``.npz`` files, the original files of the IDA benchmark, and DELVE's.

No data comes with the library. The directory is given as an argument or by the environment variable ``BAYESVM_DATA``.
"""

from __future__ import annotations

import dataclasses
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from bayesvm.typing import Indices, Matrix, Vector

#: Environment variable with the directory of the data sets.
VARIABLE = "BAYESVM_DATA"


class MissingDataError(FileNotFoundError):
    """A data set is not in the directory; the message names the file."""


@dataclasses.dataclass(frozen=True)
class DataSet:
    """Inputs, targets, and the partitions into training and test rows that come with them.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : array, shape (n, d)
        Inputs.
    y : array, shape (n,)
        Targets; two classes are -1 and +1.
    train, test : arrays of int, shape (k, n_train) and (k, n_test), or None
        Row numbers from zero, one row per partition.
    origin : array of int, shape (k,), or None
        Per partition, 2 where it is known to be the published one.
    """

    name: str
    X: Matrix
    y: Vector
    train: Indices | None = None
    test: Indices | None = None
    origin: Indices | None = None

    @property
    def partitions(self) -> int:
        """Number of partitions, zero if none came with the data."""
        return 0 if self.train is None else len(self.train)

    def split(self, k: int = 0) -> tuple[Matrix, Vector, Matrix, Vector]:
        """Return training inputs and targets, test inputs and targets of partition k, the published ones first."""
        if self.train is None or self.test is None:
            raise ValueError(f"data set {self.name!r} has no partitions; use random_split")
        if not 0 <= k < self.partitions:
            raise ValueError(f"data set {self.name!r}: expected a partition from 0 to {self.partitions - 1}, found {k}")
        order = np.arange(self.partitions) if self.origin is None else np.argsort(-self.origin, kind="stable")
        train, test = self.train[order[k]], self.test[order[k]]
        return self.X[train], self.y[train], self.X[test], self.y[test]

    def random_split(self, n_train: int, seed: int) -> tuple[Matrix, Vector, Matrix, Vector]:
        """Return a random partition with ``n_train`` training rows; the others are for testing."""
        if not 0 < n_train < len(self.y):
            raise ValueError(
                f"data set {self.name!r} of {len(self.y)} rows: "
                f"expected 1 to {len(self.y) - 1} training rows, found {n_train}"
            )
        order = np.random.default_rng(seed).permutation(len(self.y))
        train, test = order[:n_train], order[n_train:]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def data_directory(directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the given directory, or that of ``BAYESVM_DATA``; None if neither is given."""
    given = directory if directory is not None else os.environ.get(VARIABLE)
    return None if given is None else Path(given)


def load_npz(name: str, directory: str | os.PathLike[str] | None = None) -> DataSet:
    """Return the data set of ``<name>.npz`` (arrays X, y, and train, test, origin where there are partitions).

    Parameters
    ----------
    name : str
        Name of the file without its ending, such as ``"ida_banana"`` or ``"boston"``.
    directory : path, optional
        Where the file is; by default the directory in ``BAYESVM_DATA``.

    Raises
    ------
    MissingDataError
        If there is no such file.
    """
    place = data_directory(directory)
    if place is None:
        raise MissingDataError(f"data set {name}.npz: no directory was given, and {VARIABLE} is not set")
    path = place / f"{name}.npz"
    if not path.is_file():
        raise MissingDataError(f"missing data set {path.name} in {place}")
    with np.load(path) as arrays:
        found = {key: np.asarray(arrays[key]) for key in arrays.files}
    absent = [key for key in ("X", "y") if key not in found]
    if absent:
        raise ValueError(f"{path.name}: expected arrays X and y, found {', '.join(found) or 'none'}")
    train, test = (np.atleast_2d(found[key]) if key in found else None for key in ("train", "test"))
    return DataSet(name, found["X"].astype(float), found["y"], train, test, found.get("origin"))


def load_ida(name: str, directory: str | os.PathLike[str] | None = None) -> DataSet:
    """Return a set of the IDA benchmark, in whichever form it is found.

    Tried in this order: ``ida_<name>.npz``; the collection ``benchmarks.mat``; the ``.asc`` files of one partition
    each.

    Parameters
    ----------
    name : str
        Such as ``"banana"``.
    directory : path, optional
        By default the directory in ``BAYESVM_DATA``.
    """
    place = data_directory(directory)
    if place is not None and not (place / f"ida_{name}.npz").is_file():
        if (place / "benchmarks.mat").is_file():
            return load_ida_mat(place / "benchmarks.mat", name)
        if any(place.glob(f"{name}_train_data_*.asc")):
            return load_ida_asc(name, place)
    return dataclasses.replace(load_npz(f"ida_{name}", directory), name=name)


def load_ida_mat(path: str | os.PathLike[str], name: str) -> DataSet:
    """Return a set of ``benchmarks.mat``: per set a structure with x, t, train, test, rows counted from one.

    Parameters
    ----------
    path : path
        The file.
    name : str
        Such as ``"banana"``.
    """
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    if name not in content:
        names = ", ".join(sorted(key for key in content if not key.startswith("_")))
        raise MissingDataError(f"{Path(path).name}: no data set {name!r}; it has {names}")
    part: Any = content[name]
    X = np.asarray(part.x, dtype=float)
    train, test = (np.atleast_2d(np.asarray(rows)).astype(int) - 1 for rows in (part.train, part.test))
    return DataSet(name, X.reshape(len(X), -1), np.asarray(part.t).astype(int).ravel(), train, test)


def load_ida_asc(name: str, directory: str | os.PathLike[str]) -> DataSet:
    """Return the ``.asc`` files ``<name>_{train,test}_{data,labels}_<k>.asc``, one partition per k, rows stacked.

    Parameters
    ----------
    name : str
        Such as ``"banana"``.
    directory : path
        Where the files are.
    """
    place = Path(directory)
    numbers = sorted(int(path.stem.rsplit("_", 1)[1]) for path in place.glob(f"{name}_train_data_*.asc"))
    if not numbers:
        raise MissingDataError(f"missing data set {name}_train_data_1.asc in {place}")
    X, y = [], []
    rows: dict[str, list[Indices]] = {"train": [], "test": []}
    at = 0
    for k in numbers:
        for kind, kept in rows.items():
            data, labels = (place / f"{name}_{kind}_{what}_{k}.asc" for what in ("data", "labels"))
            if not data.is_file() or not labels.is_file():
                raise MissingDataError(f"missing {data.name} or {labels.name} in {place}")
            block = np.loadtxt(data, ndmin=2)
            X.append(block)
            y.append(np.loadtxt(labels, ndmin=1))
            kept.append(np.arange(at, at + len(block)))
            at += len(block)
    return DataSet(name, np.vstack(X), np.concatenate(y).astype(int), np.array(rows["train"]), np.array(rows["test"]))


def load_delve(path: str | os.PathLike[str], *, target: int = -1) -> DataSet:
    """Return a DELVE data file: one case per line, attributes between blanks, lines that end with a backslash go on.

    Attributes that are not numbers become numbers in the order of their sorted names; ``?`` is a missing value (nan).

    Parameters
    ----------
    path : path
        A ``.data`` file, gzipped if its name ends with ``.gz``.
    target : int
        Column of the target.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f"missing data set {path.name} in {path.parent}")
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        cells = [line.split() for line in _joined(file)]
    widths = {len(row) for row in cells}
    if len(widths) != 1:
        raise ValueError(f"{path.name}: expected lines of one length, found {sorted(widths)}")
    columns = [_numbers(column) for column in zip(*cells, strict=True)]
    y = columns.pop(target)
    return DataSet(path.name.split(".")[0], np.column_stack(columns), y)


def _joined(lines: Any) -> Iterator[str]:
    """Yield lines that are not empty, with continued ones put together and comments left out."""
    held = ""
    for line in lines:
        text = held + line.split("#", 1)[0].rstrip("\n")
        if text.rstrip().endswith("\\"):
            held = text.rstrip()[:-1] + " "
            continue
        held = ""
        if text.strip():
            yield text
    if held.strip():
        yield held


def _numbers(column: tuple[str, ...]) -> Vector:
    """Return the column as numbers; names are numbered in sorted order."""
    given = [cell for cell in column if cell != "?"]
    try:
        values = {cell: float(cell) for cell in given}
    except ValueError:
        values = {cell: float(i) for i, cell in enumerate(sorted(set(given)))}
    return np.array([values.get(cell, np.nan) for cell in column])


def load_sklearn(name: str) -> DataSet:
    """Return a data set that scikit-learn ships: "iris", "wine", "breast_cancer", "digits", "diabetes"."""
    from sklearn import datasets

    names = ("iris", "wine", "breast_cancer", "digits", "diabetes")
    if name not in names:
        raise MissingDataError(f"scikit-learn ships no data set {name!r}; the names are {', '.join(names)}")
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return DataSet(name, np.asarray(X, dtype=float), np.where(y == 1, 1, -1) if name == "breast_cancer" else y)


__all__ = [
    "VARIABLE",
    "DataSet",
    "MissingDataError",
    "data_directory",
    "load_delve",
    "load_ida",
    "load_ida_asc",
    "load_ida_mat",
    "load_npz",
    "load_sklearn",
]
