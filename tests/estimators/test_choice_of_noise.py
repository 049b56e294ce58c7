"""The default choice of the noise of a regression."""

from __future__ import annotations

import numpy as np
import pytest
from choice_problems import curve, curve_with_outliers

from bayesvm import BayesianSVR, GPRegressor
from bayesvm.inference import EP
from bayesvm.likelihoods import GaussianNoise, Huber, Laplace, SoftInsensitive
from bayesvm.models import target_kernels

HEAVY = (Laplace, Huber, SoftInsensitive)


def noise_share(machine):
    """Return the weight of noise other than Gaussian."""
    return sum(c.weight for c in machine.candidates_ if c.kernel.endswith("noise"))


@pytest.mark.parametrize("seed", [0, 1])
def test_gross_outliers_choose_noise_with_heavy_tails(seed):
    X, y = curve_with_outliers(seed=seed)
    machine = BayesianSVR().fit(X, y)
    assert noise_share(machine) == pytest.approx(1.0)
    assert isinstance(machine.likelihood_, HEAVY)
    rows = np.linspace(-2.8, 2.8, 40)[:, None]
    truth = np.sin(1.5 * rows[:, 0])
    errors = [np.sqrt(np.mean((m.predict(rows) - truth) ** 2)) for m in (machine, GPRegressor().fit(X, y))]
    assert errors[0] < 0.5 * errors[1]
    assert set(np.argsort(machine.outlier_score_)[-8:]) == set(range(0, 80, 10))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gaussian_noise_chooses_gaussian_noise(seed):
    X, y = curve(seed=seed)
    machine = BayesianSVR().fit(X, y)
    assert isinstance(machine.likelihood_, GaussianNoise)
    assert noise_share(machine) < 0.5
    assert machine.noise_std_ == pytest.approx(0.15, rel=0.4)


def test_residuals_that_look_gaussian_are_asked_nothing_more():
    machine = BayesianSVR().fit(*curve(seed=1))
    assert not any(c.kernel.endswith("noise") for c in machine.candidates_)


def test_the_evidence_of_noise_models_is_that_of_the_same_targets():
    X, y = curve_with_outliers(60)
    chosen = BayesianSVR(kernel=None, fix_variance=False).fit(X, y)
    row = next(c for c in chosen.candidates_ if c.kernel.endswith("laplace noise"))
    alone = BayesianSVR(kernel=None, fix_variance=False, likelihood="laplace", inference="ep").fit(X, y)
    assert isinstance(chosen.likelihood_, Laplace)
    assert chosen.log_evidence_ == pytest.approx(alone.log_evidence_, abs=1.5)  # the first has a hyperprior
    assert row.log_model_evidence == pytest.approx(alone.log_model_evidence_, abs=1.5)


@pytest.mark.parametrize("options", [{"kernel": None}, {"ard": True}, {"kernel": "rbf"}], ids=str)
def test_with_a_given_kernel_the_noise_alone_is_chosen(options):
    X, y = curve_with_outliers(60)
    machine = BayesianSVR(**options).fit(X, y)
    assert noise_share(machine) == pytest.approx(1.0)
    kernels = {c.kernel.removesuffix(" noise").rsplit(", ", 1)[0] for c in machine.candidates_[1:]}
    assert len(kernels) == 1
    assert sum(not c.kernel.endswith("noise") for c in machine.candidates_) == 1


@pytest.mark.parametrize("likelihood", ["gaussian-noise", "huber", "soft-insensitive", SoftInsensitive()], ids=str)
def test_with_given_noise_the_kernel_alone_is_chosen(likelihood):
    X, y = curve_with_outliers(40)
    machine = BayesianSVR(likelihood=likelihood).fit(X, y)
    assert noise_share(machine) == 0.0
    assert len(machine.candidates_) > 1
    assert sum(c.weight for c in machine.candidates_) == pytest.approx(1.0)


def test_the_thesis_machine_by_name():
    X, y = curve(40)
    machine = BayesianSVR(kernel=None, likelihood="soft-insensitive").fit(X, y)
    assert machine.candidates_ == ()
    assert isinstance(machine.likelihood_, SoftInsensitive)


def test_without_a_search_the_noise_is_the_thesis():
    X, y = curve(30)
    machine = BayesianSVR(optimizer=None).fit(X, y)
    assert machine.candidates_ == ()
    assert isinstance(machine.likelihood_, SoftInsensitive)


def test_intervals_of_averaged_noise_hold_their_share():
    X, y = curve_with_outliers(120)
    machine = BayesianSVR().fit(X, y)
    test, targets = curve(600, seed=9)
    low, high = machine.predict_interval(test, 0.9)
    assert np.mean((low < targets) & (targets < high)) > 0.85
    density = machine.log_density(test, targets)
    assert np.all(np.isfinite(density))
    assert np.mean(density) > np.mean(GPRegressor().fit(X, y).log_density(test, targets))


def test_noise_whose_evidence_does_not_converge_is_never_chosen(monkeypatch):
    monkeypatch.setattr(target_kernels, "NOISE", EP(tol=1e-12, max_iter=1))
    machine = BayesianSVR().fit(*curve_with_outliers(60))
    assert noise_share(machine) == 0.0
    rows = [c for c in machine.candidates_ if c.kernel.endswith("noise")]
    assert len(rows) == 3
    assert all(c.log_evidence == c.log_model_evidence == -np.inf for c in rows)
    assert machine.converged_


def test_targets_without_noise_and_targets_all_alike():
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    machine = BayesianSVR().fit(X, np.sin(3.0 * X[:, 0]))
    assert machine.predict(X) == pytest.approx(np.sin(3.0 * X[:, 0]), abs=0.02)
    flat = BayesianSVR().fit(X, np.full(20, 3.0))
    assert flat.predict(X) == pytest.approx(np.full(20, 3.0), abs=1e-6)
