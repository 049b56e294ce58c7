"""Kernels as nodes: cross covariances with fixed rows, and prior variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.kernels import (
    MLP,
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Logarithmic,
    Matern32,
    Matern52,
    OrnsteinUhlenbeck,
    Polynomial,
    RationalQuadratic,
    Rescaled,
)
from bayesvm.kernels.combine import OnColumns, Product, Sum
from bayesvm.kernels.inputs import signed_logarithm
from bayesvm.onnx_export.graph import Graph
from bayesvm.typing import Matrix, Vector


def cross_gram(g: Graph, kernel: Kernel, X: str, Z: Matrix) -> str:
    """Return k(x, z) of the input rows and the fixed rows Z, shape (n, m)."""
    return _writer(kernel)(g, kernel, X, Z)


def prior_variance(g: Graph, kernel: Kernel, X: str) -> str:
    """Return k(x, x), shape (n, 1)."""
    if isinstance(kernel, Sum):
        return g.op("Add", prior_variance(g, kernel.left, X), prior_variance(g, kernel.right, X))
    if isinstance(kernel, Product):
        return g.op("Mul", prior_variance(g, kernel.left, X), prior_variance(g, kernel.right, X))
    if isinstance(kernel, OnColumns):
        return prior_variance(g, kernel.kernel, _columns(g, kernel, X))
    if isinstance(kernel, Rescaled):
        return prior_variance(g, kernel.kernel, _rescaled(g, kernel, X))
    if isinstance(kernel, Logarithmic):
        return prior_variance(g, kernel.kernel, logarithms(g, X, np.array(kernel.origin), np.array(kernel.unit)))
    if isinstance(kernel, Linear):
        return g.row_sum(g.op("Mul", g.op("Mul", X, X), np.atleast_1d(kernel._values)))
    if isinstance(kernel, Polynomial | MLP):
        return _of_inner(g, kernel, g.row_sum(g.op("Mul", X, X)))
    _writer(kernel)
    zero = g.op("Mul", g.row_sum(X), np.zeros((1, 1)))
    return g.op("Add", zero, np.array([[float(kernel.variance)]]))  # type: ignore[attr-defined]


def _columns(g: Graph, kernel: OnColumns, X: str) -> str:
    return g.op("Gather", X, np.array(kernel.columns, dtype=np.int64), axis=1)


def _rescaled(g: Graph, kernel: Rescaled, X: str) -> str:
    return g.op("Div", g.op("Sub", X, np.array([kernel.shift])), np.array([kernel.scale]))


def logarithms(g: Graph, X: str, origin: Vector, unit: Vector) -> str:
    """Return :func:`~bayesvm.kernels.inputs.signed_logarithm` of rows."""
    curved = unit > 0.0
    u = g.op("Div", g.op("Sub", X, origin[None, :]), np.where(curved, unit, 1.0)[None, :])
    size = g.op("Log", g.op("Add", g.op("Abs", u), np.array(1.0)))
    return g.op("Where", curved[None, :], g.op("Mul", g.op("Sign", u), size), X)


def _squared_distances(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    scale = np.broadcast_to(kernel._values, Z.shape[1])
    centre = np.median(Z, axis=0) if len(Z) else np.zeros(Z.shape[1])
    z = (Z - centre) / scale
    x = g.op("Div", g.op("Sub", X, centre[None, :]), scale[None, :].copy())
    norms = g.op("Add", g.row_sum(g.op("Mul", x, x)), np.sum(z * z, axis=1)[None, :])
    r2 = g.op("Sub", norms, g.op("MatMul", x, 2.0 * z.T))
    return g.op("Max", r2, np.array(0.0))


def _scaled(g: Graph, kernel: Any, values: str) -> str:
    return g.op("Mul", values, np.array(float(kernel.variance)))


def _gaussian(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    half = g.op("Mul", _squared_distances(g, kernel, X, Z), np.array(-0.5))
    return _scaled(g, kernel, g.op("Exp", half))


def _ornstein_uhlenbeck(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    r = g.op("Sqrt", _squared_distances(g, kernel, X, Z))
    return _scaled(g, kernel, g.op("Exp", g.op("Neg", r)))


def _matern(factor: float, quadratic: float) -> Callable[[Graph, Any, str, Matrix], str]:
    def write(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
        s = g.op("Sqrt", g.op("Mul", _squared_distances(g, kernel, X, Z), np.array(factor)))
        inner = g.op("Add", g.op("Mul", s, np.array(quadratic)), np.array(1.0))
        polynomial = g.op("Add", g.op("Mul", s, inner), np.array(1.0))
        return _scaled(g, kernel, g.op("Mul", polynomial, g.op("Exp", g.op("Neg", s))))

    return write


def _rational_quadratic(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    r2 = _squared_distances(g, kernel, X, Z)
    base = g.op("Add", g.op("Mul", r2, np.array(0.5 / kernel.alpha)), np.array(1.0))
    return _scaled(g, kernel, g.op("Exp", g.op("Mul", g.op("Log", base), np.array(-float(kernel.alpha)))))


def _laplacian(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    scale = np.broadcast_to(kernel._values, Z.shape[1])
    x, z, s = g.op("Div", X, scale[None, :].copy()), Z / scale, ""
    for l in range(Z.shape[1]):  # one matrix at a time, instead of all features at once
        column = g.op("Gather", x, np.array([l], dtype=np.int64), axis=1)
        away = g.op("Abs", g.op("Sub", column, z[None, :, l].copy()))
        s = g.op("Add", s, away) if s else away
    return _scaled(g, kernel, g.op("Exp", g.op("Neg", g.op("Pow", s, np.array(float(kernel.power))))))


def _linear(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    return g.op("MatMul", X, (Z * kernel._values).T)


def _inner(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    return _of_inner(g, kernel, g.op("MatMul", X, Z.T))


def _of_inner(g: Graph, kernel: Any, inner: str) -> str:
    if isinstance(kernel, MLP):
        argument = g.op("Add", g.op("Mul", inner, np.array(float(kernel.scale))), np.array(float(kernel.offset)))
        return _scaled(g, kernel, g.op("Tanh", argument))
    base = g.op("Add", inner, np.array(float(kernel.offset)))
    return _scaled(g, kernel, g.op("Pow", base, np.array(float(kernel.degree))))


def _constant(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    zero = g.op("Mul", g.row_sum(X), np.zeros((1, 1)))
    return g.op("Add", zero, np.full((1, len(Z)), float(kernel.variance)))


def _pair(kind: str) -> Callable[[Graph, Any, str, Matrix], str]:
    return lambda g, kernel, X, Z: g.op(kind, cross_gram(g, kernel.left, X, Z), cross_gram(g, kernel.right, X, Z))


def _on_columns(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    return cross_gram(g, kernel.kernel, _columns(g, kernel, X), Z[:, list(kernel.columns)])


def _on_rescaled(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    z = (Z - np.array(kernel.shift)) / np.array(kernel.scale)
    return cross_gram(g, kernel.kernel, _rescaled(g, kernel, X), z)


def _on_logarithmic(g: Graph, kernel: Any, X: str, Z: Matrix) -> str:
    origin, unit = np.array(kernel.origin), np.array(kernel.unit)
    return cross_gram(g, kernel.kernel, logarithms(g, X, origin, unit), signed_logarithm(Z, origin, unit))


#: How each class of kernels is written.
WRITERS: dict[type, Callable[[Graph, Any, str, Matrix], str]] = {
    Gaussian: _gaussian,
    OrnsteinUhlenbeck: _ornstein_uhlenbeck,
    Matern32: _matern(3.0, 0.0),
    Matern52: _matern(5.0, 1.0 / 3.0),
    RationalQuadratic: _rational_quadratic,
    Laplacian: _laplacian,
    Linear: _linear,
    Polynomial: _inner,
    MLP: _inner,
    Constant: _constant,
    Sum: _pair("Add"),
    Product: _pair("Mul"),
    OnColumns: _on_columns,
    Rescaled: _on_rescaled,
    Logarithmic: _on_logarithmic,
}


def _writer(kernel: Kernel) -> Callable[[Graph, Any, str, Matrix], str]:
    writer = WRITERS.get(type(kernel))
    if writer is None:
        raise TypeError(f"to_onnx: the kernel {type(kernel).__name__} cannot be exported")
    return writer


__all__ = ["WRITERS", "cross_gram", "logarithms", "prior_variance"]
