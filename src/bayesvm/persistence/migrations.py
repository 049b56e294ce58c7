"""How files of older releases are read: changes of stored fields, class by class.

When a class of the library changes its fields in a way that a default cannot cover, the version of the format is
raised in :mod:`bayesvm.persistence.container` and a function is added here that turns the fields of the older version
into those of the next. The corpus of the tests holds files of every version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.persistence import version2
from bayesvm.persistence.registry import present_name
from bayesvm.tables.columns import CategoryColumn, Column, ColumnKind, LeftOut, NumberColumn
from bayesvm.tables.columns.base import Gaps
from bayesvm.tables.number_format import NumberFormat


def _padded_signed_factor(fields: dict[str, Any]) -> dict[str, Any]:
    """Version 1 kept the factor on the points of positive curvature alone, ``at`` their places within the support."""
    at, positive, size = fields["at"], fields["positive"], fields["support"].size
    root, L = np.zeros(size), np.eye(size, order="F")
    root[at] = positive.root
    L[np.ix_(at, at)] = positive.B.lower()
    padded = SupportFactor(fields["support"], root, Cholesky(L, positive.B.jitter))
    return {**{name: value for name, value in fields.items() if name != "at"}, "positive": padded}


def _column_of_one_record(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 a plan held what every kind of column needs; gaps in numbers were filled but not marked."""
    kind, missing = fields["kind"], fields["n_missing"]
    column: Column = LeftOut(kind)
    if kind is ColumnKind.NUMERIC:
        column = NumberColumn(Gaps(fields["fill"], missing), NumberFormat())
    if kind is ColumnKind.CATEGORICAL:
        column = CategoryColumn(fields["categories"], None, missing)
    return {"name": fields["name"], "column": column}


def _encoder_of_all_columns(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 an encoder used all columns and found out what they hold."""
    return {"features": None, "drop": (), "categories": (), "decimal": None, "day_first": None, **fields}


def _calibration_without_weight(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 3 a correction of log odds held the probability by which it had been weighted."""
    return {name: value for name, value in fields.items() if name != "weight"}


#: (name of the class, version of the file) -> function that returns the fields of the next version.
MIGRATIONS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("linalg.SignedFactor", 1): _padded_signed_factor,
    **{(name, 2): change for name, change in version2.CHANGES.items()},
    ("tables.ColumnPlan", 2): _column_of_one_record,
    ("tables.TableEncoder", 2): _encoder_of_all_columns,
    ("models.Calibration", 3): _calibration_without_weight,
}


def migrated(name: str, fields: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the fields of a stored object as the present version has them."""
    own = present_name(name)
    for step in sorted(v for owner, v in MIGRATIONS if owner == own and v >= version):
        fields = MIGRATIONS[own, step](fields)
    return fields


__all__ = ["MIGRATIONS", "migrated"]
