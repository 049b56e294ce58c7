"""Metamorphic properties of every public estimator: what a change of the data must do to the predictions.

Each property takes an instance that was not fitted, inputs and targets, and raises ``AssertionError`` if it does not
hold. ``EXCEPTIONS`` names the estimators for which a property cannot hold, with the reason.
"""

from __future__ import annotations

import io
import pickle

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

import bayesvm

#: Largest difference of probabilities, and of predictions in units of the targets' spread, after a search whose
#: evaluations differ by rounding: the tolerance of a search, a few thousandths of a nat per hyperparameter.
CLOSE = 2e-2
#: The same where nothing but the rounding of one solution differs.
ROUNDING = 1e-6


def answers(estimator, X):
    """Return probabilities where there are some, else decision values or predictions, as one matrix."""
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(estimator, method):
            values = np.asarray(getattr(estimator, method)(X), dtype=float)
            return values.reshape(len(values), -1)
    raise TypeError(f"{type(estimator).__name__} predicts nothing")


def differ(a, b):
    """Return the largest difference in units of the spread of the first."""
    spread = 1.0 if np.all((a >= 0.0) & (a <= 1.0)) else max(float(np.ptp(a)), 1e-12)
    return float(np.max(np.abs(a - b))) / spread


def permutation(estimator, X, y):
    """The order of the rows does not matter."""
    order = np.random.default_rng(len(y)).permutation(len(y))
    first, second = clone(estimator).fit(X, y), clone(estimator).fit(X[order], y[order])
    assert differ(answers(first, X), answers(second, X)) < CLOSE


def repetition(estimator, X, y):
    """A row that is there twice counts as much as a row of weight two."""
    if not has_fit_parameter(estimator, "sample_weight"):
        return
    twice = np.arange(len(y)) % 3 == 0
    weighted = clone(estimator).fit(X, y, sample_weight=1.0 + twice)
    repeated = clone(estimator).fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    assert differ(answers(weighted, X), answers(repeated, X)) < CLOSE


def affine(estimator, X, y):
    """Other units and another origin of the inputs change nothing."""
    factor, shift = np.array([2.0**9, 2.0**-7])[: X.shape[1]], np.array([3.0, -5.0])[: X.shape[1]]
    parameters = estimator.get_params()
    if "standardize" not in parameters or str(parameters.get("kernel")) == "auto":
        factor = factor[:1]  # the mean variance, or a common scale that may be chosen: one unit for all columns
    other = (X + shift) * factor
    first, second = clone(estimator).fit(X, y), clone(estimator).fit(other, y)
    assert differ(answers(first, X), answers(second, other)) < CLOSE


def renamed_labels(estimator, X, y):
    """Names of classes do not matter: in the same order exactly, in the reverse order with columns exchanged."""
    if not is_classifier(estimator):
        return
    classes = np.unique(y)
    names = np.array(["alpha", "beta", "gamma"])
    same = names[np.searchsorted(classes, y)]
    reverse = -np.searchsorted(classes, y)
    first, second, third = (clone(estimator).fit(X, labels) for labels in (y, same, reverse))
    a, b, c = (answers(machine, X) for machine in (first, second, third))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        second.predict(X), np.array(["alpha", "beta", "gamma"])[np.searchsorted(classes, first.predict(X))]
    )
    turned = c[:, ::-1] if c.shape[1] > 1 else -c
    assert differ(a, turned) < CLOSE


def refit(estimator, X, y):
    """A second fit, of the same object or of a clone, gives the same numbers."""
    first = clone(estimator).fit(X, y)
    before = answers(first, X)
    np.testing.assert_array_equal(before, answers(clone(estimator).fit(X, y), X))
    np.testing.assert_array_equal(before, answers(first.fit(X, y), X))


def stored(estimator, X, y):
    """What is saved and loaded, or pickled, predicts the same to the last bit."""
    machine = clone(estimator).fit(X, y)
    before = answers(machine, X)
    file = io.BytesIO()
    bayesvm.save(machine, file)
    file.seek(0)
    np.testing.assert_array_equal(before, answers(bayesvm.load(file), X))
    np.testing.assert_array_equal(before, answers(pickle.loads(pickle.dumps(machine)), X))


def threads(estimator, X, y):
    """Two threads give the numbers of one."""
    if "n_jobs" not in estimator.get_params():
        return
    first, second = (clone(estimator).set_params(n_jobs=jobs).fit(X, y) for jobs in (None, 2))
    np.testing.assert_array_equal(answers(first, X), answers(second, X))


def constant_columns(estimator, X, y):
    """Columns that are constant change nothing."""
    wide = np.column_stack([np.full(len(X), 7.0), X, np.zeros(len(X)), np.full(len(X), -1e-3)])
    if "standardize" not in estimator.get_params():
        return  # the default kernel follows the number of columns, by its definition
    first, second = clone(estimator).fit(X, y), clone(estimator).fit(wide, y)
    assert differ(answers(first, X), answers(second, wide)) < CLOSE


PROPERTIES = {
    f.__name__: f for f in (permutation, repetition, affine, renamed_labels, refit, stored, threads, constant_columns)
}
_ORDER = "rows are taken in one after the other, and the first ones tune it"
_CHOSEN = "inducing inputs are chosen one after the other, and the order of the rows decides between equals"
_STARTS = "the random start of the weights depends on the number and signs of inputs and outputs"
EXCEPTIONS = {
    ("permutation", "OnlineGPClassifier"): _ORDER,
    ("permutation", "OnlineGPRegressor"): _ORDER,
    ("permutation", "DistributedSVC"): _CHOSEN,
    ("permutation", "DistributedSVR"): _CHOSEN,
    ("repetition", "DistributedSVC"): _CHOSEN,
    ("repetition", "DistributedSVR"): _CHOSEN,
    ("constant_columns", "BayesianMLPClassifier"): _STARTS,
    ("constant_columns", "BayesianMLPRegressor"): _STARTS,
    ("renamed_labels", "BayesianMLPClassifier"): _STARTS,
    ("constant_columns", "ProbabilisticSVC"): "without a search the start stands, which follows the number of columns",
}
