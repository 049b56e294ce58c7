"""log_model_evidence_: on which machines, in which units, with which prior, when it is computed, what it prefers."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayesvm import BayesianLSSVC, BayesianSVC, BayesianSVR, GPClassifier, GPRegressor, VariationalSVC
from bayesvm.hyper import EvidenceObjective, LogNormal, RelevanceShares, default_hyperprior, integrated_evidence
from bayesvm.kernels import Constant, Gaussian
from bayesvm.persistence import load, save

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4))
latent = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=50)
labels, targets = latent > 0.0, 3.0 + 2.0 * latent

MACHINES = [
    BayesianSVC(None, n_starts=1),
    GPClassifier(None, n_starts=1),
    VariationalSVC(n_starts=1),
    BayesianSVR(None, likelihood="soft-insensitive", n_starts=1),
    GPRegressor(None, n_starts=1),
]


def fitted(machine, **changes):
    y = targets if hasattr(machine, "log_density") else labels
    return clone(machine).set_params(**changes).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)
def test_every_self_tuning_machine_has_it(machine):
    with pytest.raises(NotFittedError):
        machine.log_model_evidence_  # noqa: B018 (reading it is the test)
    found = fitted(machine)
    assert np.isfinite(found.log_model_evidence_)
    assert 0.0 <= found.log_model_evidence_error_ < 10.0
    assert found.log_model_evidence_ < found.log_evidence_


def test_machines_without_such_an_evidence_do_not_have_it():
    assert not hasattr(BayesianLSSVC().fit(X, labels), "log_model_evidence_")


def test_it_is_computed_once_and_only_when_asked_for(monkeypatch):
    machine = fitted(GPRegressor(None, n_starts=1))
    calls = []
    evaluate = EvidenceObjective.evaluate
    monkeypatch.setattr(EvidenceObjective, "evaluate", lambda *args: calls.append(1) or evaluate(*args))
    first = machine.log_model_evidence_
    spent = len(calls)
    assert spent == machine.models_[0].model_evidence.evaluations
    assert 4 * len(machine.theta_names_) + 1 <= spent < 60
    assert machine.log_model_evidence_ == first
    assert machine.log_model_evidence_error_ >= 0.0
    assert len(calls) == spent
    machine.fit(X, 2.0 * targets)
    assert machine.log_model_evidence_ != first


def test_it_is_the_integral_under_the_default_hyperprior():
    machine = fitted(GPRegressor(None, n_starts=1))
    model = machine.models_[0]
    prior = default_hyperprior(np.sqrt(8.0), spread=1.0)
    objective = dataclasses.replace(model.objective, prior=prior)
    direct = integrated_evidence(objective, model.model_evidence.theta)
    assert model.model_evidence.value == pytest.approx(direct.value, abs=1e-6)
    assert np.max(np.abs(objective.evaluate(direct.theta).gradient)) < 0.3
    assert machine.log_model_evidence_ == pytest.approx(direct.value - 50 * np.log(np.std(targets)), abs=1e-6)


@pytest.mark.parametrize(
    "machine", [GPRegressor(None, n_starts=1), GPRegressor(None, n_starts=1, standardize=False)], ids=repr
)
def test_units_of_the_targets_move_it_by_their_jacobian(machine):
    small, large = clone(machine).fit(X, latent), clone(machine).fit(X, 100.0 * latent)
    gap = small.log_model_evidence_ - large.log_model_evidence_
    assert gap == pytest.approx(50 * np.log(100.0), abs=0.1)


def test_outputs_add_up():
    both = GPRegressor(None, n_starts=1).fit(X, np.column_stack([targets, -2.0 * targets]))
    single = GPRegressor(None, n_starts=1).fit(X, targets)
    expected = 2.0 * single.log_model_evidence_ - 50 * np.log(2.0)
    assert both.log_model_evidence_ == pytest.approx(expected, abs=1e-3)
    assert both.log_model_evidence_error_ == pytest.approx(2.0 * single.log_model_evidence_error_, abs=1e-3)


def test_a_proper_hyperprior_is_used_and_an_improper_one_replaced():
    plain = fitted(GPRegressor(None, n_starts=1))
    own = fitted(GPRegressor(None, n_starts=1), hyperprior=LogNormal(0.0, 1.0))
    model = own.models_[0]
    direct = integrated_evidence(model.objective, model.model_evidence.theta)
    assert model.objective.prior == LogNormal(0.0, 1.0)
    assert model.model_evidence.value == pytest.approx(direct.value, abs=1e-6)
    shares = fitted(GPRegressor(None, n_starts=1), hyperprior=RelevanceShares())
    assert shares.log_model_evidence_ == pytest.approx(plain.log_model_evidence_, abs=0.05)


def test_given_hyperparameters_are_not_integrated_out():
    machine = fitted(GPRegressor(Gaussian() + Constant()), optimizer=None)
    assert machine.log_model_evidence_ == machine.log_evidence_
    assert machine.log_model_evidence_error_ == 0.0
    fixed = fitted(GPClassifier((Gaussian() + Constant()).fix()))
    assert fixed.log_model_evidence_ == pytest.approx(fixed.log_evidence_, abs=1e-6)
    assert fixed.log_model_evidence_error_ == 0.0


def test_length_scales_that_are_not_needed_are_paid_for():
    wide = np.random.default_rng(1).normal(size=(60, 6))
    y = np.sin(wide.sum(axis=1) / 2.0) + 0.2 * np.random.default_rng(2).normal(size=60)
    one, several = GPRegressor(None).fit(wide, y), GPRegressor(None, ard=True).fit(wide, y)
    assert several.log_evidence_ > one.log_evidence_
    assert several.log_model_evidence_ < one.log_model_evidence_
    only_first = np.sin(2.0 * wide[:, 0]) + 0.2 * np.random.default_rng(2).normal(size=60)
    one, several = GPRegressor(None).fit(wide, only_first), GPRegressor(None, ard=True).fit(wide, only_first)
    assert several.log_model_evidence_ > one.log_model_evidence_ + 5.0


def test_copies_and_files_have_the_same(tmp_path):
    machine = fitted(BayesianSVC(None, n_starts=1))
    save(machine, tmp_path / "machine.bvm")
    value = machine.log_model_evidence_
    assert pickle.loads(pickle.dumps(machine)).log_model_evidence_ == value
    assert load(tmp_path / "machine.bvm").log_model_evidence_ == pytest.approx(value, abs=1e-6)
