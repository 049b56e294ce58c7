"""``bayesvm predict``: from a saved model and a table to a table of predictions."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bayesvm.cli.exit_codes import UsageError
from bayesvm.persistence import load
from bayesvm.persistence.container import write_atomically
from bayesvm.tables import DataError, Table
from bayesvm.tables.readers import guess_format


def load_model(path: str) -> Any:
    """Load a model from a file, or from standard input if the path is "-"."""
    try:
        model = load(sys.stdin.buffer if path == "-" else path)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if not hasattr(model, "predict"):
        raise DataError(f"{path}: the model in the file makes no predictions")
    return model


def predictions(model: Any, table: Table, confidence: float) -> dict[str, np.ndarray]:
    """Return columns: label and probabilities, or mean, standard deviation and interval."""
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
    if isinstance(model, Pipeline):
        machine, inputs = model[-1], model[:-1].transform(table)
    else:
        machine, inputs = model, _matrix(model, table)
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


def _matrix(model: Any, table: Table) -> np.ndarray:
    """Return the columns that a model without an encoder was fitted on."""
    names = [str(n) for n in getattr(model, "feature_names_in_", table.names)]
    columns = []
    for name in names:
        column = table.column(name)
        if column.dtype.kind != "f" or np.isnan(column).any():
            raise DataError(f"{table.source}, column {name!r}: expected numbers without gaps")
        columns.append(column)
    return np.column_stack(columns)


def write_predictions(columns: dict[str, np.ndarray], out: str) -> None:
    """Write a table of predictions: CSV, TSV or Parquet by the end of the name, CSV to standard output for "-"."""
    if out == "-":
        sys.stdout.write(_delimited(columns, ","))
        return
    kind = guess_format(out)
    if kind == "parquet":
        write_atomically(Path(out), _parquet(columns))
    else:
        write_atomically(Path(out), _delimited(columns, "\t" if kind == "tsv" else ",").encode())


def _delimited(columns: dict[str, np.ndarray], delimiter: str) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values()):
        writer.writerow([f"{float(v):.10g}" if isinstance(v, float | np.floating) else str(v) for v in row])
    return text.getvalue()


def _parquet(columns: dict[str, np.ndarray]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("writing Parquet needs pyarrow: pip install 'bayesvm[cli]'") from None
    out = io.BytesIO()
    plain = {name: [str(v) for v in c] if c.dtype.kind in "OU" else c for name, c in columns.items()}
    pq.write_table(pa.table(plain), out)
    return out.getvalue()


__all__ = ["load_model", "predictions", "write_predictions"]
