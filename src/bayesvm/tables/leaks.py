"""Columns that hold the answer: a copy of the target, or the target under other names."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.tables.frame import pandas
from bayesvm.tables.planning import SOME_ROWS
from bayesvm.tables.values import Texts, Values, is_gap, is_numeric, texts_of, values_of

#: Relative difference up to which a column counts as a linear function of the target.
EXACT = 1e-9


def target_of(y: Any) -> Values | None:
    """Return a target in one of the forms of a column; None if there is no target, or more than one."""
    target = np.asarray(y)
    return values_of(pandas().Series(target)) if target.ndim == 1 else None


def leak_of(values: Values, target: Values) -> str:
    """Return how a column gives the target away, in words; empty if it does not, or if there are few rows.

    A column does if it equals the target, if it is an exact linear function of it, or if its categories and the
    classes are the same but for their names.
    """
    if len(target) != len(values) or len(target) < SOME_ROWS or is_gap(values).any() or is_gap(target).any():
        return ""
    if is_numeric(values) and is_numeric(target):
        return _linear(values, target)
    codes = _codes(values)
    if not np.array_equal(codes, _codes(target)):
        return ""
    if np.array_equal(texts_of(values).distinct, texts_of(target).distinct):
        return "it equals the target"
    few = codes.max() + 1 < len(codes) // 2
    return "its values are the classes of the target under other names" if few else ""


def _codes(values: Values) -> np.ndarray:
    """Return numbers of the distinct values, in the order in which they appear."""
    return values.codes if isinstance(values, Texts) else np.asarray(pandas().factorize(values)[0])


def _linear(x: np.ndarray, y: np.ndarray) -> str:
    """Return whether numbers are an exact linear function of the target."""
    if np.array_equal(x, y):
        return "it equals the target"
    spread_x, spread_y = float(np.ptp(x)), float(np.ptp(y))
    if not (spread_x > 0.0 and spread_y > 0.0 and np.isfinite(spread_x) and np.isfinite(spread_y)):
        return ""
    u, v = (x - x.min()) / spread_x, (y - y.min()) / spread_y
    if min(np.abs(u - v).max(), np.abs(u + v - 1.0).max()) > EXACT:
        return ""
    if np.unique(y).size == 2:
        return "its values are the classes of the target under other names"
    return "it is a linear function of the target"


__all__ = ["leak_of", "target_of"]
