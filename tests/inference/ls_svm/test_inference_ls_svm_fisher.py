"""Discriminant directions against the eigenproblem in feature space."""

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.inference.ls_svm import (
    Design,
    fisher_directions,
    solve_direct,
)
from bayesvm.kernels import Polynomial


@pytest.mark.parametrize("weighted", [False, True])
def test_fisher_direction_is_that_of_the_least_squares_machine(weighted):
    X, _, _ = random_problem(2, n=60)
    y = np.where(np.random.default_rng(0).random(60) + X[:, 0] > 0.6, 1.0, -1.0)
    K = Polynomial(2).gram(X)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=60) if weighted else None
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    fisher = fisher_directions(K, groups, weights, 0.7, 1)
    alpha = solve_direct(K, y[:, None], Design(60, True, weights), 0.7).alpha[:, 0]
    direction = fisher.alpha[:, 0]
    cosine = direction @ alpha / np.sqrt((direction @ direction) * (alpha @ alpha))
    np.testing.assert_allclose(abs(cosine), 1.0, atol=1e-12)


def test_fisher_directions_solve_the_eigenproblem_in_feature_space():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, size=70)
    Phi = rng.normal(size=(70, 5)) + 1.5 * np.eye(3, 5)[codes]
    gamma = 0.4
    fisher = fisher_directions(Phi @ Phi.T, np.eye(3)[codes], None, gamma, 2)
    W = Phi.T @ fisher.alpha
    centre = Phi.mean(axis=0)
    means = np.stack([Phi[codes == c].mean(axis=0) for c in range(3)])
    between = sum((codes == c).sum() * np.outer(m - centre, m - centre) for c, m in enumerate(means))
    within = (Phi - means[codes]).T @ (Phi - means[codes]) + np.eye(5) / gamma
    ratios = np.linalg.eigvals(np.linalg.solve(within + between, between)).real
    np.testing.assert_allclose(np.sort(ratios)[::-1][:2], fisher.ratio, atol=1e-10)
    np.testing.assert_allclose(W.T @ within @ W, (70 - 3) * np.eye(2), atol=1e-8)
    np.testing.assert_allclose((means - centre) @ W, fisher.centres, atol=1e-9)
    residual = between @ W - within @ W * (fisher.ratio / (1.0 - fisher.ratio))
    np.testing.assert_allclose(residual, 0.0, atol=1e-8)
