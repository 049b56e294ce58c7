"""``bayesvm predict``: from a saved model and a table to a table of predictions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bayesvm.cli.errors import data_refused
from bayesvm.cli.exit_codes import UsageError
from bayesvm.cli.reading import find_columns
from bayesvm.persistence import load
from bayesvm.tables import DataError
from bayesvm.tables.frame import column_of, source_of
from bayesvm.tables.parsing import parsed
from bayesvm.tables.values import is_numeric, values_of

if TYPE_CHECKING:
    import pandas as pd


def load_model(path: str) -> Any:
    """Load a model from a file, or from standard input if the path is "-"."""
    try:
        model = load(sys.stdin.buffer if path == "-" else path)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if not hasattr(model, "predict"):
        raise DataError(f"{path}: the model in the file makes no predictions")
    return model


def predictions(model: Any, frame: pd.DataFrame, confidence: float) -> dict[str, np.ndarray]:
    """Return columns: label and probabilities, or mean, standard deviation and interval."""
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
    with data_refused():
        if isinstance(model, Pipeline):
            machine, inputs = model[-1], model[:-1].transform(frame)
        else:
            machine, inputs = model, _matrix(model, frame)
        return _predicted(machine, inputs, confidence)


def _predicted(machine: Any, inputs: Any, confidence: float) -> dict[str, np.ndarray]:
    if is_classifier(machine):
        columns = {}
        if hasattr(machine, "predict_proba"):
            proba = machine.predict_proba(inputs)
            columns = {f"P({label})": proba[:, k] for k, label in enumerate(machine.classes_)}
        return {"prediction": np.asarray(machine.predict(inputs)), **columns}
    if not hasattr(machine, "predict_interval"):
        return {"prediction": np.asarray(machine.predict(inputs))}
    mean, std = machine.predict(inputs, return_std=True)
    lower, upper = machine.predict_interval(inputs, confidence)
    return {"prediction": mean, "std": std, "lower": lower, "upper": upper}


def _matrix(model: Any, frame: pd.DataFrame) -> np.ndarray:
    """Return the columns that a model without an encoder was fitted on."""
    names = [str(name) for name in getattr(model, "feature_names_in_", frame.columns)]
    for name in names:
        column_of(frame, name)
    columns = []
    table = parsed(frame[names])
    for name in names:
        values = values_of(table[name])
        if not is_numeric(values) or np.isnan(values).any():
            raise DataError(f"{source_of(frame)}, column {name!r}: expected numbers without gaps")
        columns.append(values)
    return np.column_stack(columns)


def kept_columns(frame: pd.DataFrame, wanted: Sequence[str], made: Sequence[str]) -> dict[str, np.ndarray]:
    """Return columns of the data that are to stand beside the predictions, as they stand in the file."""
    names = find_columns(frame, wanted)
    twice = [name for name in names if name in made]
    if twice:
        raise UsageError(f"--keep: the predictions have a column {twice[0]!r} of their own")
    return {name: frame[name].to_numpy(dtype=object) for name in names}


__all__ = ["kept_columns", "load_model", "predictions"]
