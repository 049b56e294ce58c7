"""From a table with text and gaps to a matrix of numbers, as a step that is stored with the model."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayesvm.tables.columns import Column, ColumnKind, LeftOut
from bayesvm.tables.errors import DataError, TableWarning
from bayesvm.tables.frame import Place, as_frame, chosen_columns, column_of, has_names, is_category, source_of
from bayesvm.tables.leaks import leak_of, target_of
from bayesvm.tables.planning import Plan, Request, plan_column
from bayesvm.tables.text_format import Conventions, TextSurvey, conventions_of
from bayesvm.tables.values import Texts, Values, values_of
from bayesvm.typing import Matrix

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class ColumnPlan:
    """What is done with one column of a table.

    Attributes
    ----------
    name : str
        The column.
    column : Column
        What is done with it.
    """

    name: str
    column: Column

    @property
    def kind(self) -> ColumnKind:
        """What becomes of it."""
        return self.column.kind

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that it becomes."""
        return self.column.outputs(self.name)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers from a table: what each column holds is found out, said in words, and done again for new rows.

    - Numbers stay as they are. Text that means numbers is read: decimal commas, separators of thousands, currencies,
      percents (as fractions).
    - Dates and times of day become days since the first one and, for each cycle (day, week, year) that the training
      data cover twice, the sine and the cosine of its phase.
    - Truth values become 0 and 1.
    - Text becomes one column of zeros and ones per category. Rare categories share one, "(other)".
    - A gap in numbers, dates or truth values becomes the median, and if the training data have gaps in that column a
      column of zeros and ones tells where they are; a gap in text is a category of its own.
    - Columns without information are left out: one value, no value, text in which most values are different, and
      numberings of the rows whose name says so.

    What is ambiguous is pointed out by a :class:`TableWarning` that names the column: dates that can be read in two
    ways, a comma that may stand between thousands, a column that numbers the rows, a column that equals the target.
    What cannot be understood is a :class:`DataError` that names column, row and remedy. New rows are read as the
    training data were; categories that are new to the encoder are counted in a warning.

    Parameters
    ----------
    features : sequence of str, optional
        Columns to use, all if None. A column that is named here is used even if it looks like an identifier.
    drop : sequence of str
        Columns to leave out.
    categories : sequence of str
        Columns that hold categories even if they look like numbers or dates.
    max_categories : int
        Categories per column; the rarer ones share one.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are text; found out if None.
    day_first : bool, optional
        Whether 3/4/2019 is in April; found out if None.

    Attributes
    ----------
    plans_ : tuple of ColumnPlan
        What is done with each column.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : array of str
        Their names, if they have names.

    Examples
    --------
    >>> from bayesvm.tables import TableEncoder
    >>> encoder = TableEncoder().fit({"price": ["$1,200.50", "$900", "$85"], "sex": ["f", "m", "f"]})
    >>> encoder.transform({"price": ["$1,000"], "sex": ["m"]})
    array([[1000.,    1.]])
    """

    def __init__(
        self,
        *,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
        max_categories: int = 20,
        decimal: str | None = None,
        day_first: bool | None = None,
    ) -> None:
        self.features = features
        self.drop = drop
        self.categories = categories
        self.max_categories = max_categories
        self.decimal = decimal
        self.day_first = day_first

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what is done with each column.

        Parameters
        ----------
        X : DataFrame of pandas or polars, mapping of columns, or matrix
            The training table.
        y : array, optional
            The target; columns that give it away are pointed out.

        Returns
        -------
        encoder : TableEncoder
            Itself.
        """
        self._check_parameters()
        frame = as_frame(X)
        if len(frame) == 0:
            raise DataError(f"{source_of(frame)}: expected at least one row, found none")
        plans, remarks = self._planned(frame, y)
        if not any(plan.outputs for plan in plans):
            words = " ".join(_sentences(plans))
            raise DataError(f"{source_of(frame)}: no column holds information ({len(frame)} sample(s)); {words}")
        self.plans_ = plans
        self.n_features_in_ = len(plans)
        if has_names(X):
            self.feature_names_in_ = np.array([plan.name for plan in plans], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for remark in remarks:
            warnings.warn(remark, TableWarning, stacklevel=2)
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.max_categories, int) or self.max_categories < 2:
            raise ValueError(f"max_categories: expected an integer of at least 2, found {self.max_categories!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal: expected '.', ',' or None, found {self.decimal!r}")
        for name in ("features", "drop", "categories"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: expected a sequence of names, found the text {getattr(self, name)!r}")

    def _planned(self, frame: pd.DataFrame, y: Any) -> tuple[tuple[ColumnPlan, ...], list[str]]:
        """Return what is done with each column, and remarks on them."""
        chosen_columns(frame, None, self.categories)  # says which are not there
        values = {name: values_of(frame[name]) for name in chosen_columns(frame, self.features, self.drop)}
        named = {name for name in frame.columns if name in self.categories or is_category(frame[name])}
        texts = {name: v for name, v in values.items() if isinstance(v, Texts) and name not in named}
        surveys = {name: TextSurvey.of(column) for name, column in texts.items()}
        conventions = conventions_of(surveys.values(), Conventions(self.decimal, self.day_first))
        target = target_of(y)
        plans, remarks = [], []
        for name in frame.columns:
            plan = Plan(LeftOut(ColumnKind.DROPPED))
            if name in values:
                request = Request(conventions, self.max_categories, name in named, self.features is not None)
                plan = plan_column(values[name], surveys.get(name), request, Place.of(frame, name))
                plan = _with_leak_told(plan, name, values[name], target)
            plans.append(ColumnPlan(name, plan.column))
            if plan.remark:
                remarks.append(f"{source_of(frame)}, column {name!r}: {plan.remark}")
        return tuple(plans), remarks

    def transform(self, X: Any) -> Matrix:
        """Return the matrix of a table with the same columns.

        Parameters
        ----------
        X : DataFrame of pandas or polars, mapping of columns, or matrix
            Columns are found by name, in any order, and others are ignored; by their place if it is a matrix, or if
            the training table was one.

        Returns
        -------
        matrix : array, shape (n, number of columns)
            Finite numbers.
        """
        check_is_fitted(self)
        frame = as_frame(X)
        if not (has_names(X) and hasattr(self, "feature_names_in_")):
            if frame.shape[1] != self.n_features_in_:
                raise DataError(
                    f"X has {frame.shape[1]} features, but TableEncoder is expecting {self.n_features_in_} features as "
                    "input"
                )
            frame = frame.set_axis([plan.name for plan in self.plans_], axis=1)
        parts = []
        for plan in self.plans_:
            if plan.outputs:
                encoded = plan.column.encode(values_of(column_of(frame, plan.name)), Place.of(frame, plan.name))
                parts.append(encoded.matrix)
                if encoded.remark:
                    place = f"{source_of(frame)}, column {plan.name!r}"
                    warnings.warn(f"{place}: {encoded.remark}", TableWarning, stacklevel=2)
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the matrix.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns of the table; those of the training table if None, from which they must not differ.

        Returns
        -------
        names : array of str
            One name per column of the matrix.
        """
        check_is_fitted(self)
        plans = self.plans_
        if input_features is not None:
            given = [str(name) for name in input_features]
            if len(given) != len(plans):
                raise ValueError(
                    f"input_features should have length equal to number of features ({len(plans)}), got {len(given)}"
                )
            if hasattr(self, "feature_names_in_") and given != self.feature_names_in_.tolist():
                raise ValueError("input_features is not equal to feature_names_in_")
            plans = tuple(dataclasses.replace(plan, name=name) for plan, name in zip(plans, given))
        return np.array([name for plan in plans for name in plan.outputs], dtype=object)

    def summary(self) -> list[str]:
        """Return what is done, one sentence per column of which there is something to say."""
        check_is_fitted(self)
        return _sentences(self.plans_)


def _with_leak_told(plan: Plan, name: str, values: Values, target: Values | None) -> Plan:
    """Return the plan of a column with a remark if the column gives the target away."""
    if target is None or not plan.column.outputs(name):
        return plan
    leak = leak_of(values if plan.numbers is None else plan.numbers, target)
    return plan.told(leak and f"{leak}; if it is not known before the target is, name it in drop (--drop)")


def _sentences(plans: Sequence[ColumnPlan]) -> list[str]:
    said = [(plan.name, plan.column.sentence()) for plan in plans]
    return [f"{name}: {sentence}." for name, sentence in said if sentence]


__all__ = ["ColumnPlan", "TableEncoder"]
