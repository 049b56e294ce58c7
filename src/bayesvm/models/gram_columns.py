"""Columns of the Gram matrix of a kernel for the working-set solver: native where there is a native loop."""

from __future__ import annotations

import functools

import numpy as np

from bayesvm._core import working_set
from bayesvm.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Matrix


@functools.singledispatch
def columns_of(kernel: Kernel, X: Inputs) -> working_set.Columns:
    """Return the columns of ``kernel.gram(X)``; any kernel is asked for blocks of its Gram matrix."""

    def block(wanted: Indices, rows: Indices) -> Matrix:
        return np.ascontiguousarray(kernel.gram(X.take(wanted), X.take(rows)))

    return working_set.CallbackColumns(block, np.ascontiguousarray(kernel.diag(X)))


_any_kernel = columns_of.dispatch(object)


@columns_of.register
def _(kernel: Gaussian, X: Inputs) -> working_set.Columns:
    if X.is_sparse:
        return _any_kernel(kernel, X)
    scaled = (X.dense() - X.centre) / np.asarray(kernel.lengthscale)
    return working_set.KernelColumns(np.ascontiguousarray(scaled), True, kernel.variance)


@columns_of.register
def _(kernel: Linear, X: Inputs) -> working_set.Columns:
    if X.is_sparse:
        return _any_kernel(kernel, X)
    scaled = X.dense() * np.sqrt(np.asarray(kernel.variance))
    return working_set.KernelColumns(np.ascontiguousarray(scaled), False, 1.0)


@columns_of.register
def _(kernel: Polynomial, X: Inputs) -> working_set.Columns:
    if X.is_sparse:
        return _any_kernel(kernel, X)
    return working_set.KernelColumns(X.dense(), False, kernel.variance, kernel.offset, kernel.degree)


@columns_of.register
def _(kernel: Precomputed, X: Inputs) -> working_set.Columns:
    return working_set.DenseColumns(np.ascontiguousarray(kernel.gram(X)))


__all__ = ["columns_of"]
