"""What a machine is compared with: guessing, a linear model, a tuned support vector machine, boosted trees.

Each is set up as a careful user would: inputs scaled where that matters, hyperparameters found by cross-validation on
the training rows, probabilities calibrated. All come from scikit-learn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from bayesvm.comparison.sigmoid_svc import SigmoidSVC

#: Word for all baselines of the task.
ALL_BASELINES = "baselines"
#: Grid of the support vector machines.
GRID = {"C": np.logspace(-1, 3, 5), "gamma": np.logspace(-3, 1, 5)}
FOLDS = 5


def _svr(seed: int) -> Any:
    grid = {**{f"svr__{k}": v for k, v in GRID.items()}, "svr__epsilon": [0.05, 0.2]}
    return GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid, cv=FOLDS, scoring="neg_mean_squared_error")


@dataclasses.dataclass(frozen=True)
class Baseline:
    """Something to compare with.

    Attributes
    ----------
    name : str
        As it is typed.
    task : str
        "classification" or "regression".
    create : callable
        Returns a new estimator from a seed.
    """

    name: str
    task: str
    create: Callable[[int], Any]


BASELINES = (
    Baseline("majority", "classification", lambda seed: DummyClassifier(strategy="prior")),
    Baseline(
        "logistic", "classification", lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ),
    Baseline("tuned-svc", "classification", lambda seed: SigmoidSVC()),
    Baseline("boosting", "classification", lambda seed: HistGradientBoostingClassifier(random_state=seed)),
    Baseline("mean", "regression", lambda seed: DummyRegressor()),
    Baseline("ridge", "regression", lambda seed: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))),
    Baseline("tuned-svr", "regression", _svr),
    Baseline("boosting", "regression", lambda seed: HistGradientBoostingRegressor(random_state=seed)),
)


def baselines_of(task: str) -> list[Baseline]:
    """Return the baselines for a task."""
    return [baseline for baseline in BASELINES if baseline.task == task]


__all__ = ["ALL_BASELINES", "BASELINES", "Baseline", "baselines_of"]
