"""Tables of named columns with text and gaps, and the step that makes numbers of them."""

from bayesvm.tables.encoder import ColumnKind, ColumnPlan, TableEncoder
from bayesvm.tables.readers import read_table
from bayesvm.tables.table import DataError, Table, as_table

__all__ = ["ColumnKind", "ColumnPlan", "DataError", "Table", "TableEncoder", "as_table", "read_table"]
