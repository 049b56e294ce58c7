"""VariationalSVC: predictions by mean and mode, the sparse machine, bias, several classes, weights, arguments."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from bayesvm.estimators.variational_svc import VariationalSVC
from bayesvm.exceptions import IncompatibleError
from bayesvm.hyper import ByName, RelevanceShares
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Logistic, NormalizedHinge
from bayesvm.testing import check_gradient


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    return VariationalSVC().fit(*moons)


@pytest.mark.slow
def test_scikit_learn_contract():
    check_estimator(VariationalSVC(), on_skip=None)


def test_the_terms_add_up_to_minus_the_bound(fitted):
    assert set(fitted.free_energy_terms_[0]) == {"loss", "mean", "spread", "determinant"}
    np.testing.assert_allclose(-sum(fitted.free_energy_terms_[0].values()), fitted.log_evidence_, rtol=1e-12)
    np.testing.assert_allclose(fitted.log_evidence(), fitted.log_evidence_, atol=1e-3)
    assert fitted.converged_
    assert max(fitted.inner_bounds_[0]) <= fitted.log_evidence_ + 1e-3
    assert isinstance(fitted.multimodal_, bool)


@pytest.mark.parametrize("way", ["mean", "mode"])
def test_predictions_agree_with_each_other(fitted, moons, way):
    X, _ = moons
    machine = pickle.loads(pickle.dumps(fitted)).set_params(predict_with=way)
    proba, latent = machine.predict_proba(X), machine.predict_latent(X, return_std=False)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[proba.argmax(axis=1)])
    np.testing.assert_array_equal(machine.predict(X), (latent > 0.0).astype(int))
    np.testing.assert_array_equal(np.sign(machine.decision_function(X)), np.sign(latent))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert machine.score(X, moons[1]) > 0.85


def test_probabilities_at_the_mode_are_those_of_the_likelihood(moons):
    X, y = moons
    machine = VariationalSVC(likelihood="logistic", predict_with="mode", optimizer=None).fit(X, y)
    latent, std = machine.predict_latent(X)
    np.testing.assert_allclose(machine.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-latent)), rtol=1e-10)
    assert np.all(std > 0.0)
    averaged = machine.set_params(predict_with="mean").predict_proba(X)
    assert np.all(np.abs(averaged[:, 1] - 0.5) < 0.5)


def test_the_mode_of_svc_is_a_sparse_support_vector_machine(moons):
    X, y = moons
    machine = VariationalSVC(predict_with="mode").fit(X, y)
    assert machine.support_.size < X.shape[0]
    K = machine.kernel_.gram(X)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = machine.dual_coef_[0]
    labels, f = np.where(y == 1, 1.0, -1.0), K @ alpha
    np.testing.assert_allclose(f, machine.predict_latent(X, return_std=False), rtol=1e-8, atol=1e-8)
    share, margin = labels * alpha, labels * f
    assert np.all((share >= 0.0) & (share <= 1.0))
    tol = 1e-6
    assert np.all(margin[share == 0.0] >= 1.0 - tol)
    assert np.all(margin[share == 1.0] <= 1.0 + tol)
    inside = (share > 0.0) & (share < 1.0)
    np.testing.assert_allclose(margin[inside], 1.0, atol=tol)


def test_with_a_bias_it_is_the_machine_of_scikit_learn(moons):
    X, y = moons
    machine = VariationalSVC(fit_intercept=True, predict_with="mode").fit(X, y)
    gaussian = machine.models_[0].kernel.leaves()[0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(gaussian.gram(Z), y)
    np.testing.assert_allclose(
        machine.predict_latent(X, return_std=False), theirs.decision_function(gaussian.gram(Z)), atol=1e-4
    )  # as exact as theirs is
    np.testing.assert_array_equal(machine.support_, np.sort(theirs.support_))
    np.testing.assert_allclose(machine.dual_coef_.sum(), 0.0, atol=1e-8)


def test_a_bias_absorbs_a_shift_of_the_class_frequencies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 1.0).astype(int)
    machine = VariationalSVC(fit_intercept=True, likelihood="logistic").fit(X, y)
    far = machine.predict_proba(np.array([[-50.0, 0.0]]))
    assert far[0, 0] > 0.5


@pytest.mark.parametrize("likelihood", ["svc", "logistic", "probit", "normalized-hinge"])
def test_gradients(likelihood):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
    kernel = Gaussian(3.0, (1.0, 2.0), ard=True) + Constant(0.5)
    assert check_gradient(VariationalSVC(kernel, likelihood=likelihood), X, y, step=1e-3).error < 1e-6


def test_names_of_the_likelihood(moons):
    X, y = moons
    kernel = Gaussian(2.0, 0.7) + Constant(1.0)
    values = [
        VariationalSVC(kernel, likelihood=x, optimizer=None).fit(X, y).log_evidence_
        for x in ("svc", "normalized-hinge", NormalizedHinge().fix("C"))
    ]
    assert values[0] == values[1] == values[2]
    assert VariationalSVC(likelihood="normalized-hinge", optimizer=None).fit(X, y).theta_names_[-1] == "likelihood.C"
    assert VariationalSVC(optimizer=None).fit(X, y).theta_names_[-1] == "constant.variance"


def test_relevances_show_what_is_ignored():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] > 0.0
    for likelihood in ("svc", "logistic"):
        machine = VariationalSVC(ard=True, likelihood=likelihood).fit(X, y)
        assert set(np.argsort(-machine.relevance_)[:2]) == {0, 1}
        assert machine.relevance_[2:].max() < 0.1 * machine.relevance_[:2].min()


def test_the_hyperprior_of_length_scales():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = X.sum(axis=1) + 0.5 * rng.normal(size=60) > 0.0
    explicit = ByName({"*lengthscale[*": RelevanceShares(0.25)})
    free, held, given = (VariationalSVC(ard=True, n_starts=2, hyperprior=p).fit(X, y) for p in (None, "auto", explicit))
    assert held.relevance_.max() / held.relevance_.min() < free.relevance_.max() / free.relevance_.min()
    assert held.log_evidence_ <= free.log_evidence_ + 0.02
    np.testing.assert_array_equal(held.relevance_, given.relevance_)
    alike = [VariationalSVC(n_starts=1, hyperprior=p).fit(X, y).log_evidence_ for p in (None, "auto")]
    assert alike[0] == alike[1]


@pytest.mark.parametrize("way", ["mean", "mode"])
def test_several_classes(way):
    X, y = load_iris(return_X_y=True)
    machine = VariationalSVC(n_starts=1, predict_with=way).fit(X[::2], y[::2])
    assert machine.score(X[1::2], y[1::2]) > 0.9
    assert len(machine.free_energy_terms_) == len(machine.inner_bounds_) == machine.dual_coef_.shape[0] == 3
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)


def test_weights_equal_repeated_rows(moons):
    X, y = moons[0][:30], moons[1][:30]
    w = np.tile([1, 2, 0], 10)
    kernel = Gaussian(2.0, 0.7) + Constant(1.0)
    model = VariationalSVC(kernel, optimizer=None, standardize=False)
    rows = np.repeat(np.arange(30), w)
    for way in ("mean", "mode"):
        weighted = clone(model).set_params(predict_with=way).fit(X, y, sample_weight=w)
        repeated = clone(model).set_params(predict_with=way).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-8)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_the_factor_family(moons):
    X, y = moons[0][:25], moons[1][:25]
    kernel = Gaussian(2.0, 0.5) + Constant(0.3)
    values = []
    for rank in (0, 2):
        machine = VariationalSVC(kernel, covariance="factor", rank=rank, optimizer=None).fit(X, y)
        values.append(machine.log_evidence_)
        np.testing.assert_allclose(-sum(machine.free_energy_terms_[0].values()), machine.log_evidence_, rtol=1e-10)
        _, std = machine.predict_latent(X)
        assert np.all(std >= 0.0)
        assert machine.score(X, y) > 0.8
    full = VariationalSVC(kernel, optimizer=None).fit(X, y).log_evidence_
    assert values[0] <= values[1] <= full


def test_refusals(moons):
    X, y = moons
    for arguments, message in (
        ({"covariance": "diagonal"}, "covariance: expected 'full' or 'factor', found 'diagonal'"),
        ({"covariance": "factor"}, "rank: expected a number of factors"),
        ({"covariance": "factor", "rank": -1}, "found -1"),
        ({"rank": 2}, "rank: expected None with covariance='full', found 2"),
        ({"predict_with": "median"}, "predict_with: expected 'mean' or 'mode', found 'median'"),
        ({"likelihood": "hinge"}, "likelihood: expected"),
        ({"hyperprior": "flat"}, "hyperprior: expected None, 'auto' or a bayesvm.hyper.Hyperprior, found 'flat'"),
    ):
        with pytest.raises(ValueError, match=message):
            VariationalSVC(**arguments).fit(X, y)
    with pytest.raises(IncompatibleError, match="the expected loss of Trigonometric under a Gaussian is infinite"):
        VariationalSVC(likelihood="trigonometric").fit(X, y)


def test_an_object_as_likelihood(moons):
    machine = VariationalSVC(likelihood=Logistic(), n_starts=1).fit(*moons)
    assert machine.likelihood_ == Logistic()
    assert machine.multimodal_ is False
