"""Weights are counts."""

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.inference.ls_svm import (
    Design,
    level3,
    solve_direct,
)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_are_counts(bias):
    _, K, y = random_problem(11, n=18)
    counts = np.random.default_rng(0).integers(1, 4, size=18)
    rows = np.repeat(np.arange(18), counts)
    weighted = level3(K, y, Design(18, bias, counts.astype(float)))
    repeated = level3(K[np.ix_(rows, rows)], y[rows], Design(rows.size, bias))
    np.testing.assert_allclose(weighted[2].value, repeated[2].value, rtol=1e-8)
    for name in ("gamma", "mu", "zeta", "gamma_eff", "E_W", "E_D"):
        np.testing.assert_allclose(getattr(weighted[1], name), getattr(repeated[1], name), rtol=1e-6)
    gamma = weighted[1].gamma
    one = solve_direct(K, y, Design(18, bias, counts.astype(float)), gamma)
    other = solve_direct(K[np.ix_(rows, rows)], y[rows], Design(rows.size, bias), gamma)
    np.testing.assert_allclose(one.latent[rows], other.latent, atol=1e-8)


def test_weights_must_exceed_one_row():
    with pytest.raises(ValueError, match="sum to more than 1"):
        Design(3, True, np.full(3, 0.2))


def test_scaling_and_centring_are_products_with_dense_matrices():
    rng = np.random.default_rng(0)
    v, B = rng.uniform(0.5, 2.0, size=9), rng.normal(size=(9, 3))
    K, design = np.cov(rng.normal(size=(9, 20))), Design(9, True, v)
    S, s = np.diag(np.sqrt(v)), np.sqrt(v)
    np.testing.assert_allclose(design.scaled_gram(K), S @ K @ S)
    np.testing.assert_allclose(design.scaled(B), S @ B)
    np.testing.assert_allclose(design.centred(B), (np.eye(9) - np.outer(s, s) / v.sum()) @ B, atol=1e-12)
    assert (design.total, design.freedom, design.size) == (pytest.approx(v.sum()), pytest.approx(v.sum() - 1.0), 8)
    plain = Design(9, bias=False)
    assert plain.centred(B) is B
    assert plain.scaled_gram(K) is K
    assert (plain.total, plain.freedom, plain.size) == (9.0, 9.0, 9)
