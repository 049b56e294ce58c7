"""Labels from bounds of the odds, and new rows in several threads."""

import numpy as np
import pytest

from bayesvm import BayesianLSSVC, BayesianSVC, BayesianSVR, GPClassifier, VariationalSVC
from bayesvm.estimators import _jobs
from bayesvm.kernels import Constant, Gaussian


def problem(n=60, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0.0, 1.0, classes + 1)[1:-1]))


MACHINES = {
    "averaged": BayesianSVC(),
    "weighted classes": BayesianSVC(Gaussian() + Constant(), class_weight="balanced", class_prior=[0.8, 0.2]),
    "laplace": BayesianSVC(Gaussian() + Constant(), posterior="laplace", calibrate=None, reduce=None),
    "logistic": GPClassifier(Gaussian() + Constant()),
    "variational": VariationalSVC(n_starts=1),
    "mode": VariationalSVC(n_starts=1, predict_with="mode"),
    "least squares": BayesianLSSVC(),
}


@pytest.mark.parametrize("name", MACHINES)
def test_labels_are_those_of_the_probabilities(name):
    X, y = problem()
    machine = MACHINES[name].fit(X, y)
    new = 1.5 * np.random.default_rng(1).normal(size=(3000, 2))
    for prior in (None, [0.1, 0.9], "empirical"):
        codes = np.argmax(machine.predict_log_proba(new, prior), axis=1)
        np.testing.assert_array_equal(machine.predict(new, prior), machine.classes_[codes])


def test_variances_are_computed_only_where_the_mean_leaves_the_label_open(monkeypatch):
    X, y = problem()
    machine = BayesianSVC(Gaussian() + Constant()).fit(X, y)
    new, counted = 1.5 * np.random.default_rng(1).normal(size=(3000, 2)), []
    log_odds = type(machine)._log_odds
    monkeypatch.setattr(type(machine), "_log_odds", lambda own, part: counted.append(len(part)) or log_odds(own, part))
    machine.predict(new)
    assert sum(counted) < 600


@pytest.mark.parametrize("classes", [2, 3])
def test_threads_change_nothing(classes, monkeypatch):
    monkeypatch.setattr(_jobs, "LEAST", 50)
    X, y = problem(classes=classes)
    new = np.random.default_rng(1).normal(size=(333, 2))
    machine = BayesianSVC(Gaussian() + Constant(), n_starts=1).fit(X, y)
    alone = machine.predict(new), machine.predict_proba(new), *machine.predict_latent(new)
    machine.set_params(n_jobs=3)
    together = machine.predict(new), machine.predict_proba(new), *machine.predict_latent(new)
    for one, three in zip(alone, together, strict=True):
        np.testing.assert_allclose(three, one, rtol=1e-9, atol=1e-12)


def test_threads_change_nothing_in_regression(monkeypatch):
    monkeypatch.setattr(_jobs, "LEAST", 50)
    X, _ = problem()
    new = np.random.default_rng(1).normal(size=(333, 2))
    noise = 0.1 * np.random.default_rng(2).normal(size=len(X))
    machine = BayesianSVR(n_starts=1).fit(X, np.sin(X[:, 0]) + noise)

    def predictions():
        return (
            machine.predict(new),
            *machine.predict(new, return_std=True),
            *machine.predict_latent(new),
            *machine.predict_interval(new),
        )

    alone = predictions()
    machine.set_params(n_jobs=2)
    for one, two in zip(alone, predictions(), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12)
