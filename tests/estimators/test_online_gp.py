"""Learning sample by sample: equality with the batch machine, projection, saving, speed of the scikit-learn face."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from bayesvm.datasets import make_sinc
from bayesvm.estimators.gaussian_process import GPRegressor
from bayesvm.estimators.online_gp import OnlineGPClassifier, OnlineGPRegressor
from bayesvm.inference import EP
from bayesvm.inference.online import OnlineUpdate
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import GaussianNoise, Logistic, Probit, SoftInsensitive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


def run(options, K, y, likelihood, order=None):
    """Return the state after all samples, and the rows of the basis vectors."""
    state, basis = options.empty(), np.empty(0, dtype=int)
    for i in np.arange(len(y)) if order is None else order:
        state, kept = options.observe(state, K[i, basis], float(K[i, i]), float(y[i]), likelihood)
        basis = np.append(basis, i)[kept]
    return state, basis


def test_gaussian_noise_equals_the_batch_in_any_order():
    X, y, _ = make_sinc(150, noise=0.2, random_state=0)
    K, noise = Gaussian(1.0, 1.5).gram(X), 0.04
    inverse = np.linalg.inv(K + noise * np.eye(len(y)))
    expected_var = np.diagonal(K) - np.einsum("ij,jk,ki->i", K, inverse, K)
    _, log_det = np.linalg.slogdet(2.0 * np.pi * (K + noise * np.eye(len(y))))
    for order in (None, np.random.default_rng(0).permutation(len(y))):
        state, basis = run(OnlineUpdate(), K, y, GaussianNoise(noise), order)
        mean, var = state.predict(K[:, basis], np.diagonal(K))
        np.testing.assert_allclose(mean, K @ inverse @ y, atol=1e-8)
        np.testing.assert_allclose(var, expected_var, atol=1e-8)
        assert state.log_evidence == pytest.approx(-0.5 * (y @ inverse @ y + log_det), abs=1e-7)
        assert state.n_seen == 150


def test_projection_changes_little_when_the_basis_suffices():
    X, y, _ = make_sinc(200, noise=0.2, random_state=0)
    K = Gaussian(1.0, 1.5).gram(X)
    exact, all_rows = run(OnlineUpdate(), K, y, GaussianNoise(0.04))
    small, basis = run(OnlineUpdate(60, 1e-6), K, y, GaussianNoise(0.04))
    assert small.size < 60
    a, b = exact.predict(K[:, all_rows], np.diagonal(K)), small.predict(K[:, basis], np.diagonal(K))
    np.testing.assert_allclose(a[0], b[0], atol=1e-3)
    np.testing.assert_allclose(a[1], b[1], atol=1e-4)


def test_budget_is_kept_and_the_factor_stays_that_of_the_basis():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(120, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    K = Gaussian(1.0, 1.0).gram(X)
    state, basis = run(OnlineUpdate(20, 1e-6), K, y, GaussianNoise(0.01))
    assert state.size == 20
    np.testing.assert_allclose(state.K, K[np.ix_(basis, basis)])
    L = state.factor.lower()
    np.testing.assert_allclose(L @ L.T, state.K, atol=1e-7)
    _, var = state.predict(K[:, basis], np.diagonal(K))
    assert np.all(var > 0.0)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=["probit", "logistic"])
def test_labels_come_close_to_expectation_propagation(likelihood):
    X, y = make_moons(80, noise=0.2, random_state=0)
    labels = np.where(y == 1, 1.0, -1.0)
    K = Gaussian(4.0, 0.8).gram(X)
    state, basis = run(OnlineUpdate(), K, labels, likelihood, np.random.default_rng(0).permutation(80))
    mean, _ = state.predict(K[:, basis], np.diagonal(K))
    posterior, _ = EP().infer(K, labels, likelihood)
    batch = posterior.mean(K[:, posterior.support])
    assert np.corrcoef(mean, batch)[0, 1] > 0.98
    assert np.mean(np.sign(mean) == np.sign(batch)) > 0.95


def test_noise_with_heavy_tails():
    X, y, f = make_sinc(150, noise=0.1, random_state=0)
    y[::15] += 4.0
    K = Gaussian(1.0, 1.5).gram(X)
    state, basis = run(OnlineUpdate(60, 1e-6), K, y, SoftInsensitive(10.0, 0.1, 0.3))
    robust = np.sqrt(np.mean((state.predict(K[:, basis], np.diagonal(K))[0] - f) ** 2))
    state, basis = run(OnlineUpdate(60, 1e-6), K, y, GaussianNoise(0.01))
    assert robust < np.sqrt(np.mean((state.predict(K[:, basis], np.diagonal(K))[0] - f) ** 2))


def test_regressor_without_budget_equals_the_batch_machine():
    X, y, _ = make_sinc(120, noise=0.1, random_state=1)
    online = OnlineGPRegressor(budget=None, novelty=0.0, n_tune=120).fit(X, y)
    batch = GPRegressor(None, n_starts=2).fit(X, y)
    for found, expected in zip(online.predict(X, return_std=True), batch.predict(X, return_std=True)):
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_batches_and_interruptions_do_not_matter():
    X, y, _ = make_sinc(300, noise=0.1, random_state=1)
    whole = OnlineGPRegressor(Gaussian(1.0, 0.3), optimizer=None).partial_fit(X[:100], y[:100])
    parts = pickle.loads(pickle.dumps(whole))
    whole.partial_fit(X[100:], y[100:])
    for start in range(100, 300, 7):
        parts.partial_fit(X[start : start + 7], y[start : start + 7])
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-7)
    assert parts.n_seen_ == whole.n_seen_ == 300


def test_novelty():
    X, y, _ = make_sinc(200, noise=0.1, random_state=1)
    machine = OnlineGPRegressor(Gaussian(1.0, 0.3) + Constant(1e-3), optimizer=None).fit(X, y)
    near, far = machine.novelty_score(X[:5]), machine.novelty_score([[100.0]])
    assert np.all(near < 1e-4)
    assert far[0] > 0.9


def test_classes_that_come_later():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    first = np.flatnonzero(y != 2)[:40]
    rest = np.setdiff1d(np.arange(150), first)
    machine = OnlineGPClassifier(n_tune=40).partial_fit(X[first], y[first], classes=[0, 1, 2])
    machine.partial_fit(X[rest], y[rest])
    assert machine.score(X, y) > 0.9
    with pytest.raises(ValueError, match="labels among"):
        machine.partial_fit(X[:1], [7])


@pytest.mark.parametrize("bad", [{"budget": 0}, {"novelty": -1.0}, {"n_tune": 1}])
def test_bad_arguments(bad):
    X, y, _ = make_sinc(20, random_state=0)
    with pytest.raises(ValueError, match=next(iter(bad))):
        OnlineGPRegressor(**bad).fit(X, y)
