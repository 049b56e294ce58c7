"""Plain NumPy statements of what the native functions compute; the oracle of their tests."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector


def fixed_rule(values: Matrix, x: Vector, mean: Vector, scale: Vector, moments: int) -> Matrix:
    r"""Return the integrals by nodes x common to all samples, ``values`` being the functions there times the weights.

    Row f is :math:`\sum_k \varphi_f(x_k)\, \mathcal N(x_k; m, s^2)`. With one of the ``moments`` a row follows with the
    last function times :math:`u = (x - m)/s`, with two another of that times :math:`u^2 - 1`.
    """
    u = np.subtract.outer(x, mean) / scale
    bell = np.exp(-0.5 * u * u)
    rows = [values @ bell]
    for order in range(moments):
        bell *= u
        rows.append(values[-1:] @ bell - (rows[0][-1:] if order == 1 else 0.0))
    return np.asarray(np.concatenate(rows) / (np.sqrt(2.0 * np.pi) * scale))


__all__ = ["fixed_rule"]
