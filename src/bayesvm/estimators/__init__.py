"""scikit-learn faces: thin compositions of the layers below. All estimators are importable from :mod:`bayesvm`.

The two heads are the bases for estimators of one's own: a constructor, and one method that says what is fitted.
"""

from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._regressor import BayesianRegressor

__all__ = ["BayesianClassifier", "BayesianRegressor"]
