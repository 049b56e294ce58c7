"""The choice of a kernel on a part of the rows: what is tried there, what goes on with all rows, and when."""

from types import SimpleNamespace

import numpy as np
import pytest

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.estimators import _large
from bayesvm.inference import EP
from bayesvm.likelihoods import Logistic
from bayesvm.models import choice_on_part, large
from bayesvm.models.base import Trial
from bayesvm.models.choice_on_part import promised_score
from bayesvm.models.chosen_process import ChosenProcess, candidate_weights
from bayesvm.models.large import LargeProcess
from bayesvm.models.scaling import LogStandardizer

QUICK = {"random_state": 0, "evidence_tol": 0.1}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_large, "EXACT_ROWS", 150)
    monkeypatch.setattr(_large, "EXACT_ROWS_OF_LABELS", 250)
    monkeypatch.setattr(choice_on_part, "MANY", 150)
    monkeypatch.setattr(choice_on_part, "PART", 100)
    monkeypatch.setattr(large, "SAMPLE", 100)


def problem(n=200, amounts=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-6.0 * np.sin(1.5 * X[:, 0])))
    return (np.exp(1.5 * X) if amounts else X), y


@pytest.mark.parametrize("cls", [BayesianSVC, GPClassifier])
def test_candidates_are_tried_on_a_part_and_the_best_goes_on_with_all_rows(cls):
    X, y = problem()
    machine = cls(**QUICK).fit(X, y)
    first = [row for row in machine.candidates_ if row.kernel.endswith(" (100 rows)")]
    last = [row for row in machine.candidates_ if row not in first]
    assert machine.candidates_ == (*first, *last)
    assert {row.kernel.removesuffix(" (100 rows)") for row in first} >= {row.kernel for row in last}
    assert not any(row.kept or row.weight for row in first)
    assert sum(row.weight for row in last) == pytest.approx(1.0)
    assert len(first) > len(last) == 1
    assert any(row.kernel.endswith(", logistic (100 rows)") for row in first) == (cls is BayesianSVC)
    assert machine.models_[0].objective.n_rows == machine.loo_proba_.shape[0] == 200
    assert not hasattr(machine, "inducing_inputs_")
    alone = cls("auto", inducing=None, **QUICK).fit(X, y)
    np.testing.assert_allclose(machine.predict_proba(X), alone.predict_proba(X))


def test_the_best_likelihood_goes_on():
    X, y = problem()
    own = candidate_rows_of(BayesianSVC(likelihood="trigonometric", **QUICK).fit(X, y))
    assert not any("logistic" in name for name in own)
    machine = BayesianSVC(**QUICK).fit(X, y)
    names = candidate_rows_of(machine)
    assert len([name for name in names if not name.endswith("rows)")]) == 1
    assert isinstance(machine.likelihood_, Logistic) == ("logistic" in names[-1])
    forms = [name.removesuffix(" (100 rows)").removesuffix(", logistic") for name in names[:-1]]
    assert forms[:3] == ["gaussian", "gaussian", "matern32"]
    assert [name for name in forms if name.endswith(", ard")]
    assert forms[-1].endswith(" + linear")


def candidate_rows_of(machine):
    return [row.kernel for row in machine.candidates_]


def test_more_rows_promise_more_to_what_explains_them_than_to_what_is_simple():
    def model(log_evidence, score, determined):
        return SimpleNamespace(
            log_evidence=log_evidence, assessment=SimpleNamespace(score=score, determined=determined)
        )

    simple, rich = model(-100.0, -104.0, 2.0), model(-90.0, -110.0, 12.0)
    assert promised_score(simple, 1.0) == -104.0
    assert promised_score(simple, 3.0) == pytest.approx(-304.0 - np.log(3.0))
    assert promised_score(simple, 1.0) > promised_score(rich, 1.0)
    assert promised_score(simple, 3.0) < promised_score(rich, 3.0)


def test_few_rows_are_chosen_with_all_of_them():
    X, y = problem(n=140)
    assert not any("rows" in row.kernel for row in BayesianSVC(**QUICK).fit(X, y).candidates_)


@pytest.mark.parametrize(
    ("changes", "n", "kind"),
    [
        ({}, 250, ChosenProcess),
        ({}, 251, LargeProcess),
        ({"kernel": "rbf"}, 250, LargeProcess),
        ({"inference": "ep"}, 250, LargeProcess),
        ({"theta": "integrate"}, 250, LargeProcess),
        ({"inducing": 20}, 250, LargeProcess),
    ],
)
def test_when_it_is_exact(changes, n, kind, monkeypatch):
    specs = []
    monkeypatch.setattr("bayesvm.estimators._classifier.fit_model", lambda spec, data: specs.append(spec) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        BayesianSVC(**{**QUICK, **changes}).fit(*problem(n=n))
    assert type(specs[0]) is kind


def test_the_units_are_chosen_and_the_cost_is_said_before(caplog):
    caplog.set_level("INFO", logger="bayesvm")
    X, y = problem(amounts=True)
    machine = BayesianSVC(**QUICK).fit(X, y)
    assert isinstance(machine._standardizer, LogStandardizer)
    assert "200 rows, 2 features: exact inference" in caplog.messages[0]


def test_an_untrusted_candidate_stands_alone_if_there_is_no_other():
    untrusted, sound = (SimpleNamespace(assessment=SimpleNamespace(score=score)) for score in (-np.inf, -3.0))
    trials = [Trial("impossible", None, 0.0), Trial("untrusted", untrusted, 0.0)]
    np.testing.assert_array_equal(candidate_weights(trials), [0.0, 1.0])
    np.testing.assert_array_equal(candidate_weights([*trials, Trial("sound", sound, 0.0)]), [0.0, 0.0, 1.0])


# -- weights ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("span", "uneven"), [(1e2, False), (1e9, True)])
def test_expectation_propagation_is_run_once_where_weights_span_many_orders(span, uneven, monkeypatch):
    runs, plain = [], EP.iterate
    monkeypatch.setattr(EP, "iterate", lambda self, *args: runs.append(self.tol) or plain(self, *args))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    machine = BayesianSVC(n_starts=1, random_state=0)
    machine.fit(X, y, sample_weight=np.geomspace(1.0 / np.sqrt(span), np.sqrt(span), 30))
    tried = len(machine.candidates_)
    assert (len(runs) <= 3 * tried) == uneven  # decision, rough and final sites
    assert np.all(np.isfinite(machine.predict_log_proba(X)))
