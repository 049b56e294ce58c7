"""From a table with text and gaps to a matrix of numbers: imputation and one-hot encoding, stored with the model."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayesvm.tables.table import DataError, Table, as_table, is_numeric
from bayesvm.typing import Matrix

#: What gaps in a column of text, and rare categories, are called.
GAP, OTHER = "(missing)", "(other)"


class ColumnKind(enum.Enum):
    """What becomes of a column; the value says it in words."""

    NUMERIC = "numbers"
    CATEGORICAL = "categories, one-hot encoded"
    CONSTANT = "left out: it has one value only"
    IDENTIFIER = "left out: text in which every value is different"
    EMPTY = "left out: it has no values"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:  # some readers of stored models look for this alone
        return type(self), (self.value,)


@dataclasses.dataclass(frozen=True)
class ColumnPlan:
    """What is done with one column.

    Attributes
    ----------
    name : str
        The column.
    kind : ColumnKind
        What becomes of it.
    fill : float or None
        Number that stands in for a gap (the median); None if not numeric.
    categories : tuple of str
        Categories that have an indicator of their own; of two, only the second has one.
    n_missing : int
        Gaps in the training data.
    """

    name: str
    kind: ColumnKind
    fill: float | None = None
    categories: tuple[str, ...] = ()
    n_missing: int = 0

    @property
    def indicators(self) -> tuple[str, ...]:
        """Categories that become a column of zeros and ones."""
        return self.categories[1:] if len(self.categories) == 2 else self.categories

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that it becomes."""
        if self.kind is ColumnKind.NUMERIC:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.indicators)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Median for gaps in numbers, one column of zeros and ones per category for text.

    A gap in a column of text is a category of its own. Columns without information (one value, no value, text in
    which every value is different) are left out. Categories that were not seen in training have zeros in all columns.

    Parameters
    ----------
    max_categories : int
        Categories per column; the rarer ones share one, "(other)".

    Attributes
    ----------
    plans_ : tuple of ColumnPlan
        What is done with each column.
    feature_names_in_, n_features_in_ : array of str, int
        Columns of the training table.

    Examples
    --------
    >>> from bayesvm.tables import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> encoder.transform({"age": [None], "sex": ["m"]})
    array([[40.,  1.]])
    """

    def __init__(self, max_categories: int = 20) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what is done with each column of a table (DataFrame, mapping of columns or matrix)."""
        if not isinstance(self.max_categories, int) or self.max_categories < 2:
            raise ValueError(f"max_categories: expected an integer of at least 2, found {self.max_categories!r}")
        table = as_table(X)
        if len(table) == 0:
            raise DataError(f"{table.source}: expected at least one row, found none")
        for name, column in table.columns.items():
            _refuse_infinite(table, name, column)
        self.plans_ = tuple(self._plan(name, column) for name, column in table.columns.items())
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        if not any(plan.outputs for plan in self.plans_):
            raise DataError(f"{table.source}: no column holds information; {' '.join(self.summary())}")
        return self

    def _plan(self, name: str, column: np.ndarray) -> ColumnPlan:
        if is_numeric(column):
            present = column[~np.isnan(column)]
            missing = len(column) - len(present)
            if present.size == 0:
                return ColumnPlan(name, ColumnKind.EMPTY, n_missing=missing)
            constant = bool(np.all(present == present[0]))
            kind = ColumnKind.CONSTANT if constant else ColumnKind.NUMERIC
            return ColumnPlan(name, kind, float(np.median(present)), n_missing=missing)
        counts = Counter(GAP if entry is None else entry for entry in column)
        missing = counts.get(GAP, 0)
        kind = ColumnKind.CATEGORICAL
        if missing == len(column):
            kind = ColumnKind.EMPTY
        elif len(counts) == 1:
            kind = ColumnKind.CONSTANT
        elif len(counts) == len(column) > self.max_categories:
            kind = ColumnKind.IDENTIFIER
        if kind is not ColumnKind.CATEGORICAL:
            return ColumnPlan(name, kind, n_missing=missing)
        kept = [category for category, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
        if len(kept) > self.max_categories:
            kept = [*kept[: self.max_categories - 1], OTHER]
        return ColumnPlan(name, kind, categories=tuple(sorted(kept)), n_missing=missing)

    def transform(self, X: Any) -> Matrix:
        """Return the matrix of numbers of a table with the same columns (others are ignored)."""
        check_is_fitted(self)
        table = as_table(X)
        if not isinstance(X, Table) and table.names != self.feature_names_in_.tolist() and not hasattr(X, "columns"):
            table = self._by_position(table, X)
        parts = [_encoded(plan, table) for plan in self.plans_ if plan.outputs]
        return np.hstack(parts)

    def _by_position(self, table: Table, X: Any) -> Table:
        """Return the columns of a matrix under the names of the training table."""
        if hasattr(X, "keys"):
            return table
        if len(table.names) != self.n_features_in_:
            raise DataError(f"{table.source}: expected {self.n_features_in_} columns, found {len(table.names)}")
        return Table(dict(zip(self.feature_names_in_.tolist(), table.columns.values())), table.source)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the matrix."""
        check_is_fitted(self)
        return np.array([name for plan in self.plans_ for name in plan.outputs], dtype=object)

    def summary(self) -> list[str]:
        """Return what is done, in sentences."""
        lines = []
        for plan in self.plans_:
            if plan.kind is ColumnKind.NUMERIC and plan.n_missing:
                lines.append(f"{plan.name}: {plan.n_missing} missing, replaced by the median {plan.fill:.6g}.")
            elif plan.kind is ColumnKind.CATEGORICAL:
                gaps = f"; {plan.n_missing} missing, a category of their own" if plan.n_missing else ""
                lines.append(f"{plan.name}: {len(plan.categories)} {plan.kind.value}{gaps}.")
            elif plan.kind is not ColumnKind.NUMERIC:
                lines.append(f"{plan.name}: {plan.kind.value}.")
        return lines


def _encoded(plan: ColumnPlan, table: Table) -> Matrix:
    """Return the columns that one column becomes."""
    column = table.column(plan.name)
    if plan.kind is ColumnKind.NUMERIC:
        return _imputed(plan, table, column)[:, None]
    texts = [GAP if entry is None else entry for entry in _as_text(column)]
    if OTHER in plan.categories:
        texts = [text if text in plan.categories else OTHER for text in texts]
    return np.array([[float(text == category) for category in plan.indicators] for text in texts]).reshape(
        len(texts), len(plan.indicators)
    )


def _imputed(plan: ColumnPlan, table: Table, column: np.ndarray) -> np.ndarray:
    if not is_numeric(column):
        wrong = [i for i, entry in enumerate(column) if entry is not None and not _is_number(entry)]
        if wrong:
            place = table.where(wrong[0], plan.name)
            raise DataError(f"{place}: expected a number, found {column[wrong[0]]!r}")
        column = np.array([np.nan if entry is None else float(entry) for entry in column])
    _refuse_infinite(table, plan.name, column)
    return np.where(np.isnan(column), np.float64(plan.fill or 0.0), column)


def _refuse_infinite(table: Table, name: str, column: np.ndarray) -> None:
    infinite = np.flatnonzero(np.isinf(column)) if is_numeric(column) else np.empty(0, dtype=int)
    if infinite.size:
        raise DataError(f"{table.where(int(infinite[0]), name)}: expected a finite number, found {column[infinite[0]]}")


def _as_text(column: np.ndarray) -> list[str | None]:
    if not is_numeric(column):
        return list(column)
    return [None if np.isnan(value) else f"{value:.17g}" for value in column]


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


__all__ = ["ColumnKind", "ColumnPlan", "TableEncoder"]
