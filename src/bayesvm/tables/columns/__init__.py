"""What becomes of a column: numbers, moments, truth values, categories, or nothing."""

from bayesvm.tables.columns.base import Column, ColumnKind, Encoded
from bayesvm.tables.columns.category import GAP, OTHER, CategoryColumn
from bayesvm.tables.columns.date import Cycle, DateColumn
from bayesvm.tables.columns.left_out import LeftOut
from bayesvm.tables.columns.number import NumberColumn
from bayesvm.tables.columns.truth import TruthColumn

__all__ = [
    "GAP",
    "OTHER",
    "CategoryColumn",
    "Column",
    "ColumnKind",
    "Cycle",
    "DateColumn",
    "Encoded",
    "LeftOut",
    "NumberColumn",
    "TruthColumn",
]
