"""Support vector machines that tune themselves by the evidence of the training data.

Names are imported from their modules when they are first used, so that ``import bayesvm`` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public names and the modules that define them.
_NAMES = {
    "BayesianLSSVC": "bayesvm.estimators.ls_svm",
    "BayesianLSSVR": "bayesvm.estimators.ls_svm",
    "BayesianMLPClassifier": "bayesvm.estimators.bayesian_mlp",
    "BayesianMLPRegressor": "bayesvm.estimators.bayesian_mlp",
    "BayesianSVC": "bayesvm.estimators.bayesian_svc",
    "BayesianSVR": "bayesvm.estimators.bayesian_svr",
    "Committee": "bayesvm.estimators.committee",
    "ExtendedSVC": "bayesvm.estimators.extended_svc",
    "ExtendedSVR": "bayesvm.estimators.extended_svr",
    "GPClassifier": "bayesvm.estimators.gaussian_process",
    "GPRegressor": "bayesvm.estimators.gaussian_process",
    "KernelFisherDiscriminant": "bayesvm.estimators.kernel_fisher",
    "OnlineGPClassifier": "bayesvm.estimators.online_gp",
    "OnlineGPRegressor": "bayesvm.estimators.online_gp",
    "ProbabilisticSVC": "bayesvm.estimators.probabilistic_svc",
    "RelevanceVectorClassifier": "bayesvm.estimators.relevance_vector",
    "RelevanceVectorRegressor": "bayesvm.estimators.relevance_vector",
    "TrigonometricSVC": "bayesvm.estimators.trigonometric_svc",
    "VariationalSVC": "bayesvm.estimators.variational_svc",
    "check_gradient": "bayesvm.testing",
    "compare": "bayesvm.comparison",
    "load": "bayesvm.persistence",
    "sample_prior": "bayesvm.models.prior_draws",
    "save": "bayesvm.persistence",
    "suggest": "bayesvm.estimators.suggest",
}
#: Public submodules.
_MODULES = (
    "datasets",
    "distributed",
    "hyper",
    "inference",
    "kernels",
    "likelihoods",
    "models",
    "onnx_export",
    "persistence",
    "plots",
    "report",
    "sampling",
    "tables",
    "testing",
)

__all__ = ["__version__", *_NAMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"bayesvm.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'bayesvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
