"""Bayesian networks: derivatives, levels of inference, estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from bayesvm.datasets import make_robot_arm, make_sinc
from bayesvm.estimators.bayesian_mlp import BayesianMLPClassifier, BayesianMLPRegressor
from bayesvm.inference.mlp import Network, NetworkTrainer
from bayesvm.likelihoods import GaussianNoise
from bayesvm.testing import five_point, relative_error

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
    pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("ard", [True, False])
def test_derivatives_of_the_network(ard):
    network = Network(3, 4, 2, ard)
    rng = np.random.default_rng(0)
    X, w, slope = rng.normal(size=(6, 3)), network.start(rng), rng.normal(size=(6, 2))
    J = network.jacobian(w, X)
    expected = np.moveaxis(five_point(lambda w: network.forward(w, X)[0], w, step=1e-3), 0, -1)
    assert relative_error(J, expected) < 1e-9
    gradient = network.backward(w, X, network.forward(w, X)[1], slope)
    np.testing.assert_allclose(gradient, np.einsum("nk,nkw->w", slope, J), atol=1e-12)


def test_groups_cover_the_weights():
    network = Network(3, 4, 2)
    assert network.groups().size == network.size == network.start(np.random.default_rng(0)).size
    np.testing.assert_array_equal(np.bincount(network.groups()), [4, 4, 4, 4, 8, 2])
    np.testing.assert_array_equal(np.bincount(Network(3, 4, 2, ard=False).groups()), [12, 4, 8, 2])


def test_training_finds_noise_and_function():
    X, y, f = make_sinc(150, noise=0.1, random_state=0)
    machine = BayesianMLPRegressor(hidden=8, n_starts=2, random_state=0).fit(X, y)
    mean, std = machine.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - f) ** 2)) < 0.06
    assert machine.noise_std_ == pytest.approx(0.1, rel=0.2)
    _, latent = machine.predict(X, return_std=True, return_noise=False)
    np.testing.assert_allclose(std**2, latent**2 + machine.noise_std_**2)


def test_irrelevant_inputs_are_switched_off():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.05 * rng.normal(size=120)
    machine = BayesianMLPRegressor(hidden=5, n_starts=2, random_state=0).fit(X, y)
    assert np.argmax(machine.relevance_) == 0
    assert np.all(machine.relevance_[1:] < 0.02 * machine.relevance_[0])


def test_evidence_prefers_a_sufficient_network():
    X, y, _ = make_sinc(100, noise=0.1, random_state=0)
    machine = BayesianMLPRegressor(hidden=(1, 6), n_starts=2, random_state=0).fit(X, y)
    assert machine.n_hidden_ == 6
    assert machine.evidence_by_size_[6] > machine.evidence_by_size_[1] + 10.0


def test_well_determined_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.tanh(X[:, :1]) + 0.1 * rng.normal(size=(80, 1))
    trained = NetworkTrainer().train(Network(2, 3, 1), X, Y, GaussianNoise(0.1), rng)
    counts = np.bincount(trained.network.groups())
    assert np.all(trained.determined > 0.0)
    assert np.all(trained.determined <= counts)


def test_classes():
    X, y = load_iris(return_X_y=True)
    machine = BayesianMLPClassifier(hidden=3, n_starts=1, random_state=0).fit(X, y)
    proba = machine.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert machine.score(X, y) > 0.94
    X, y = make_moons(150, noise=0.2, random_state=0)
    assert BayesianMLPClassifier(hidden=6, n_starts=2, random_state=0).fit(X, y).score(X, y) > 0.93


def test_no_start_ends_at_a_linear_function():
    X, y = make_moons(150, noise=0.2, random_state=0)
    found = [BayesianMLPClassifier(hidden=6, n_starts=1, random_state=seed).fit(X, y) for seed in range(4)]
    assert min(machine.score(X, y) for machine in found) > 0.93
    assert np.ptp([machine.log_evidence_ for machine in found]) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("n_inputs", [2, 6])
def test_robot_arm(n_inputs):
    X, Y, _ = make_robot_arm(400, n_inputs=n_inputs, random_state=0)
    machine = BayesianMLPRegressor((8, 16), random_state=0).fit(X[:200], Y[:200])
    assert np.sum(np.mean((machine.predict(X[200:]) - Y[200:]) ** 2, axis=0)) < 0.0066
    if n_inputs == 6:
        assert np.all(machine.relevance_[4:] < 1e-2 * machine.relevance_[0])


@pytest.mark.parametrize("bad", [{"hidden": 0}, {"hidden": ()}, {"n_starts": 0}])
def test_bad_arguments(bad):
    X, y, _ = make_sinc(20, random_state=0)
    with pytest.raises(ValueError, match=next(iter(bad))):
        BayesianMLPRegressor(**bad).fit(X, y)
