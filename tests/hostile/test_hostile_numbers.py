"""The entrance for numbers: every magnitude is honoured exactly or refused with the column and the remedy."""

import dataclasses
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hostile_data import ESTIMATORS, NAMES, draw, judge, problem_of_predictions
from hostile_options import OPTIONS, judged
from hypothesis import HealthCheck, given, settings
from hypothesis.extra import numpy as arrays
from public_estimators import estimator_names, small_data
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import has_fit_parameter

import bayesvm
from bayesvm.kernels import Constant, Laplacian, OrnsteinUhlenbeck
from bayesvm.models.scaling import Standardizer, TargetScale, mean_and_deviation, weighted_moments

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
every = pytest.mark.parametrize("name", NAMES)
GOOD = ("fitted", "refused")


# -- exact rescaling ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [-950, -500, -300, 0, 300, 500, 1000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_moments_of_any_magnitude_are_those_of_the_rescaled_columns(exponent, weighted, sparse):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 3)), rng.uniform(0.5, 2.0, 30) if weighted else None
    mean, var = weighted_moments(sp.csr_array(X) if sparse else X, weights)
    scaled = np.ldexp(X, exponent)
    found_mean, found_std = mean_and_deviation(sp.csr_array(scaled) if sparse else scaled, weights)
    np.testing.assert_array_equal(found_mean, np.ldexp(mean, exponent))  # to the last bit
    np.testing.assert_array_equal(found_std, np.ldexp(np.sqrt(var), exponent))
    plain, other = Standardizer.of(X, weights).inputs(X).X, Standardizer.of(scaled, weights).inputs(scaled).X
    np.testing.assert_array_equal(plain, other)


@given(
    X=arrays.arrays(
        np.float64,
        st.tuples(st.integers(2, 8), st.integers(1, 3)),
        elements=st.floats(-(2.0**1020), 2.0**1020, allow_nan=False, allow_subnormal=False),
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_standardised_is_finite_and_of_unit_size(X):
    X = np.where(np.abs(X) < 2.0**-900, 0.0, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = Standardizer.of(X).inputs(X).X
        inner = TargetScale.of(X).inner(X)
    assert np.all(np.abs(z) <= np.sqrt(len(X)) * (1.0 + 1e-6))
    assert np.all(np.isfinite(inner))


@pytest.mark.parametrize("factor", [1e-170, 1e300])
@pytest.mark.parametrize("name", ["BayesianSVC", "GPRegressor", "BayesianLSSVC", "RelevanceVectorClassifier"])
def test_features_of_any_scale_are_honoured(name, factor):
    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator)
    scale = 2.0 ** np.round(np.log2(factor))
    plain, other = clone(estimator).fit(X, y), estimator.fit(X * scale, y)
    np.testing.assert_array_equal(plain.predict(X), other.predict(X * scale))
    assert plain.log_evidence_ == other.log_evidence_


# -- one clear error ---------------------------------------------------------------------------------------------------
@every
def test_one_value_out_of_all_proportion_gives_numbers_or_one_error(name):
    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator)
    X[3, 1] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            estimator.fit(X, y)
        except ValueError as error:
            assert "column 1" in str(error)  # noqa: PT017
            assert "divide the column" in str(error)  # noqa: PT017
            with pytest.raises(NotFittedError):
                estimator.predict(X)
        else:
            assert problem_of_predictions(estimator, X) == ""


@every
def test_new_rows_far_beyond_the_training_rows_are_refused_by_name(name):
    import pandas as pd

    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator)
    frame = pd.DataFrame(X, columns=["width", "height"])
    estimator.fit(frame, y)
    frame.loc[2, "height"] = 1e200
    with pytest.raises(ValueError, match=r"'height'.*1e\+200.*units"):
        estimator.predict(frame)


@pytest.mark.parametrize("name", [name for name in NAMES if not is_classifier(ESTIMATORS[name])])
@pytest.mark.parametrize("factor", [1e160, 1e-300])
def test_targets_that_cannot_be_squared_are_refused(name, factor):
    if name == "Committee":
        pytest.skip("it fits a classifier here")
    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator)
    with pytest.raises(ValueError, match=r"targets.*power of ten"):
        estimator.fit(X, y * factor)
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@pytest.mark.parametrize("name", [name for name in NAMES if has_fit_parameter(ESTIMATORS[name], "sample_weight")])
@pytest.mark.parametrize("weight", [1e300, 1e12, 1e-300])
def test_weights_that_count_no_rows_are_refused(name, weight):
    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator)
    weights = np.ones(len(y))
    weights[4] = weight
    with pytest.raises(ValueError, match="a weight counts as that many equal rows"):
        estimator.fit(X, y, sample_weight=weights)


def test_class_weights_are_part_of_the_weights():
    X, y = small_data(bayesvm.BayesianSVC())
    with pytest.raises(ValueError, match="weights: expected zeros and numbers between"):
        bayesvm.BayesianSVC(class_weight={"yes": 1e30, "no": 1.0}).fit(X, y)


@pytest.mark.parametrize("name", ["RelevanceVectorClassifier", "DistributedSVC", "BayesianSVC", "VariationalSVC"])
def test_a_class_prior_without_meaning_is_refused_by_fit(name):
    estimator = clone(ESTIMATORS[name]).set_params(class_prior=[0.0, 1.0])
    X, y = small_data(estimator)
    with pytest.raises(ValueError, match="class_prior: expected 2 positive frequencies"):
        estimator.fit(X, y)


def test_sparse_columns_that_cannot_be_centred_are_refused():
    X, y = small_data(bayesvm.BayesianSVC())
    with pytest.raises(ValueError, match=r"in column \d; subtract the mean"):
        bayesvm.BayesianSVC().fit(sp.csr_array(X + 1e9), y)
    bayesvm.BayesianSVC(n_starts=1, optimizer=None).fit(X + 1e9, y)


# -- the fixed share of the hostile suite ------------------------------------------------------------------------------
#: Cases in which a long run of the suite found a failure: a mode of many steps, a row left out that is out of all
#: proportion, working sets and line searches without an end, a Gram matrix that cannot be factored, targets of
#: distributed machines that are not standardised, a slope of 1e308, Newton steps to and fro, a variance left of zero.
FOUND = (95, 194, 335, 594, 659, 953, 1352, 1738, 2015, 2108, 2486, 4460, 5247, 5444, 6350, 6976, 7988, 8891, 9059)
FOUND += (9178, 9631)


@pytest.mark.parametrize("seed", [*range(42), *FOUND])
def test_a_hostile_data_set_is_fitted_or_refused(seed):
    outcome, detail = judge(draw(seed))
    assert outcome in GOOD, detail


@pytest.mark.parametrize("kernel", [OrnsteinUhlenbeck() + Constant(), Laplacian(power=0.5) + Constant()], ids=repr)
def test_weights_of_many_magnitudes_with_a_rough_kernel_end_at_rounding(kernel):
    case = draw(12586)
    outcome, detail = judge(dataclasses.replace(case, estimator=case.estimator.set_params(kernel=kernel)))
    assert outcome == "fitted", detail


#: Cases of estimators with their options in which a long run found a failure: rows that are equal are left out, the
#: skewness of columns of 1e200, a variance left of zero, sums of squares of losses that are not quadratic, scales of
#: which one is nothing beside another, coefficients that grow without an end.
FOUND_OPTIONS = (72, 2106, 2755, 5571, 6021, 7613, 8256)


@pytest.mark.parametrize("seed", [*range(0, 69, 6), *FOUND_OPTIONS])
def test_a_hostile_data_set_is_fitted_or_refused_with_options(seed):
    outcome, detail = judged(seed)
    assert outcome in GOOD, detail


def test_every_estimator_is_drawn_with_options():
    assert {name for name, _ in OPTIONS} == {*estimator_names(), "DistributedSVC", "DistributedSVR"}


def test_constant_columns_of_any_size_play_no_part():
    X, _ = small_data(bayesvm.GPRegressor())
    for constant in (3.7, 1e12, -1e300, 1e-200):
        wide = np.column_stack([X, np.full(len(X), constant)])
        z = Standardizer.of(wide).inputs(wide).X
        assert np.max(np.abs(z[:, 2])) < 1e-9
