"""One quick instance of every public estimator: the registry that the tests of all estimators run over."""

from __future__ import annotations

import inspect

import numpy as np
from sklearn.base import is_classifier

import bayesvm
from bayesvm.kernels import Constant, Gaussian

GIVEN = Gaussian() + Constant()

#: Every public estimator with settings that keep its fits short.
QUICK = {
    "BayesianLSSVC": {"n_starts": 2},
    "BayesianLSSVR": {"n_starts": 2},
    "BayesianMLPClassifier": {"hidden": 2, "n_starts": 1, "random_state": 0, "max_cycles": 3},
    "BayesianMLPRegressor": {"hidden": 2, "n_starts": 1, "random_state": 0, "max_cycles": 3},
    "BayesianSVC": {"kernel": None, "n_starts": 2},
    "BayesianSVR": {"kernel": None, "likelihood": "soft-insensitive", "n_starts": 1},
    "Committee": {"estimator": bayesvm.BayesianSVC(None, n_starts=1)},
    "ExtendedSVC": {},
    "ExtendedSVR": {},
    "GPClassifier": {"kernel": None, "n_starts": 2},
    "GPRegressor": {"kernel": None, "n_starts": 2},
    "KernelFisherDiscriminant": {},
    "OnlineGPClassifier": {"inference": "laplace"},
    "OnlineGPRegressor": {},
    "ProbabilisticSVC": {"optimizer": None, "n_nodes": 10, "normalizer_tol": 50.0},
    "RelevanceVectorClassifier": {"kernel": Gaussian(), "optimizer": None},
    "RelevanceVectorRegressor": {"kernel": Gaussian(1.0, 3.0), "optimizer": None},
    "TrigonometricSVC": {},
    "VariationalSVC": {"kernel": GIVEN, "optimizer": None},
}

#: Classifiers that choose their kernel, as they do by default: several fits in one.
CHOOSING = {"BayesianSVC": {"n_starts": 2}, "GPClassifier": {"n_starts": 2}}


def estimator_names():
    """Return the estimators among the public names of the library."""
    names = [name for name in bayesvm.__all__ if not name.startswith("_")]
    classes = {name: getattr(bayesvm, name) for name in names}
    return sorted(name for name, value in classes.items() if inspect.isclass(value) and hasattr(value, "fit"))


def quick(name):
    """Return a quick instance of a public estimator."""
    return getattr(bayesvm, name)(**QUICK[name])


def instances():
    """Return a quick instance of every public estimator."""
    return [quick(name) for name in sorted(QUICK)]


def choosing():
    """Return the classifiers that choose their kernel."""
    return [getattr(bayesvm, name)(**options) for name, options in CHOOSING.items()]


def small_data(estimator, n=24, seed=0):
    """Return inputs with targets that suit an estimator."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = X[:, 0] + 0.3 * np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=n)
    return X, np.where(f > 0.0, "yes", "no") if is_classifier(estimator) else f
