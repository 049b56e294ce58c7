"""A small builder of ONNX graphs: every call adds a node and returns the name of its result."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Version of ONNX's operators, and of its file format, that are asked for.
OPSET, IR_VERSION = 17, 8


class Graph:
    """Nodes and constants of a graph with one input, ``X`` (n, d) of doubles."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ImportError("export to ONNX needs the package onnx: pip install 'bayesvm[onnx]'") from None
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, value: Any) -> str:
        """Return the name of a constant; numbers become doubles, text stays text."""
        array = np.asarray(value)
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        name = self._name("constant")
        if array.dtype.kind in "OU":
            helper, kind = self._onnx.helper, self._onnx.TensorProto.STRING
            texts = [str(entry).encode() for entry in array.ravel()]
            self.constants.append(helper.make_tensor(name, kind, array.shape, texts))
        else:
            self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; inputs that are not names become constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        out = self._name(kind.lower())
        self.nodes.append(self._onnx.helper.make_node(kind, names, [out], **attributes))
        return out

    def row_sum(self, matrix: str) -> str:
        """Return the sums of the rows, shape (n, 1)."""
        return self.op("ReduceSum", matrix, np.array([1], dtype=np.int64), keepdims=1)

    def model(self, n_features: int, outputs: dict[str, tuple[str, str, int | None]]) -> Any:
        """Return the model; outputs are name -> (result, "double", "int64" or "string", columns; None for a vector)."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        types = {"double": kinds.DOUBLE, "int64": kinds.INT64, "string": kinds.STRING}
        infos = []
        for name, (result, kind, columns) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [result], [name]))
            shape = ["n"] if columns is None else ["n", columns]
            infos.append(helper.make_tensor_value_info(name, types[kind], shape))
        X = helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", n_features])
        graph = helper.make_graph(self.nodes, "bayesvm", [X], infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="bayesvm")
        model.ir_version = IR_VERSION
        self._onnx.checker.check_model(model)
        return model


def labels(g: Graph, classes: Any, scores: str) -> tuple[str, str, None]:
    """Return the output of the class with the largest score in each row."""
    classes = np.asarray(classes)
    whole = classes.dtype.kind in "iu"
    named = classes.astype(np.int64) if whole else classes.astype(str)
    label = g.op("Gather", named, g.op("ArgMax", scores, axis=1, keepdims=0), axis=0)
    return label, "int64" if whole else "string", None


__all__ = ["Graph", "labels"]
