"""Leave-one-out predictions of regressors: those of fits without the row, exactly so for Gaussian noise."""

from __future__ import annotations

import numpy as np
import pytest

from bayesvm import BayesianSVR, GPRegressor, RelevanceVectorRegressor
from bayesvm.likelihoods import GaussianNoise


def rows(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.2 * rng.normal(size=n)


def test_gaussian_noise_is_exact():
    X, y = rows()
    kernel = "gaussian(variance=1, lengthscale=1.5)"
    options = {"optimizer": None, "standardize": False, "likelihood": GaussianNoise(0.04).fix()}
    model = GPRegressor(kernel, **options).fit(X, y)
    found = model.leave_one_out(0.9)
    for i in (0, 7, 29):
        others = np.arange(len(y)) != i
        apart = GPRegressor(kernel, **options).fit(X[others], y[others])
        mean, std = apart.predict(X[[i]], return_std=True)
        lower, upper = apart.predict_interval(X[[i]], 0.9)
        np.testing.assert_allclose(
            [found.mean[i], found.std[i], found.lower[i], found.upper[i]],
            [mean[0], std[0], lower[0], upper[0]],
            rtol=1e-7,
        )
        assert found.log_density[i] == pytest.approx(apart.log_density(X[[i]], y[[i]])[0], rel=1e-7)


def test_the_sum_of_the_log_densities_is_the_fitted_attribute():
    X, y = rows()
    model = BayesianSVR(n_starts=1).fit(X, y)
    found = model.leave_one_out()
    assert found.log_density.sum() == pytest.approx(model.loo_log_likelihood_)
    assert np.mean((found.mean - y) ** 2) > np.mean((model.predict(X) - y) ** 2)
    assert np.all((found.lower < found.mean) & (found.mean < found.upper))


def test_several_outputs_have_columns():
    X, y = rows()
    found = BayesianSVR(n_starts=1).fit(X, np.column_stack([y, 3.0 * y])).leave_one_out()
    assert found.mean.shape == found.lower.shape == found.log_density.shape == (30, 2)


def test_models_that_keep_none_say_so():
    X, y = rows()
    model = RelevanceVectorRegressor().fit(X, y)
    with pytest.raises(TypeError, match="RelevanceVectorRegressor keeps no leave-one-out predictions"):
        model.leave_one_out()
