"""Training rows that a model file holds as they stand in the table, so that similar cases can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.tables.frame import row_numbers

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are kept at most; of more, some are drawn, always the same.
MOST = 1000


def cases_of(features: pd.DataFrame, y: np.ndarray, target: str) -> dict[str, Any]:
    """Return rows, targets and row numbers as JSON values."""
    chosen = np.arange(len(y))
    if chosen.size > MOST:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, MOST, replace=False))
    part = features.iloc[chosen]
    rows = [[_plain(value) for value in row] for row in part.itertuples(index=False, name=None)]
    return {
        "columns": [str(name) for name in features.columns],
        "rows": rows,
        "target": target,
        "values": [_plain(value) for value in y[chosen]],
        "numbers": row_numbers(part).tolist(),
    }


def frame_of(cases: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows as a table."""
    import pandas as pd

    return pd.DataFrame(cases["rows"], columns=cases["columns"])


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value: a number, a truth value, or text; None for a gap."""
    if value is None or (isinstance(value, float | np.floating) and not np.isfinite(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    text = str(value)
    return None if text in ("NaT", "<NA>") else text


__all__ = ["cases_of", "frame_of"]
