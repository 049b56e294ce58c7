"""Sollich1999 (8), as printed and with derivatives."""

import numpy as np
import pytest
from hinge_problems import KERNEL, problem

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.hinge import (
    HingeExactOrEP,
    NaiveHinge,
    hinge_mode,
)
from bayesvm.likelihoods import Hinge, Logistic


def printed(K, y, C, guarded):
    """Sollich1999 (8), written down again."""
    mode = hinge_mode(K, y, np.full(y.size, C))
    alpha, theta = y * mode.alpha, mode.f
    loss = np.where(y * theta < 1.0, 1.0 - y * theta, 0.0)
    m = mode.marginal
    L_m = np.diag(2.0 * np.pi * (alpha[m] * (C - alpha[m]) / C) ** 2)
    matrix = L_m @ K[np.ix_(m, m)] + (np.eye(m.size) if guarded else 0.0)
    value = -0.5 * np.sum(y * alpha * theta) - C * np.sum(loss) - y.size * np.log(1.0 + np.exp(-2.0 * C))
    return value - 0.5 * np.log(np.linalg.det(matrix))


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 25])
def test_equation_8_as_printed(n, guarded):
    X, y = problem(n, seed=n)
    K = KERNEL.gram(X)
    found = NaiveHinge(guarded=guarded).infer(K, y, Hinge(1.8))[1]
    assert found.value == pytest.approx(printed(K, y, 1.8, guarded), abs=1e-8)
    assert found.value == pytest.approx(sum(found.terms.values()))


def test_other_likelihoods_are_refused():
    with pytest.raises(IncompatibleError, match="cannot treat Logistic: it needs the likelihood Hinge"):
        NaiveHinge().check(Logistic())
    with pytest.raises(ValueError, match="exact_up_to: expected 0 to 3, found 4"):
        HingeExactOrEP(exact_up_to=4)
