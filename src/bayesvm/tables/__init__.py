"""Tables of named columns with text and gaps, read from files, and the step that makes numbers of them.

Tables are pandas DataFrames. Names are imported when they are first used, so that the command line is quick to help.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesvm.tables.columns import ColumnKind as ColumnKind
    from bayesvm.tables.encoder import ColumnPlan as ColumnPlan
    from bayesvm.tables.encoder import TableEncoder as TableEncoder
    from bayesvm.tables.errors import DataError as DataError
    from bayesvm.tables.errors import TableWarning as TableWarning
    from bayesvm.tables.readers import read_table as read_table

#: Public names and the modules that define them.
_NAMES = {
    "ColumnKind": "bayesvm.tables.columns",
    "ColumnPlan": "bayesvm.tables.encoder",
    "DataError": "bayesvm.tables.errors",
    "TableEncoder": "bayesvm.tables.encoder",
    "TableWarning": "bayesvm.tables.errors",
    "read_table": "bayesvm.tables.readers",
}

__all__ = ["ColumnKind", "ColumnPlan", "DataError", "TableEncoder", "TableWarning", "read_table"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'bayesvm.tables' has no attribute {name!r}")
