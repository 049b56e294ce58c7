"""scikit-learn faces: thin compositions of the layers below. All public ones are importable from :mod:`bayesvm`."""

from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.estimators.committee import Committee

__all__ = ["BayesianSVC", "Committee"]
