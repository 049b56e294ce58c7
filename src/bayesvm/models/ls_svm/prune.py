"""Sparse least-squares machines: pruning the spectrum of support values, with refits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesvm.inference.ls_svm import Design, solve_direct
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Matrix

#: Share of the rows that is left out between two refits.
STEP = 0.1


def pruned_sizes(n: int, target: int) -> list[int]:
    """Return the sizes of the machines on the way from n rows to ``target``, the last one included."""
    sizes, size = [], n
    while size > target:
        size = max(target, min(size - 1, int(np.floor((1.0 - STEP) * size))))
        sizes.append(size)
    return sizes


def prune(
    kernel: Kernel, X: Inputs, y: Matrix, design: Design, gamma: float, target: int, visit: Callable[[Indices], float]
) -> tuple[Indices, tuple[tuple[int, float], ...]]:
    r"""Leave out the rows with the smallest support values :math:`|\alpha_i|`, a tenth at a time, and refit.

    VanGestel2002 section 2.2. The refit to the rows that are kept decides which row goes next.

    Parameters
    ----------
    kernel : Kernel
        With its learnt parameters.
    X, y, design : Inputs, array, Design
        All rows.
    gamma : float
        Ratio of hyperparameters.
    target : int
        Number of rows to keep.
    visit : callable
        Returns the log evidence, of all data, of the machine that rests on the given rows.

    Returns
    -------
    kept : array of int
        The rows that are left.
    curve : tuple of (int, float)
        Size and log evidence after every step.
    """
    kept = np.arange(len(X))
    curve = []
    for size in pruned_sizes(len(X), target):
        weights = None if design.weights is None else design.weights[kept]
        part = Design(kept.size, design.bias, weights)
        first = solve_direct(kernel.gram(X.take(kept)), y[kept], part, gamma)
        value = np.max(np.abs(first.alpha), axis=1)
        kept = np.sort(kept[np.argsort(-value, kind="stable")[:size]])
        curve.append((size, visit(kept)))
    return kept, tuple(curve)


__all__ = ["prune", "pruned_sizes"]
