"""Ripley's synthetic set (VanGestel2002 section 7.1) and the protocol of Table 1."""

import numpy as np
import pytest
from ls_svm_problems import data_set

from bayesvm.estimators.ls_svm import BayesianLSSVC
from bayesvm.hyper import Maximizer
from bayesvm.hyper.ls_svm import LevelsObjective, maximize_levels
from bayesvm.inference.ls_svm import Design
from bayesvm.kernels import Gaussian, Inputs

ROOT2 = float(np.sqrt(2.0))  # the paper's sigma is the square root of two times the length scale


@pytest.fixture(scope="module")
def rsy():
    data = data_set("rsy")
    return data["X"], data["y"].astype(float), data["train"], data["test"]


@pytest.fixture(scope="module")
def objective(rsy):
    X, y, train, _ = rsy
    Z = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0)
    return LevelsObjective(Gaussian().fix("variance"), Inputs(Z), y[train][:, None], Design(250))


@pytest.mark.parametrize(("sigma", "expected"), [(0.8, 96.565), (1.311, 101.067), (1.35, 101.068), (2.0, 99.267)])
def test_evidence_at_given_widths(objective, sigma, expected):
    result = objective.evaluate(np.log([sigma / ROOT2]))
    assert result.value == pytest.approx(expected, abs=6e-4)
    if sigma == 1.311:
        assert result.found.gamma == pytest.approx(1.640, abs=6e-4)
        assert result.found.gamma_eff == pytest.approx(17.85, abs=6e-3)


def test_evidence_is_smooth_in_the_width(objective):
    sigmas = np.exp(np.linspace(np.log(0.2), np.log(5.0), 200))
    values = np.array([objective.evaluate(np.log([s / ROOT2])).value for s in sigmas])
    second, third = np.diff(values, 2), np.diff(values, 3)
    assert np.max(np.abs(second)) < 0.1
    assert np.max(np.abs(third)) < 0.02  # a jump of j nats would show as 3 j here


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 2.0, 3.5, 5.0])
def test_width_is_found_from_any_start(objective, sigma):
    found = maximize_levels(Maximizer(tol=1e-11), objective, [np.log([sigma / ROOT2])])
    assert found.status.ok
    assert ROOT2 * np.exp(found.theta[0]) == pytest.approx(1.33094, abs=1e-4)


def test_accuracy_and_class_priors(rsy):
    X, y, train, test = rsy
    machine = BayesianLSSVC(Gaussian(lengthscale=1.311 / ROOT2), optimizer=None).fit(X[train], y[train])
    assert machine.log_evidence_ == pytest.approx(101.067, abs=6e-4)
    assert machine.score(X[test], y[test]) == pytest.approx(0.906, abs=1e-3)
    negatives = test[y[test] < 0.0]
    unbalanced = np.concatenate([test, negatives, negatives])
    plain = np.mean(machine.predict(X[unbalanced]) == y[unbalanced])
    informed = np.mean(machine.predict(X[unbalanced], class_prior=[0.75, 0.25]) == y[unbalanced])
    assert plain == pytest.approx(0.909, abs=2e-3)
    assert informed >= plain + 0.01


#: Accuracy and standard deviation of LS-SVM (BayM) in Table 1. Its ion (95.6) is out of reach on these splits, also for
#: a grid search
#: over SVC (94.3 here, 95.4 in the paper): see the benchmark.
TABLE = {
    "hea": (83.6, 5.1),
    "pid": (77.3, 3.1),
    "rsy": (90.2, 0.7),
    "tit": (78.8, 1.1),
    "wbc": (95.9, 0.6),
    "cra": (96.7, 1.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_table_one(name):
    data = data_set(name)
    X, y = data["X"], data["y"]
    size = 250 if name == "rsy" else 2 * len(y) // 3
    scores = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:size], order[size:]
        scores.append(100.0 * BayesianLSSVC(random_state=0).fit(X[train], y[train]).score(X[test], y[test]))
    mean, std = TABLE[name]
    error = np.sqrt((std**2 + np.var(scores, ddof=1)) / 10.0)  # of the difference of two means
    assert np.mean(scores) >= mean - 2.0 * error
