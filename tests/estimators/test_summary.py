"""What an estimator says it has learnt: repr, summary, the view in notebooks."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace

import pytest
from model_zoo import data, fitted, models
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayesvm import BayesianSVC, BayesianSVR


@pytest.fixture(scope="module")
def classifier():
    return fitted(BayesianSVC(n_starts=1))


def test_repr_says_what_was_learnt(classifier):
    text = repr(classifier)
    assert text.startswith("BayesianSVC(n_starts=1) fitted: 36 rows, 2 features, 2 classes, log evidence ")
    assert f"{classifier.log_evidence_:.2f}" in text
    assert f"{len(classifier.support_)} support vectors" in text
    assert repr(clone(classifier)) == "BayesianSVC(n_starts=1)"


def test_print_of_the_kernel_has_what_was_learnt_and_no_shifts(classifier):
    text = str(classifier.kernel_)
    assert text.startswith("standardized(Gaussian(variance=")
    assert "shift" not in text
    assert "shift=(" in repr(classifier.kernel_)  # which evaluates to an equal kernel


def test_summary_has_kernel_evidence_and_support(classifier):
    summary = classifier.summary()
    lines = dict(summary.lines)
    assert lines["kernel"] == str(classifier.kernel_)
    assert lines["support vectors"].startswith(f"{len(classifier.support_)} of 36 rows")
    assert str(summary).splitlines()[0] == "BayesianSVC(n_starts=1)"
    assert all(len(line) <= 100 for line in str(summary).splitlines())


def test_kernels_of_several_classes_are_named():
    X, y, targets = data()
    classes = [label if target < 1.0 else "surely" for label, target in zip(y, targets)]
    lines = dict(fitted(BayesianSVC(multi_class="ovr", n_starts=1), X, classes).summary().lines)
    assert {"kernel of no", "kernel of surely", "kernel of yes"} <= set(lines)


def test_kernels_that_were_tried_are_told_best_first():
    lines = dict(fitted(BayesianSVC("auto", n_starts=1)).summary().lines)
    found = [float(value) for value in re.findall(r"weight\s+([\d.]+)%", lines["kernels tried"])]
    assert len(found) > 1
    assert found == sorted(found, reverse=True)


def test_weights_of_kernels_are_told(classifier):
    weighted = [SimpleNamespace(kernel=f"k{i}", log_evidence=float(-i), weight=0.1 * i) for i in range(7)]
    text = dict(vars_replaced(classifier, candidates_=tuple(weighted)).summary().lines)["kernels tried"]
    assert text.startswith("k6 (-6.00 nats, weight 60.0%); k5")
    assert text.endswith("; and 2 more")


def vars_replaced(estimator, **attributes):
    """Return a copy with other attributes."""
    other = copy.copy(estimator)
    vars(other).update(attributes)
    return other


def test_relevances_and_noise_are_told():
    X, _, targets = data()
    lines = dict(fitted(BayesianSVR(ard=True, n_starts=1), X, targets).summary().lines)
    assert lines["relevance"].startswith("x")
    assert lines["noise"].startswith("standard deviation ")


def test_notebooks_show_a_table(classifier):
    assert "<caption>BayesianSVC(n_starts=1)</caption>" in classifier._repr_mimebundle_()["text/html"]
    assert "support vectors" in classifier._repr_html_()
    assert "<caption>" not in BayesianSVC()._repr_html_()


def test_names_are_escaped():
    X, y, _ = data()
    wild = ["<b>" if label == "yes" else "a" if x < 0.0 else "c" for label, x in zip(y, X[:, 1])]
    page = fitted(BayesianSVC(multi_class="ovr", n_starts=1), X, wild).summary()._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.xdist_group("fitted models of every estimator")
def test_every_estimator_has_a_summary():
    for name, model in models():
        assert repr(model).startswith(f"{name}(")
        assert "fitted:" in repr(model)
        assert model.summary().lines


def test_nothing_is_said_before_the_fit():
    assert repr(BayesianSVC()) == "BayesianSVC()"
    with pytest.raises(NotFittedError):
        BayesianSVC().summary()
