"""Which points to label next."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bayesvm.datasets import make_sinc
from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.estimators.online_gp import OnlineGPClassifier
from bayesvm.estimators.suggest import STRATEGIES, _bald, suggest
from bayesvm.likelihoods import Logistic, RaisedCosine


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(150, noise=0.2, random_state=0)
    return X, y, GPClassifier(None, n_starts=1).fit(X[:30], y[:30])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_returns_distinct_rows(moons, strategy):
    X, _, machine = moons
    rows = suggest(machine, X[30:], 8, strategy)
    assert rows.shape == (8,)
    assert np.unique(rows).size == 8
    assert rows.min() >= 0
    assert rows.max() < 120


def test_variance_prefers_what_is_far_away():
    X, y, _ = make_sinc(40, noise=0.1, random_state=0)
    machine = GPRegressor(None, n_starts=1).fit(X, y)
    pool = np.array([[0.0], [30.0], [1.0]])
    for strategy in STRATEGIES:
        assert suggest(machine, pool, 1, strategy)[0] == 1


def test_chosen_together_points_do_not_repeat_one_another():
    X, y, _ = make_sinc(40, noise=0.1, random_state=0)
    machine = GPRegressor(None, n_starts=1).fit(X, y)
    pool = np.array([[30.0], [30.001], [30.002], [-40.0], [0.0]])
    assert set(suggest(machine, pool, 2, "variance").tolist()) & {0, 1, 2}
    assert 3 in suggest(machine, pool, 2, "variance")


@pytest.mark.parametrize("likelihood", [Logistic(), RaisedCosine()], ids=["logistic", "raised-cosine"])
def test_mutual_information(likelihood):
    mean, var = np.array([0.0, 0.0, 0.0, 3.0]), np.array([0.0, 1.0, 25.0, 1.0])
    found = _bald(likelihood, mean, var)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < found[1] < found[2] < np.log(2.0)
    assert found[3] < found[1]


@pytest.mark.parametrize("machine", [BayesianSVC(None, n_starts=1), OnlineGPClassifier(inference="laplace")])
def test_other_machines(machine):
    X, y = make_moons(80, noise=0.2, random_state=0)
    assert suggest(machine.fit(X[:40], y[:40]), X[40:], 3).shape == (3,)


def test_bad_arguments(moons):
    X, _, machine = moons
    with pytest.raises(ValueError, match="strategy"):
        suggest(machine, X, 1, "random")
    with pytest.raises(ValueError, match="n: expected"):
        suggest(machine, X[:5], 6)
