"""The checks that scikit-learn has for every estimator; two starts keep them fast."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesvm import BayesianSVC

# The check of array libraries is skipped by scikit-learn unless one is installed.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


@parametrize_with_checks([BayesianSVC(n_starts=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
