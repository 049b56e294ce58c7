r"""The encoder of tables as nodes, so that a pipeline becomes one model with an input per column.

Columns arrive as a reader of tables would hand them over, one input (n, 1) each, under the name of the column:

- numbers and truth values: doubles, nan for gaps;
- dates: doubles, days since 1970-01-01 (UTC), nan for gaps;
- categories: text, empty for gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.onnx_export.graph import IR_VERSION, OPSET, Graph
from bayesvm.tables import TableEncoder
from bayesvm.tables.columns import GAP, CategoryColumn, DateColumn, NumberColumn, TruthColumn
from bayesvm.tables.columns.base import Gaps
from bayesvm.tables.columns.date import MONDAY

#: Version of ONNX's operators for machine learning that is asked for.
ML_OPSET = 2
#: Name of what the encoder gives.
ENCODED = "encoded columns"
_EPOCH = np.datetime64("1970-01-01T00:00:00", "us")


def table_model(encoder: TableEncoder) -> Any:
    """Return the model of the encoder: from columns to the matrix."""
    import onnx

    helper, kinds = onnx.helper, onnx.TensorProto
    g = Graph()
    inputs, columns = [], []
    for plan in encoder.plans_:
        if plan.outputs:
            kind = kinds.STRING if isinstance(plan.column, CategoryColumn) else kinds.DOUBLE
            inputs.append(helper.make_tensor_value_info(plan.name, kind, ["n", 1]))
            columns += _encoded(g, plan.column, plan.name)
    nodes = [*g.nodes, helper.make_node("Concat", columns, [ENCODED], axis=1)]
    width = encoder.get_feature_names_out().size
    output = helper.make_tensor_value_info(ENCODED, kinds.DOUBLE, ["n", width])
    graph = helper.make_graph(nodes, "table", inputs, [output], g.constants)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(graph, opset_imports=imports, producer_name="bayesvm")
    model.ir_version = IR_VERSION
    return model


def _encoded(g: Graph, column: Any, name: str) -> list[str]:
    """Return the columns (n, k) that one column becomes."""
    if isinstance(column, CategoryColumn):
        return [_indicators(g, column, name)]
    if isinstance(column, NumberColumn | TruthColumn):
        return _filled(g, column.gaps, name)
    if isinstance(column, DateColumn):
        return _dates(g, column, name)
    raise TypeError(f"to_onnx: a {type(column).__name__} cannot be exported")


def _filled(g: Graph, gaps: Gaps, name: str) -> list[str]:
    missing = g.op("IsNaN", name)
    filled = g.op("Where", missing, np.array(gaps.fill), name)
    return [filled, g.op("Cast", missing, to=_double())] if gaps.marked else [filled]


def _dates(g: Graph, column: DateColumn, name: str) -> list[str]:
    origin = _days(np.datetime64(column.origin, "us"))
    columns = _filled(g, column.gaps, g.op("Sub", name, np.array(origin)))
    since_monday = g.op("Sub", name, np.array(_days(MONDAY)))
    missing = g.op("IsNaN", name)
    for cycle in column.cycles:
        angle = g.op("Mul", since_monday, np.array(2.0 * np.pi / cycle.value))
        for shift in (0.0, 0.5 * np.pi):  # the cosine is the sine a quarter of a turn ahead
            wave = g.op("Sin", g.op("Add", angle, np.array(shift)))
            columns.append(g.op("Where", missing, np.array(0.0), wave))
    return columns


def _indicators(g: Graph, column: CategoryColumn, name: str) -> str:
    """Return the indicators of categories: each text is a row of a table, unknown text the last."""
    keys = [*column.categories, *(column.rare or ()), ""]
    texts = [*keys[:-1], GAP]
    table = column.indicator_table([*texts, None])
    places = list(range(len(keys)))
    attributes = {"keys_strings": keys, "values_int64s": places, "default_int64": len(keys)}
    place = g.op("LabelEncoder", name, domain="ai.onnx.ml", **attributes)
    flat = g.op("Reshape", place, np.array([-1], dtype=np.int64))
    return g.op("Gather", table, flat, axis=0)


def _days(moment: np.datetime64) -> float:
    return float((moment - _EPOCH) / np.timedelta64(1, "D"))


def _double() -> int:
    import onnx

    return int(onnx.TensorProto.DOUBLE)


__all__ = ["ENCODED", "ML_OPSET", "table_model"]
