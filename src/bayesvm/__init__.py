"""Support vector machines that tune themselves by the evidence of the training data.

Names are imported from their modules when they are first used, so that ``import bayesvm`` is quick; type checkers see
plain imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "BayesianLSSVC",
    "BayesianLSSVR",
    "BayesianMLPClassifier",
    "BayesianMLPRegressor",
    "BayesianSVC",
    "BayesianSVR",
    "Committee",
    "ExtendedSVC",
    "ExtendedSVR",
    "GPClassifier",
    "GPRegressor",
    "KernelFisherDiscriminant",
    "OnlineGPClassifier",
    "OnlineGPRegressor",
    "ProbabilisticSVC",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "TrigonometricSVC",
    "VariationalSVC",
    "__version__",
    "check_gradient",
    "compare",
    "datasets",
    "distributed",
    "hyper",
    "inference",
    "kernels",
    "likelihoods",
    "load",
    "models",
    "onnx_export",
    "persistence",
    "plots",
    "report",
    "sample_prior",
    "sampling",
    "save",
    "show_versions",
    "suggest",
    "tables",
    "testing",
]

if TYPE_CHECKING:
    from bayesvm import (
        datasets,
        distributed,
        hyper,
        inference,
        kernels,
        likelihoods,
        models,
        onnx_export,
        persistence,
        plots,
        report,
        sampling,
        tables,
        testing,
    )
    from bayesvm.comparison import compare
    from bayesvm.estimators.bayesian_mlp import BayesianMLPClassifier, BayesianMLPRegressor
    from bayesvm.estimators.bayesian_svc import BayesianSVC
    from bayesvm.estimators.bayesian_svr import BayesianSVR
    from bayesvm.estimators.committee import Committee
    from bayesvm.estimators.extended_svc import ExtendedSVC
    from bayesvm.estimators.extended_svr import ExtendedSVR
    from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
    from bayesvm.estimators.kernel_fisher import KernelFisherDiscriminant
    from bayesvm.estimators.ls_svm import BayesianLSSVC, BayesianLSSVR
    from bayesvm.estimators.online_gp import OnlineGPClassifier, OnlineGPRegressor
    from bayesvm.estimators.probabilistic_svc import ProbabilisticSVC
    from bayesvm.estimators.relevance_vector import RelevanceVectorClassifier, RelevanceVectorRegressor
    from bayesvm.estimators.suggest import suggest
    from bayesvm.estimators.trigonometric_svc import TrigonometricSVC
    from bayesvm.estimators.variational_svc import VariationalSVC
    from bayesvm.models.prior_draws import sample_prior
    from bayesvm.persistence import load, save
    from bayesvm.testing import check_gradient
    from bayesvm.versions import show_versions
else:
    import importlib

    #: Where a public name is defined; the public names that are not here are submodules.
    _HOME = {
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
        "show_versions": "bayesvm.versions",
        "suggest": "bayesvm.estimators.suggest",
    }

    def __getattr__(name):
        if name in _HOME:
            return getattr(importlib.import_module(_HOME[name]), name)
        if name in __all__:
            return importlib.import_module(f"bayesvm.{name}")
        raise AttributeError(f"module 'bayesvm' has no attribute {name!r}")

    def __dir__():
        return sorted(__all__)
