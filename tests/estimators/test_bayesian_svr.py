"""BayesianSVR: predictions, intervals, draws and evidence in the user's units."""

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.datasets import make_robot_arm, make_sinc
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.exceptions import IncompatibleError
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.base import TrainingData
from bayesvm.models.scaling import TargetScale
from bayesvm.testing import five_point, relative_error

#: The noise model of the thesis.
SOFT = "soft-insensitive"


@pytest.fixture(scope="module")
def sinc():
    return make_sinc(150, random_state=0)


@pytest.fixture(scope="module")
def fitted(sinc):
    X, y, _ = sinc
    return BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, y)


def test_the_noise_is_found(fitted):
    noise = fitted.likelihood_
    assert noise.noise_variance == pytest.approx(lib.SoftInsensitive(10.0, 0.1, 0.3).noise_variance, rel=0.35)
    assert fitted.noise_std_ == pytest.approx(np.sqrt(noise.noise_variance))
    assert noise.beta == 0.3
    assert fitted.converged_


def test_three_groups_of_rows(fitted, sinc):
    X, y, _ = sinc
    residual = np.abs(y - fitted.predict(X))
    inner, outer = fitted.likelihood_.knots[-2:]
    alpha = np.zeros(len(y))
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    clear = 1e-6
    assert np.all(alpha[residual < inner - clear] == 0.0)
    np.testing.assert_allclose(alpha[residual > outer + clear], fitted.likelihood_.C, rtol=1e-9)
    between = (residual > inner + clear) & (residual < outer - clear)
    assert np.all((alpha[between] > 0.0) & (alpha[between] < fitted.likelihood_.C))
    assert np.array_equal(fitted.support_vectors_, X[fitted.support_])


def test_mean_is_the_kernel_expansion(fitted, sinc):
    _, y, _ = sinc
    Xt = np.linspace(-12.0, 12.0, 9)[:, None]
    expansion = fitted.kernel_.gram(Xt, fitted.support_vectors_) @ fitted.dual_coef_[0]
    np.testing.assert_allclose(fitted.predict(Xt), np.mean(y) + expansion, rtol=1e-9, atol=1e-12)


def test_variance_is_the_latent_one_of_the_thesis(fitted):
    """Thesis (4.46): the off-bound support vectors alone enter."""
    noise, alpha = fitted.likelihood_, np.abs(fitted.dual_coef_[0])
    off = fitted.support_vectors_[alpha < noise.C * (1.0 - 1e-9)]
    Xt = np.linspace(-14.0, 14.0, 11)[:, None]
    k = fitted.kernel_.gram(Xt, off)
    middle = 2.0 * noise.beta * noise.epsilon / noise.C * np.eye(len(off)) + fitted.kernel_.gram(off)
    expected = fitted.kernel_.diag(Xt) - np.einsum("ij,ij->i", k, np.linalg.solve(middle, k.T).T)
    np.testing.assert_allclose(fitted.predict_latent(Xt)[1] ** 2, expected, rtol=1e-6)
    np.testing.assert_array_equal(
        fitted.predict(Xt, return_std=True, return_noise=False)[1], fitted.predict_latent(Xt)[1]
    )
    assert np.all(fitted.predict(Xt, return_std=True)[1] > fitted.predict_latent(Xt)[1])


def test_intervals_hold_their_probability_by_simulation(fitted):
    Xt = np.array([[0.0], [9.0], [25.0]])
    low, high = fitted.predict_interval(Xt, confidence=0.8)
    mean = fitted.predict(Xt)
    np.testing.assert_allclose(high - mean, mean - low, rtol=1e-9)
    draws = fitted.sample(Xt, 20_000, random_state=1, return_noise=True)
    inside = np.mean((draws > low[:, None]) & (draws < high[:, None]), axis=1)
    assert np.all(np.abs(inside - 0.8) < 0.03)
    wider = fitted.predict_interval(Xt, confidence=0.99)
    assert np.all(wider[0] < low)
    assert np.all(wider[1] > high)
    with pytest.raises(ValueError, match="confidence"):
        fitted.predict_interval(Xt, confidence=1.0)


def test_draws(fitted):
    Xt = np.linspace(-9.0, 9.0, 5)[:, None]
    draws = fitted.sample(Xt, 4000, random_state=0)
    mean, std = fitted.predict_latent(Xt)
    assert draws.shape == (5, 4000)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 6.0 * std / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    assert np.array_equal(draws, fitted.sample(Xt, 4000, random_state=0))


def test_outlier_score(sinc):
    X, y, _ = sinc
    y = y.copy()
    y[[3, 70]] += [4.0, -4.0]
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, y)
    assert set(np.argsort(-machine.outlier_score_)[:2]) == {3, 70}
    assert np.all(machine.outlier_score_ >= 0.0)
    assert np.median(machine.outlier_score_) == pytest.approx(np.log(2.0), abs=0.3)
    scores = machine.outlier_score(X[:4], y[:4])
    assert np.argmax(scores) == 3
    assert scores.shape == (4,)
    assert np.argmax(machine.log_density(X[:4], y[:4])) != 3
    with pytest.raises(ValueError, match="finite targets"):
        machine.outlier_score(X[:4], np.full(4, np.nan))


@pytest.mark.parametrize("likelihood", ["soft-insensitive", "gaussian-noise"])
def test_units_of_the_targets_do_not_matter(sinc, likelihood):
    X, y, _ = sinc
    plain = BayesianSVR(None, likelihood=likelihood, n_starts=1).fit(X, y)
    scaled = BayesianSVR(None, likelihood=likelihood, n_starts=1).fit(100.0 * X - 5.0, 1e3 * y + 7.0)
    Xt = np.linspace(-9.0, 9.0, 5)[:, None]
    np.testing.assert_allclose(scaled.predict(100.0 * Xt - 5.0), 1e3 * plain.predict(Xt) + 7.0, rtol=1e-6, atol=1e-3)
    assert scaled.noise_std_ == pytest.approx(1e3 * plain.noise_std_, rel=1e-6)
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_ - len(y) * np.log(1e3), abs=1e-4)
    np.testing.assert_allclose(scaled.outlier_score_, plain.outlier_score_, rtol=1e-4, atol=1e-6)


def test_evidence_is_that_of_the_model_in_the_users_units(sinc):
    """Gaussian noise: the density of the centred targets under N(0, K + s^2 I) in the user's units."""
    X, y, _ = sinc
    machine = BayesianSVR(None, likelihood="gaussian-noise", n_starts=1).fit(X, 50.0 * y + 3.0)
    z = 50.0 * y + 3.0 - np.mean(50.0 * y + 3.0)
    C = machine.kernel_.gram(X) + machine.likelihood_.variance * np.eye(len(y))
    _, log_det = np.linalg.slogdet(C)
    expected = -0.5 * (z @ np.linalg.solve(C, z) + log_det + len(y) * np.log(2.0 * np.pi))
    assert machine.log_evidence_ == pytest.approx(expected, rel=1e-8)
    assert machine.log_evidence() == pytest.approx(expected, rel=1e-8)
    theta = np.concatenate([machine.kernel_.theta, machine.likelihood_.theta])
    assert machine.log_evidence(theta) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("likelihood", ["smooth-insensitive", "soft-insensitive", "huber"])
def test_evidence_gradient(sinc, likelihood):
    X, y, _ = sinc
    machine = BayesianSVR(None, likelihood=likelihood, fix_variance=False, optimizer=None, n_starts=1).fit(
        X[:60], 7.0 * y[:60]
    )
    theta = machine.history_[0].end + 0.123
    _, gradient = machine.log_evidence(theta, gradient=True)
    assert relative_error(gradient, five_point(machine.log_evidence, theta, 1e-5)) < 1e-6


def test_given_hyperparameters_are_kept(sinc):
    X, y, _ = sinc
    kernel, noise = Gaussian(2.0, 0.5) + Constant(0.3), lib.SoftInsensitive(8.0, 0.2, 0.4)
    machine = BayesianSVR(kernel, likelihood=noise, optimizer=None).fit(X, y)
    kept = machine.likelihood_
    np.testing.assert_allclose([kept.C, kept.epsilon, kept.beta], [8.0, 0.2, 0.4])
    np.testing.assert_allclose(machine.kernel_.theta, kernel.theta)
    bare = BayesianSVR(kernel, likelihood=noise, optimizer=None, standardize=False).fit(X, y)
    np.testing.assert_allclose(bare.kernel_.gram(X[:5]), kernel.gram(X[:5]), rtol=1e-9)


def test_fixed_parameters_stay_fixed_in_the_users_units(sinc):
    X, y, _ = sinc
    noise = lib.SoftInsensitive(8.0, 0.2, 0.3).fix("epsilon").bounded(C=(5.0, 7.0))
    machine = BayesianSVR(None, likelihood=noise, n_starts=1).fit(X, y)
    assert machine.likelihood_.epsilon == pytest.approx(0.2)
    assert 5.0 * (1 - 1e-9) <= machine.likelihood_.C <= 7.0 * (1 + 1e-9)


@pytest.mark.parametrize(("fixed", "free"), [(True, 0), (False, 1)])
def test_variance_of_the_kernel(sinc, fixed, free):
    X, y, _ = sinc
    machine = BayesianSVR(None, likelihood=SOFT, fix_variance=fixed, n_starts=1).fit(X, 3.0 * y)
    assert sum(name == "gaussian.variance" for name in machine.theta_names_) == free
    if fixed:
        prior = machine.kernel_.diag(X[:1]) - machine.kernel_.gram(X[:1], X[:1] + 1e6)[0]
        assert prior[0] == pytest.approx(np.var(3.0 * y))


@pytest.mark.parametrize(("n", "beta"), [(1999, 0.3), (2000, 0.1), (4000, 0.1), (4001, 0.05)])
def test_beta_by_size(n, beta):
    data = TrainingData(Inputs(np.zeros((n, 1))), np.zeros((n, 1)))
    assert BayesianSVR(None, likelihood=SOFT)._spec(data).likelihood.beta == beta
    assert BayesianSVR(None, likelihood=SOFT, beta=0.7)._spec(data).likelihood.beta == 0.7
    assert BayesianSVR(None, likelihood=lib.SoftInsensitive(beta=0.2))._spec(data).likelihood.beta == 0.2


@pytest.mark.parametrize("likelihood", ["laplace", "epsilon-insensitive", lib.Laplace()])
def test_losses_with_kinks_are_refused_with_the_reason(sinc, likelihood):
    X, y, _ = sinc
    with pytest.raises(IncompatibleError, match=r"kinks.*use .*'soft-insensitive'"):
        BayesianSVR(None, likelihood=likelihood).fit(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"likelihood": "logistic"}, "likelihood: expected 'soft-insensitive'"),
        ({"likelihood": 3}, "likelihood: expected"),
        ({"beta": 0.0}, "beta"),
        ({"beta": "small"}, "beta: expected 'auto' or a number"),
        ({"beta": 0.3, "likelihood": "huber"}, "beta: expected 'auto'"),
        ({"beta": 0.3, "likelihood": lib.SoftInsensitive()}, "beta: expected 'auto'"),
    ],
)
def test_wrong_arguments(sinc, arguments, message):
    X, y, _ = sinc
    with pytest.raises(ValueError, match=message):
        BayesianSVR(None, **arguments).fit(X, y)


def test_weights_count_as_repetitions(sinc):
    X, y, _ = sinc
    X, y = X[:60], y[:60]
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    rows = np.repeat(np.arange(60), weights)
    weighted = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, y, sample_weight=weights)
    repeated = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X[rows], y[rows])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    assert weighted.outlier_score_.shape == y.shape
    assert not np.isin(np.flatnonzero(weights == 0), weighted.support_).any()
    with pytest.raises(ValueError, match="two positive weights"):
        BayesianSVR(None, likelihood=SOFT).fit(X, y, sample_weight=np.eye(60)[0])


def test_kernel_by_evidence(sinc):
    X, y, _ = sinc
    machine = BayesianSVR("auto", n_starts=1, likelihood=SOFT).fit(X[:80], y[:80])
    assert [c.kernel for c in machine.candidates_][:3] == ["gaussian", "matern52", "matern32"]
    assert sum(c.weight for c in machine.candidates_) == pytest.approx(1.0)


def test_several_outputs():
    X, Y, _ = make_robot_arm(80, random_state=0)
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y)
    mean, std = machine.predict(X[:5], return_std=True)
    low, high = machine.predict_interval(X[:5])
    assert mean.shape == std.shape == low.shape == high.shape == (5, 2)
    assert machine.sample(X[:5], 3, random_state=0).shape == (5, 3, 2)
    assert machine.outlier_score_.shape == Y.shape
    assert len(machine.likelihoods_) == len(machine.kernels_) == 2
    alone = [BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y[:, k]) for k in range(2)]
    np.testing.assert_allclose(mean, np.column_stack([m.predict(X[:5]) for m in alone]))
    assert machine.log_evidence_ == pytest.approx(sum(m.log_evidence_ for m in alone))


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).uniform(size=70)], ids=["plain", "weighted"])
def test_an_output_is_standardised_alike_whatever_the_others_are(weights):
    Y = np.random.default_rng(0).lognormal(size=(70, 3))
    joint = TargetScale.of(Y, weights)
    alone = [TargetScale.of(Y[:, k : k + 1], weights) for k in range(3)]
    assert joint.shift.tolist() == [scale.shift[0] for scale in alone]
    assert joint.scale.tolist() == [scale.scale[0] for scale in alone]


def test_rounding_of_the_targets_does_not_decide():
    """Little noise, few rows in the zones: the evidence is rough, and where its starts end hangs on the last digit."""
    X, Y, _ = make_robot_arm(80, random_state=0)
    y = Y[:, 1]
    rounded = y * (1.0 + 1e-15 * np.random.default_rng(2).standard_normal(80))
    first, second = (BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, t) for t in (y, rounded))
    assert second.log_evidence_ == pytest.approx(first.log_evidence_, abs=1e-2)
    np.testing.assert_allclose(second.predict(X), first.predict(X), atol=1e-3)


def test_outputs_that_share_hyperparameters():
    X, Y, _ = make_robot_arm(80, random_state=0)
    Y = Y * np.array([1.0, 100.0])
    machine = BayesianSVR(None, likelihood=SOFT, share_hyperparameters=True, n_starts=1).fit(X, Y)
    scale = np.std(Y, axis=0)
    first, second = machine.likelihoods_
    assert first.C * scale[0] == pytest.approx(second.C * scale[1])
    assert first.epsilon / scale[0] == pytest.approx(second.epsilon / scale[1])
    separate = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y)
    assert machine.log_evidence_ < separate.log_evidence_ + 1.0
    np.testing.assert_allclose(machine.predict(X) / scale, separate.predict(X) / scale, atol=0.1)


def test_relevance_selects_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    machine = BayesianSVR(None, likelihood=SOFT, ard=True, n_starts=2).fit(
        X, np.sin(X[:, 1]) + 0.1 * rng.normal(size=80)
    )
    assert np.argmax(machine.relevance_) == 1
    assert machine.select_features().get_support().tolist() == [False, True, False, False]
