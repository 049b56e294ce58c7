"""Anderson mixing against the constrained least-squares problem that defines it, on linear and curved maps."""

import numpy as np
import pytest

from bayesvm.solvers.anderson import AndersonMixer


def by_definition(points, images, step):
    """Weights that sum to one and make the combined residual shortest, from the system of their Lagrangian."""
    X, R = np.stack(points, axis=1), np.stack(images, axis=1) - np.stack(points, axis=1)
    k = X.shape[1]
    system = np.block([[R.T @ R, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    weights = np.linalg.solve(system, np.append(np.zeros(k), 1.0))[:k]
    return (X + step * R) @ weights


@pytest.mark.parametrize("step", [0.3, 1.0])
def test_every_iterate_is_the_shortest_combination_of_the_last_residuals(step):
    rng = np.random.default_rng(0)
    A, b = 0.2 * rng.normal(size=(8, 8)), rng.normal(size=8)
    mixer, x, points, images = AndersonMixer(3), rng.normal(size=8), [], []
    for _ in range(6):
        image = np.tanh(A @ x) + b
        points, images = [*points, x][-4:], [*images, image][-4:]
        x = mixer.next(x, image, step)
        np.testing.assert_allclose(x, by_definition(points, images, step), atol=1e-8)


@pytest.mark.parametrize("radius", [0.95, 3.0])
def test_a_linear_map_is_solved_in_as_many_steps_as_dimensions(radius):
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(5, 5)), rng.normal(size=5)
    A *= radius / np.max(np.abs(np.linalg.eigvals(A)))  # beyond one the plain iteration diverges
    mixer, x = AndersonMixer(5), np.zeros(5)
    for _ in range(7):
        x = mixer.next(x, A @ x + b, 1.0)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(5) - A, b), atol=1e-7)


def test_forgetting_begins_with_a_damped_step():
    mixer, x = AndersonMixer(2), np.ones(3)
    mixer.next(x, np.cos(x), 1.0)
    mixer.forget()
    np.testing.assert_array_equal(mixer.next(x, np.cos(x), 0.5), 0.5 * (x + np.cos(x)))


def test_a_curved_map_takes_fewer_steps_than_the_plain_iteration():
    def steps(advance):
        x = np.array([0.1, 2.0])
        for k in range(200):
            if np.max(np.abs(np.cos(x) - x)) < 1e-12:
                return k
            x = advance(x, np.cos(x))
        return 200

    mixer = AndersonMixer(3)
    assert steps(lambda x, image: mixer.next(x, image, 1.0)) < steps(lambda x, image: image) / 4
