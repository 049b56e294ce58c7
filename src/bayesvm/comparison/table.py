"""The result of a comparison: rows, a table for the terminal, a data frame, a plot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """What is known about one model.

    Attributes
    ----------
    name : str
        As given, or the class of the model.
    log_evidence : float
        Of the training targets at the learnt hyperparameters; NaN if the model has none.
    log_model_evidence, log_model_evidence_error : float
        The same with the hyperparameters integrated out, and a bound of its error; NaN if the model has none.
    log_bayes_factor : float
        Log evidence of the kind that ``Comparison.basis`` names, minus that of the best model with a comparable one
        (zero for the best); NaN if not comparable.
    probability : float
        Posterior probability among the models with comparable evidences, all being equally probable before; NaN if not
        comparable.
    loo_nll, test_nll : float
        Mean negative log likelihood per row: leave-one-out on the training rows, and on the test rows.
    error : float
        Test error rate, or root mean squared error of a regressor.
    calibration_error : float
        Classifiers: expected calibration error of the test probabilities in ten bins. Regressors: difference between
        0.9 and the fraction of test targets inside the 90 % intervals.
    n_support : int
        Training rows that predictions use; -1 if not known.
    seconds : float
        Time to fit.
    notes : tuple of str
        What to bear in mind.
    """

    name: str
    log_evidence: float
    log_model_evidence: float
    log_model_evidence_error: float
    log_bayes_factor: float
    probability: float
    loo_nll: float
    test_nll: float
    error: float
    calibration_error: float
    n_support: int
    seconds: float
    notes: tuple[str, ...] = ()


#: Field, heading, format.
COLUMNS = (
    ("log_evidence", "log evidence", "{:.2f}"),
    ("log_model_evidence", "log model evidence", "{:.2f}"),
    ("log_model_evidence_error", "+-", "{:.2f}"),
    ("log_bayes_factor", "log Bayes factor", "{:.2f}"),
    ("probability", "P(model|data)", "{:.3f}"),
    ("loo_nll", "LOO NLL", "{:.4f}"),
    ("test_nll", "test NLL", "{:.4f}"),
    ("error", "error", "{:.4f}"),
    ("calibration_error", "calibration", "{:.4f}"),
    ("n_support", "SVs", "{:d}"),
    ("seconds", "seconds", "{:.2f}"),
)


#: What the Bayes factors rest on, in words.
BASIS = {
    "log_model_evidence": "Bayes factors and probabilities: by the model evidence, hyperparameters integrated out.",
    "log_evidence": "Bayes factors and probabilities: by the evidence at the learnt hyperparameters, which does not "
    "count them, since not every model has a model evidence.",
}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Models side by side, the best leave-one-out likelihood first.

    Attributes
    ----------
    rows : tuple of Row
        One per model.
    models : dict
        The fitted models by name.
    basis : {"log_model_evidence", "log_evidence"}
        On which of the two Bayes factors and probabilities rest: the one with the hyperparameters integrated out, if
        all models with a comparable evidence have it.
    """

    rows: tuple[Row, ...]
    models: dict[str, Any]
    basis: str = "log_model_evidence"

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no model is called {name!r}; the names are {', '.join(row.name for row in self.rows)}")

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """Return a pandas data frame, indexed by the names of the models."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(row) for row in self.rows]).set_index("name")

    def __str__(self) -> str:
        shown = [c for c in COLUMNS if any(_known(getattr(row, c[0])) for row in self.rows)]
        cells = [["model", *(heading for _, heading, _ in shown)]]
        cells += [[row.name, *(_text(getattr(row, field), form) for field, _, form in shown)] for row in self.rows]
        notes = [f"{row.name}: {note}" for row in self.rows for note in row.notes]
        words = [BASIS[self.basis]] if any(_known(row.log_bayes_factor) for row in self.rows) else []
        return "\n".join([*_aligned(cells), *words, *notes])

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draw leave-one-out and test likelihoods of the models and return the axes (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if None.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6.0, 0.6 * len(self.rows) + 1.2), layout="constrained")
        height = np.arange(len(self.rows))[::-1]
        for field, label, marker in (("loo_nll", "leave-one-out", "o"), ("test_nll", "test", "s")):
            values = np.array([getattr(row, field) for row in self.rows])
            if np.any(np.isfinite(values)):
                ax.plot(values, height, marker, label=label)
        ax.set_yticks(height, [row.name for row in self.rows])
        ax.set_xlabel("mean negative log likelihood (nats)")
        ax.margins(y=0.2)
        ax.grid(axis="x", alpha=0.4)
        ax.legend()
        return ax


def _known(value: float) -> bool:
    return bool(np.isfinite(value)) and value != -1


def _text(value: float, form: str) -> str:
    return form.format(value) if _known(value) else "-"


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with the first column to the left and the others to the right, and a rule below the head."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]) for row in cells]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


__all__ = ["COLUMNS", "Comparison", "Row"]
