"""scikit-learn faces: thin compositions of the layers below."""

from bayesvm.estimators.bayesian_svc import BayesianSVC

__all__ = ["BayesianSVC"]
