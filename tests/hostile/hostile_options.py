"""Hostile data for every public estimator with its defaults and its main options: see :mod:`hostile_data`.

A case is a pure function of its number. Labels are of several classes as often as of two. With ``MANY`` rows count as
many from the first one on, so that inducing inputs and neighbours are used as they are for thousands of rows.
"""

from __future__ import annotations

import contextlib
import dataclasses
from unittest import mock

import numpy as np
from hostile_data import Case, draw_for, judge
from public_estimators import GIVEN, QUICK
from sklearn.base import is_classifier

import bayesvm
from bayesvm import distributed
from bayesvm.estimators import _large, ls_svm
from bayesvm.hyper import large as search
from bayesvm.models import large

MANY = "many rows"

_SETTINGS = {
    "BayesianSVC": [
        {},
        {"multi_class": "shared", "kernel": None},
        {"multi_class": "ovr", "n_starts": 2},
        {"multi_class": "softmax", "n_starts": 2},
        {"multi_class": "softmax", "kernel": GIVEN, "calibrate": None, "n_starts": 1},
        {"inducing": 8, "n_starts": 1},
        {"inducing": 5, "kernel": None, "likelihood": "logistic", "calibrate": None, "n_starts": 1},
        {MANY: True, "n_starts": 1},
        {"reduce": None},
        {"reduce": 0.5, "calibrate": "loo"},
        {"theta": "integrate", "n_starts": 1},
        {"posterior": "laplace", "calibrate": None, "kernel": None},
        {"likelihood": "probit", "inference": "ep", "kernel": None, "n_starts": 1},
        {"likelihood": "logistic", "inference": "variational", "kernel": None, "n_starts": 1},
        {"solver": "smo", "kernel": None, "n_starts": 1},
        {"class_weight": "balanced"},
        {"ard": True, "kernel": None, "n_starts": 2},
    ],
    "BayesianSVR": [
        {},
        {"likelihood": "soft-insensitive", "n_starts": 2},
        {"likelihood": "laplace", "kernel": None, "inference": "ep", "n_starts": 1},
        {"likelihood": "huber", "kernel": None, "n_starts": 1},
        {"inducing": 8, "n_starts": 1},
        {"inducing": 5, "kernel": None, "likelihood": "soft-insensitive", "n_starts": 1},
        {MANY: True, "n_starts": 1},
        {"reduce": None, "calibrate": "loo"},
        {"theta": "integrate", "n_starts": 1},
        {"share_hyperparameters": True, "n_starts": 1},
    ],
    "GPClassifier": [
        {},
        {"multi_class": "softmax", "n_starts": 2},
        {"inference": "ep", "kernel": None, "n_starts": 1},
        {"calibrate": "auto"},
        {"inducing": 8, "n_starts": 1},
        {MANY: True, "n_starts": 1},
    ],
    "GPRegressor": [
        {},
        {"theta": "integrate", "n_starts": 1},
        {"inducing": 8, "n_starts": 1},
        {MANY: True, "n_starts": 1},
        {"likelihood": "laplace", "inference": "ep", "kernel": None, "n_starts": 1},
    ],
    "BayesianLSSVC": [
        {},
        {"multi_class": "ovr", "softmax": True},
        {"inducing": 8, "n_starts": 1},
        {"landmarks": 6},
        {"prune": 0.5},
        {"robust": True},
        {"decision": "latent", "n_components": 3},
    ],
    "BayesianLSSVR": [
        {},
        {MANY: True},
        {"inducing": 8, "n_starts": 1},
        {"landmarks": 6},
        {"prune": 0.5},
        {"robust": True},
    ],
    "DistributedSVC": [
        {"inducing": 8, "block_size": 12, "n_starts": 1},
        {"likelihood": "logistic", "inducing": 5, "calibrate": None, "block_size": 7, "n_starts": 1},
    ],
    "DistributedSVR": [
        {"inducing": 8, "block_size": 12, "n_starts": 1},
        {"likelihood": "gaussian-noise", "inducing": 5, "block_size": 7, "n_starts": 1},
    ],
    "ProbabilisticSVC": [{"average": True, "n_draws": 20, "optimizer": None, "n_nodes": 10, "normalizer_tol": 50.0}],
    "RelevanceVectorClassifier": [{"n_starts": 1}],
    "RelevanceVectorRegressor": [{"n_starts": 1}],
    "VariationalSVC": [{"kernel": GIVEN, "optimizer": None, "calibrate": "loo"}],
    "ExtendedSVC": [{"multi_class": "ovo"}, {"loss": "l2"}],
    "OnlineGPClassifier": [{}],
}
OPTIONS = [(name, options) for name, several in sorted(_SETTINGS.items()) for options in several]
#: Estimators without options of their own that matter are drawn as they are, for labels of several classes.
OPTIONS += [(name, QUICK[name]) for name in sorted(set(QUICK) - set(_SETTINGS))]


def estimator_of(name: str, options: dict):
    """Return the estimator with the options that are its own."""
    home = distributed if name.startswith("Distributed") else bayesvm
    return getattr(home, name)(**{key: value for key, value in options.items() if key != MANY})


def draw(seed: int) -> Case:
    """Return the case of a number; its kinds tell the options."""
    name, options = OPTIONS[seed % len(OPTIONS)]
    rng = np.random.default_rng([seed, 1])
    case = draw_for(seed, name, estimator_of(name, options), rng)
    kinds = (*case.kinds, *([MANY] if MANY in options else []))
    if is_classifier(case.estimator) and rng.random() < 0.5:
        classes = int(rng.choice([3, 4, 7]))
        order = rng.permutation(len(case.y)) if rng.random() < 0.2 else np.argsort(np.argsort(np.asarray(case.y)))
        return dataclasses.replace(case, y=classes * order // len(order), kinds=(*kinds, f"{classes} classes"))
    return dataclasses.replace(case, kinds=kinds)


def judged(seed: int) -> tuple[str, str]:
    """Return how a case ended, as :func:`hostile_data.judge` does."""
    case = draw(seed)
    with few_are_many() if MANY in case.kinds else contextlib.nullcontext():
        return judge(case)


@contextlib.contextmanager
def few_are_many():
    """Few rows count as many, and what is taken of many rows is a part of these."""
    sizes = {
        _large: {"EXACT_ROWS": 1, "EXACT_ROWS_OF_LABELS": 1},
        ls_svm: {"COMPLETE": 1},
        search: {"SAMPLE": 20, "BLOCKS": 2, "POOL": 40, "MOST": 12, "BESIDE": 4, "FIRST": (4, 4), "THEN": (4, 8)},
        large: {"TOGETHER": 4, "FROM": 15, "BLOCK": 8, "OTHERS": 12},
    }
    with contextlib.ExitStack() as stack:
        for module, changes in sizes.items():
            stack.enter_context(mock.patch.multiple(module, **changes))
        yield


__all__ = ["OPTIONS", "draw", "estimator_of", "few_are_many", "judged"]
