"""Small fitted models of every estimator, for the tests of saving, reports and export."""

from __future__ import annotations

import functools
import inspect
import warnings

import numpy as np
from sklearn.base import is_classifier

from bayesvm import BayesianSVC, Committee
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.persistence.registry import own_classes


def estimator_classes():
    """Return the public estimators of the library that can be made without arguments."""
    found = []
    for cls in own_classes().values():
        public = cls.__module__.startswith("bayesvm.estimators.") and "._" not in cls.__module__ and hasattr(cls, "fit")
        needed = [p for p in inspect.signature(cls).parameters.values() if p.default is p.empty] if public else ["-"]
        if public and not needed and not cls.__name__.startswith("_"):
            found.append(cls)
    return sorted(found, key=lambda cls: cls.__name__)


def data(n=36, seed=0):
    """Return inputs, two-class labels and real targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = X[:, 0] + 0.3 * np.sin(2.0 * X[:, 1])
    return X, np.where(f + 0.3 * rng.normal(size=n) > 0.0, "yes", "no"), f + 0.1 * rng.normal(size=n)


def quick(cls):
    """Return an estimator with little to search."""
    estimator = cls()
    fast = {"n_starts": 1, "max_evaluations": 30, "max_cycles": 30, "random_state": 0}
    return estimator.set_params(**{k: v for k, v in fast.items() if k in estimator.get_params()})


def fitted(estimator, X=None, y=None):
    """Fit on the small data, whether or not it converges in so few steps."""
    if X is None:
        X, labels, targets = data()
        y = labels if is_classifier(estimator) else targets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


@functools.cache
def models():
    """Return (name, fitted estimator) of every estimator, a committee among them; the same ones at every call."""
    pairs = ((cls.__name__, fitted(quick(cls))) for cls in estimator_classes())
    return (*pairs, ("Committee", fitted(Committee(BayesianSVC(None, n_starts=2, max_evaluations=30)))))


def predictions(estimator, X):
    """Return what the estimator says about X, by method."""
    found = {"predict": np.asarray(estimator.predict(X))}
    if hasattr(estimator, "predict_proba"):
        found["predict_proba"] = np.asarray(estimator.predict_proba(X))
    if hasattr(estimator, "predict_interval"):
        found["predict_interval"] = np.asarray(estimator.predict_interval(X))
    return found
