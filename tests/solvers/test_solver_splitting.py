"""Splitting: the proximal map against its definition, its limit against the mode, and what few steps are worth."""

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import Newton, splitting
from bayesvm.solvers.splitting import Proximal, approached

LOSSES = [lib.SoftInsensitive(8.0, 0.3, beta=0.3), lib.SoftInsensitive(8.0, 0.3, beta=1.0), lib.SmoothInsensitive(5.0)]


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_t(3, size=n)
    return (Gaussian(1.5, 4.0) + Constant()).gram(Inputs(X)), y


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("rho", [0.4, 7.0, 300.0])
def test_the_proximal_map_is_a_root_of_its_derivative(loss, rho):
    v = np.concatenate([np.linspace(-3.0, 3.0, 601), [0.0, -1e6, 1e6]])
    r = Proximal(loss, rho)(v)
    slope = loss.derivatives(v, v - r).gradient  # of the loss of the latent value v - r with the target v: -l'(r)
    bend = np.max(np.abs(loss.slopes(splitting.PLACES)[2]))  # of the slope, which is interpolated
    table = loss.C / rho * bend * np.diff(splitting.PLACES)[0] ** 2 / 8.0
    np.testing.assert_allclose(r - slope / rho, v, rtol=1e-12, atol=1e-12 + table)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_many_steps_end_at_the_mode(loss, monkeypatch):
    K, y = problem(40)
    monkeypatch.setattr(splitting, "STEPS", 5000)
    monkeypatch.setattr(splitting, "NEAR", 1e-12)
    mode = Newton().solve(K, y, loss)
    np.testing.assert_allclose(approached(K, y, loss, np.zeros(40)), mode.f, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_nearly_all_rows_are_brought_into_the_zones_where_they_belong(loss):
    K, y = problem()
    mode = Newton().solve(K, y, loss)
    far = 0.3 * y
    near = approached(K, y, loss, far)

    def misplaced(f):
        return np.sum(np.searchsorted(loss.knots, y - f) != np.searchsorted(loss.knots, y - mode.f))

    assert misplaced(near) <= 0.1 * misplaced(far)
    assert Newton().solve(K, y, loss, warm_start=near).n_iter < Newton().solve(K, y, loss, warm_start=far).n_iter


def test_the_mode_stays_where_it_is():
    K, y = problem()
    mode = Newton().solve(K, y, LOSSES[0])
    np.testing.assert_allclose(approached(K, y, LOSSES[0], mode.f), mode.f, atol=1e-6)


def test_it_ends_where_both_parts_agree(monkeypatch):
    K, y = problem()
    steps = []

    class Counted(splitting.Proximal):
        def __call__(self, v):
            steps.append(v)
            return super().__call__(v)

    monkeypatch.setattr(splitting, "Proximal", Counted)
    approached(K, y, LOSSES[0], Newton().solve(K, y, LOSSES[0]).f)
    assert len(steps) == 1
    approached(K, y, LOSSES[0], 0.3 * y)
    assert len(steps) == 1 + splitting.STEPS
