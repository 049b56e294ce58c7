"""What the page asks for, as functions from plain data to plain data."""

from __future__ import annotations

import dataclasses
import io
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from bayesvm.cli.cases import frame_of
from bayesvm.cli.errors import data_refused
from bayesvm.cli.prediction import predictions
from bayesvm.cli.prediction_files import records, writer_of
from bayesvm.tables import DataError, TableEncoder, TableWarning, read_table
from bayesvm.tables.columns import CategoryColumn, NumberColumn, TruthColumn
from bayesvm.typing import Matrix

if TYPE_CHECKING:
    import pandas as pd

#: Points of a curve, similar cases, and rows of an uploaded table that are shown.
POINTS, NEAREST, SHOWN = 41, 5, 100
#: Options of a choice that are listed.
OPTIONS = 200


@dataclasses.dataclass(frozen=True)
class Field:
    """A column of the table as a part of the form.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        "number", "choice" or "text".
    value : float, str or None
        What it begins with: the median, or the most frequent choice.
    low, high : float or None
        Numbers: the range of the training rows, if it is known.
    options : tuple of str
        Choices.
    """

    name: str
    kind: str
    value: Any = None
    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()


class Service:
    """A model behind the page.

    Parameters
    ----------
    model : fitted estimator or pipeline
        What predicts.
    info : mapping
        Remarks of the model file: ``facts`` and ``cases`` of ``bayesvm fit``, either of which may be missing.
    name : str
        Name of the model file.
    """

    def __init__(self, model: Any, info: Mapping[str, Any], name: str) -> None:
        self._model, self._name = model, name
        self._facts: Mapping[str, Any] = info.get("facts") or {}
        self._cases: Mapping[str, Any] = info.get("cases") or {}
        self._steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        self._encoder = self._steps[0] if isinstance(self._steps[0], TableEncoder) else None
        self._table = frame_of(self._cases) if self._cases.get("rows") else None
        self.fields = tuple(self._fields())
        self._encoded, self._spread = self._encode_cases()

    # -- what there is ------------------------------------------------------------------------------------------------
    def description(self) -> dict[str, Any]:
        """Return what the page begins with: the model, its target, the fields of the form."""
        data = self._facts.get("data", {})
        return {
            "name": self._name,
            "machine": self._facts.get("machine", type(self._steps[-1]).__name__),
            "target": data.get("target", "the target"),
            "task": "classification" if hasattr(self._steps[-1], "classes_") else "regression",
            "classes": [str(label) for label in getattr(self._steps[-1], "classes_", ())],
            "fields": [dataclasses.asdict(field) for field in self.fields],
            "cases": self._table is not None,
        }

    def _fields(self) -> list[Field]:
        if self._encoder is not None:
            return [self._field(plan.name, plan.column) for plan in self._encoder.plans_ if plan.outputs]
        first = self._steps[0]
        names = getattr(first, "feature_names_in_", [f"x{j}" for j in range(first.n_features_in_)])
        known = None if self._table is None else self._table.to_numpy(dtype=float)
        if known is None and len(self._steps) == 1:
            known = getattr(first, "support_vectors_", None)
        rows = None if known is None or hasattr(known, "toarray") else np.asarray(known)
        return [_number(str(name), None if rows is None else rows[:, j]) for j, name in enumerate(names)]

    def _field(self, name: str, column: Any) -> Field:
        if isinstance(column, NumberColumn):
            return _number(name, self._numbers_of(name, column), column.gaps.fill)
        if isinstance(column, TruthColumn):
            return Field(name, "choice", column.format.false, options=(column.format.false, column.format.true))
        if isinstance(column, CategoryColumn):
            options = tuple(dict.fromkeys([*column.categories, *(column.rare or ())]))[:OPTIONS]
            return Field(name, "choice", self._commonest(name, options), options=options)
        return Field(name, "text", self._commonest(name, ()))

    def _numbers_of(self, name: str, column: Any) -> Any:
        """Return the numbers of a column of the cases."""
        if self._table is None or name not in self._table:
            return None
        from bayesvm.tables.columns.number import read_numbers
        from bayesvm.tables.frame import Place
        from bayesvm.tables.values import values_of

        return read_numbers(values_of(self._table[name]), column.format, Place.of(self._table, name))

    def _commonest(self, name: str, options: Sequence[str]) -> str | None:
        if self._table is not None and name in self._table:
            counted = self._table[name].dropna().astype(str).value_counts()
            known = [text for text in counted.index if not options or text in options]
            if known:
                return str(known[0])
        return options[0] if options else None

    def _encode_cases(self) -> tuple[Matrix | None, Any]:
        """Return the cases as the machine sees them, and the spread of each feature, weighted by its relevance."""
        if self._table is None:
            return None, None
        rows = self._inputs(self._table)[0]
        spread = rows.std(axis=0)
        relevance = getattr(self._steps[-1], "relevance_", None)
        weight = np.ones(rows.shape[1]) if relevance is None else np.sqrt(np.asarray(relevance))
        return rows, np.where(spread > 0.0, weight / np.where(spread > 0.0, spread, 1.0), 0.0)

    # -- predictions --------------------------------------------------------------------------------------------------
    def predict(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the prediction of one row, what is to be said about it, and the most similar training rows."""
        frame = self._frame([values])
        made, remarks = self._predicted(frame)
        return {"prediction": _first(made), "remarks": remarks, "nearest": self._nearest(frame)}

    def sweep(self, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return how the prediction of one row moves with one of its columns."""
        field = next((field for field in self.fields if field.name == name), None)
        if field is None:
            raise DataError(f"there is no column {name!r}")
        if field.kind == "choice":
            along: list[Any] = list(field.options)
        elif field.low is not None and field.high is not None:
            along = np.linspace(field.low, field.high, POINTS).tolist()
        else:
            return {"column": name, "along": [], "curves": {}}
        made, _ = self._predicted(self._frame([{**values, name: value} for value in along]))
        curves = {key: np.asarray(column, dtype=float).tolist() for key, column in made.items() if _is_number(column)}
        return {"column": name, "along": along, "curves": curves}

    def table(self, content: bytes, name: str) -> dict[str, Any]:
        """Return the predictions of an uploaded table: the first rows, and all of them as CSV."""
        ending = "".join(os.path.splitext(os.path.basename(name))[1:]) or ".csv"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"upload{ending}")
            with open(path, "wb") as file:
                file.write(content)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", TableWarning)
                try:
                    frame = read_table(path, parse=False)
                except DataError as error:
                    raise DataError(str(error).replace(path, name)) from None
            frame.attrs["source"] = name
        made, remarks = self._predicted(frame)
        out = io.BytesIO(writer_of("x.csv")(made, True))
        return {
            "rows": len(frame),
            "columns": list(made),
            "shown": records({key: column[:SHOWN] for key, column in made.items()}),
            "csv": out.getvalue().decode(),
            "remarks": [*(str(w.message).replace(path, name) for w in caught), *remarks],
        }

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return rows as a table with the columns of the form; what was left empty is a gap."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for field in self.fields:
            cells = [_cell(row.get(field.name)) for row in rows]
            numbers = all(cell is None or isinstance(cell, float) for cell in cells) and field.kind == "number"
            columns[field.name] = np.array([np.nan if c is None else c for c in cells]) if numbers else cells
        frame = pd.DataFrame(columns)
        frame.attrs["source"] = "the form"
        return frame

    def _predicted(self, frame: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return predictions and what the encoder has to say about the rows."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TableWarning)
            made = predictions(self._model, frame, 0.95)
        return made, [str(w.message) for w in caught if issubclass(w.category, TableWarning)]

    def _inputs(self, frame: pd.DataFrame) -> tuple[Matrix, list[str]]:
        """Return the rows as the machine sees them."""
        with data_refused(), warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            if len(self._steps) == 1:
                return frame[[field.name for field in self.fields]].to_numpy(dtype=float), []
            return np.asarray(self._model[:-1].transform(frame), dtype=float), []

    def _nearest(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        """Return the most similar of the cases that are kept, nearest first."""
        if self._encoded is None or self._table is None:
            return []
        row = self._inputs(frame)[0][0]
        distances = np.sqrt((((self._encoded - row) * self._spread) ** 2).sum(axis=1))
        shown = [field.name for field in self.fields]
        found = []
        for i in np.argsort(distances, kind="stable")[:NEAREST]:
            cells = {name: _shown(self._table[name].iloc[i]) for name in shown}
            found.append(
                {
                    "row": int(self._cases["numbers"][i]),
                    "target": self._cases["values"][i],
                    "distance": float(distances[i]),
                    "cells": cells,
                }
            )
        return found


def _number(name: str, values: Any, fill: float | None = None) -> Field:
    """Return the field of a column of numbers."""
    known = np.empty(0) if values is None else np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return Field(name, "number", fill)
    middle = float(np.median(known)) if fill is None else fill
    return Field(name, "number", middle, float(known.min()), float(known.max()))


def _cell(value: Any) -> Any:
    """Return a cell: numbers as such, text as it was typed, None for what was left empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return float(value)


def _shown(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return value.item() if isinstance(value, np.generic) else value


def _is_number(column: Any) -> bool:
    return bool(np.asarray(column).dtype.kind == "f")


def _first(made: Mapping[str, Any]) -> dict[str, Any]:
    return {key: column[0].item() if hasattr(column[0], "item") else column[0] for key, column in made.items()}


__all__ = ["Field", "Service"]
