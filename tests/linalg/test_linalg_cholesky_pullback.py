"""The derivative of a Cholesky factor in reverse mode, by differences."""

import numpy as np
import pytest

from bayesvm.linalg import cholesky
from bayesvm.linalg.cholesky_pullback import cholesky_pullback
from bayesvm.testing import five_point


def test_cholesky_pullback():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    bar, move = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    move = move + move.T
    direct = five_point(lambda t: np.sum(np.tril(bar) * cholesky(A + t[0] * move).lower()), np.zeros(1), 1e-3)
    assert np.sum(cholesky_pullback(cholesky(A), bar) * move) == pytest.approx(float(direct[0]), abs=1e-8)
