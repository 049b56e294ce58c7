"""BayesianLSSVC, BayesianLSSVR and KernelFisherDiscriminant as users see them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.utils.estimator_checks import check_estimator

from bayesvm.estimators import ls_svm
from bayesvm.estimators.kernel_fisher import KernelFisherDiscriminant
from bayesvm.estimators.ls_svm import BayesianLSSVC, BayesianLSSVR
from bayesvm.exceptions import ConvergenceWarning, NotPositiveDefiniteError
from bayesvm.hyper import LogNormal
from bayesvm.kernels import MLP, Constant, Gaussian, Linear, Matern32, Matern52, Polynomial
from bayesvm.testing.differences import five_point, relative_error

X, Y = make_moons(120, noise=0.25, random_state=0)
X_NEW = make_moons(300, noise=0.25, random_state=1)[0]
IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted():
    return BayesianLSSVC(random_state=0).fit(X, Y)


def sinc(n=80, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, size=n))[:, None]
    return x, np.sinc(x[:, 0]) + noise * rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"multi_class": "ovr"}, {"decision": "latent"}, {"fit_intercept": False}, {"softmax": True}, {"ard": True}],
    ids=str,
)
def test_check_estimator_with_options(options):
    check_estimator(BayesianLSSVC(**options), on_skip=None)


# -- probabilities -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"softmax": True}, {"decision": "latent"}, {"fit_intercept": False}], ids=str)
def test_probabilities(options):
    machine = BayesianLSSVC(random_state=0, **options).fit(X, Y)
    proba = machine.predict_proba(np.vstack([X_NEW, [[1e3, -1e3]]]))
    assert np.all((proba > 0.0) & (proba < 1.0))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(X_NEW), np.argmax(machine.predict_proba(X_NEW), axis=1))
    np.testing.assert_array_equal(machine.decision_function(X_NEW) > 0.0, machine.predict(X_NEW) == 1)


def test_latent_decision_is_the_sign_of_the_latent_function(fitted):
    machine = clone(fitted).set_params(decision="latent").fit(X, Y)
    mean, std = machine.predict_latent(X_NEW)
    assert np.all(std > 0.0)
    np.testing.assert_array_equal(machine.predict(X_NEW), (mean > 0.0).astype(int))
    np.testing.assert_allclose(machine.predict_latent(X_NEW, return_std=False), mean)
    by_hand = machine.kernel_.gram(X_NEW, machine.support_vectors_) @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(mean, by_hand, atol=1e-9)
    for change in ({"class_prior": [0.3, 0.7]}, {"class_cost": [[0.0, 1.0], [5.0, 0.0]]}):
        with pytest.raises(ValueError, match="decision='moderated'"):
            clone(machine).set_params(**change).fit(X, Y).predict(X_NEW)
    with pytest.raises(ValueError, match="decision='moderated'"):
        machine.predict_proba(X_NEW, class_prior=[0.3, 0.7])


def test_priors_at_construction_and_at_prediction(fitted):
    odds = fitted.decision_function(X_NEW)
    shifted = fitted.predict_log_proba(X_NEW, class_prior=[0.9, 0.1])
    np.testing.assert_allclose(shifted[:, 1] - shifted[:, 0], odds + np.log(0.1 / 0.9), atol=1e-10)
    given = clone(fitted).set_params(class_prior=[0.9, 0.1]).fit(X, Y)
    np.testing.assert_allclose(given.predict_log_proba(X_NEW), shifted, atol=1e-8)
    with pytest.raises(ValueError, match="class_prior: expected 2 positive"):
        fitted.predict_proba(X_NEW, class_prior=[0.5, 0.2, 0.3])


def test_costs_move_the_decision(fitted):
    costs = np.array([[0.0, 1.0], [8.0, 0.0]])
    careful = clone(fitted).set_params(class_cost=costs).fit(X, Y)
    proba = careful.predict_proba(X_NEW)
    np.testing.assert_allclose(proba, fitted.predict_proba(X_NEW), atol=1e-8)
    np.testing.assert_array_equal(careful.predict(X_NEW), np.argmin(proba @ costs, axis=1))
    np.testing.assert_array_equal(careful.decision_function(X_NEW) > 0.0, careful.predict(X_NEW) == 1)
    assert careful.predict(X_NEW).sum() > fitted.predict(X_NEW).sum()
    # equivalence of costs and priors
    prior = np.array([0.5, 0.5 * 8.0]) / 4.5
    np.testing.assert_array_equal(careful.predict(X_NEW), fitted.predict(X_NEW, class_prior=prior))
    for bad in ([1.0, 2.0], [[0.0, 0.0], [1.0, 0.0]], [[0.0, np.nan], [1.0, 0.0]]):
        with pytest.raises(ValueError, match="class_cost: expected"):
            clone(fitted).set_params(class_cost=bad).fit(X, Y).predict(X_NEW)
    many = BayesianLSSVC(class_cost=np.ones((3, 3)) - np.eye(3), random_state=0).fit(*IRIS)
    np.testing.assert_array_equal(many.predict(IRIS[0]), np.argmax(many.predict_proba(IRIS[0]), axis=1))
    np.testing.assert_array_equal(np.argmax(many.decision_function(IRIS[0]), axis=1), many.predict(IRIS[0]))


# -- classes and weights -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_several_classes(multi_class):
    machine = BayesianLSSVC(multi_class=multi_class, random_state=0).fit(*IRIS)
    assert machine.score(*IRIS) > 0.95
    assert machine.dual_coef_.shape == (3, 150)
    np.testing.assert_allclose(machine.predict_proba(IRIS[0]).sum(axis=1), 1.0, atol=1e-12)
    mean, std = machine.predict_latent(IRIS[0])
    assert mean.shape == std.shape == (150, 3)
    assert machine.gamma_.shape == (1 if multi_class == "shared" else 3,)
    if multi_class == "shared":  # the outputs sum to a constant, as the targets do
        np.testing.assert_allclose(mean.sum(axis=1), -1.0, atol=1e-8)
    assert machine.sample(IRIS[0][:4], 5, random_state=0).shape == (4, 5, 3)


def test_two_classes_do_not_depend_on_the_multi_class_scheme(fitted):
    other = clone(fitted).set_params(multi_class="ovr").fit(X, Y)
    np.testing.assert_allclose(other.predict_proba(X_NEW), fitted.predict_proba(X_NEW), atol=1e-10)


def test_weights_are_repetitions():
    counts = np.random.default_rng(0).integers(0, 4, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    weighted = BayesianLSSVC().fit(X, Y, sample_weight=counts)
    repeated = BayesianLSSVC().fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X_NEW), repeated.predict_proba(X_NEW), atol=1e-5)
    balanced = BayesianLSSVC(class_weight="balanced").fit(
        X[Y + np.arange(len(Y)) % 3 > 0], Y[Y + np.arange(len(Y)) % 3 > 0]
    )
    assert np.isfinite(balanced.log_evidence_)


# -- levels ------------------------------------------------------------------------------------------------------------
def test_fit_reports_all_three_levels(fitted):
    assert fitted.converged_
    assert fitted.gamma_ == pytest.approx(fitted.zeta_ / fitted.mu_)
    assert 1.0 < fitted.gamma_eff_ < len(Y)
    assert fitted.log_evidence() == pytest.approx(fitted.log_evidence_, abs=1e-9)
    value, gradient = fitted.log_evidence(np.log([0.7]), gradient=True)
    slopes = five_point(lambda t: fitted.log_evidence(t), np.log([0.7]), step=1e-3)
    assert relative_error(gradient, slopes) < 1e-6
    assert value < fitted.log_evidence_
    assert fitted.likelihood_.variance == pytest.approx(1.0 / fitted.zeta_)
    assert sum(r.evaluations for r in fitted.history_) == fitted.n_iter_
    assert fitted.approximations_[0].method == "complete"
    assert fitted.approximations_[0].solve_residual < 1e-9


def test_starts_agree():
    values = [
        BayesianLSSVC(Gaussian(lengthscale=start), n_starts=1, evidence_tol=1e-9).fit(X, Y).log_evidence_
        for start in (0.15, 0.5, 3.0)
    ]
    np.testing.assert_allclose(values, values[0], atol=1e-6)


def test_given_hyperparameters_are_kept():
    kernel = Gaussian(lengthscale=0.8)
    machine = BayesianLSSVC(kernel, optimizer=None).fit(X, Y)
    assert machine.kernel_.kernel.lengthscale == 0.8
    assert machine.n_iter_ == 1
    prior = LogNormal(np.log(3.0), 0.01)
    pulled = BayesianLSSVC(hyperprior=prior).fit(X, Y)
    assert pulled.kernel_.kernel.lengthscale == pytest.approx(3.0, rel=0.1)


def test_kernels_are_ranked_by_evidence():
    kernels = [Linear(), Polynomial(3), Gaussian(), Matern52()]
    machine = BayesianLSSVC(kernels, random_state=0).fit(X, Y)
    ranks = machine.compare()
    assert len(ranks) == 4
    np.testing.assert_allclose(sum(r.probability for r in ranks), 1.0)
    assert [r.log_evidence for r in ranks] == sorted((r.log_evidence for r in ranks), reverse=True)
    odds = ranks[0].probability / ranks[1].probability
    np.testing.assert_allclose(np.log(odds), ranks[0].log_evidence - ranks[1].log_evidence, atol=1e-8)
    assert machine.log_evidence_ == pytest.approx(ranks[0].log_evidence, abs=1e-8)
    assert sum(c.kept for c in machine.candidates_) == 1
    assert len(BayesianLSSVC("auto").fit(X, Y).compare()) == 4
    with pytest.raises(ValueError, match="list of kernels"):
        BayesianLSSVC().fit(X, Y).compare()


def test_kernel_that_is_not_positive_is_left_out_or_refused(caplog):
    mlp = MLP(scale=5.0, offset=1.0)
    machine = BayesianLSSVC([mlp, Gaussian()]).fit(X, Y)
    assert machine.compare()[1].log_evidence == -np.inf
    assert "left out" in caplog.text
    with pytest.raises(NotPositiveDefiniteError):
        BayesianLSSVC(mlp).fit(X, Y)


def test_relevance_finds_the_useless_feature():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(np.column_stack([X, rng.normal(size=len(Y))]), columns=["a", "b", "noise"])
    machine = BayesianLSSVC(ard=True).fit(frame, Y)
    assert list(machine.named_relevance_)[-1] == "noise"
    assert machine.relevance_[2] < 0.1 * machine.relevance_[:2].min()
    isotropic = BayesianLSSVC().fit(frame, Y)
    assert machine.log_evidence_ > isotropic.log_evidence_


def test_singular_gram_through_the_estimators():
    twice = np.vstack([X, X])
    labels = np.concatenate([Y, Y])
    assert BayesianLSSVC().fit(twice, labels).score(twice, labels) > 0.9
    linear = BayesianLSSVC(Linear()).fit(X, Y)
    assert linear.gamma_eff_ < 3.0 + 1e-9
    constant = BayesianLSSVC().fit(np.ones((20, 2)), np.arange(20) % 2)
    assert np.allclose(constant.predict_proba(np.ones((1, 2))), 0.5)


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian() * Linear() + Constant()])
@pytest.mark.parametrize("seed", [1, 2])
def test_equal_rows_have_the_share_of_their_labels_whatever_is_left_out(kernel, seed):
    same, labels = np.ones((50, 1)), np.random.default_rng(seed).random(50) < 0.5
    expected = BayesianLSSVC(kernel).fit(same, labels).predict_proba(same[:1])
    for options in ({"n_components": 3}, {"landmarks": 5}):
        found = BayesianLSSVC(kernel, **options).fit(same, labels).predict_proba(same[:1])
        np.testing.assert_allclose(found, expected, atol=1e-6)


# -- large data --------------------------------------------------------------------------------------------------------
def test_components_and_landmarks_approach_the_complete_machine(fitted):
    reference = fitted.predict_proba(X_NEW)
    kernel = fitted.kernel_.kernel
    for options in ({"n_components": 60}, {"landmarks": 90}):
        machine = BayesianLSSVC(kernel, optimizer=None, random_state=0, **options).fit(X, Y)
        np.testing.assert_allclose(machine.predict_proba(X_NEW), reference, atol=0.03)
        assert machine.approximations_[0].left_out < 0.01
    few = BayesianLSSVC(kernel, optimizer=None, random_state=0, n_components=10).fit(X, Y)
    assert few.approximations_[0].n_components == 10
    assert few.approximations_[0].left_out > machine.approximations_[0].left_out
    assert np.all(few.predict_latent(X_NEW)[1] > 0.0)


def test_search_on_a_sample_of_the_rows(monkeypatch):
    from bayesvm.models.ls_svm import levels, model

    monkeypatch.setattr(model, "COMPLETE", 80)
    monkeypatch.setattr(model, "SEARCHED", 60)
    monkeypatch.setattr(model, "KEPT", 40)
    monkeypatch.setattr(levels, "HELD", 100)
    monkeypatch.setattr(levels, "PART", 1000)
    machine = BayesianLSSVC(random_state=0).fit(X, Y)
    assert machine.models_[0].objective.design.n == 60
    assert machine.approximations_[0].method == "leading eigenpairs"
    assert machine.dual_coef_.shape == (1, 120)
    assert machine.score(X, Y) > 0.9
    again = BayesianLSSVC(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(machine.dual_coef_, again.dual_coef_)


def test_unsolved_system_is_reported(monkeypatch):
    from bayesvm.inference.ls_svm import solve_iterative
    from bayesvm.models.ls_svm import levels

    monkeypatch.setattr(levels, "solve_iterative", lambda *a: solve_iterative(*a, tol=1e-15, max_iter=2))
    with pytest.warns(ConvergenceWarning, match="maximal number of iterations"):
        machine = BayesianLSSVC(Gaussian(lengthscale=0.3), optimizer=None, n_components=5, random_state=0).fit(X, Y)
    assert not machine.converged_


@pytest.mark.parametrize("prune", [0.25, 30])
def test_pruning(prune, fitted):
    machine = BayesianLSSVC(prune=prune, random_state=0).fit(X, Y)
    assert machine.support_.size == machine.dual_coef_.shape[1] == 30
    sizes = [size for size, _ in machine.pruning_curves_[0]]
    assert sizes[0] == 120
    assert sizes[-1] == 30
    assert machine.pruning_curves_[0][-1][1] == pytest.approx(machine.log_evidence_)
    assert machine.pruning_curves_[0][0][1] == pytest.approx(fitted.log_evidence_)
    assert machine.score(X, Y) > 0.9


# -- regression --------------------------------------------------------------------------------------------------------
def test_regressor_error_bars_and_intervals():
    x, t = sinc(150)
    machine = BayesianLSSVR().fit(x, t)
    assert machine.noise_std_ == pytest.approx(0.1, rel=0.25)
    np.testing.assert_allclose(np.mean(t - machine.predict(x)), 0.0, atol=1e-9)
    mean, std = machine.predict(x, return_std=True)
    _, latent = machine.predict(x, return_std=True, return_noise=False)
    np.testing.assert_allclose(std**2, latent**2 + machine.noise_std_**2)
    np.testing.assert_allclose(latent, machine.predict_latent(x)[1])
    low, high = machine.predict_interval(x, 0.9)
    np.testing.assert_allclose(0.5 * (low + high), mean)
    fresh = sinc(2000, seed=9)
    low, high = machine.predict_interval(fresh[0], 0.9)
    assert np.mean((fresh[1] > low) & (fresh[1] < high)) == pytest.approx(0.9, abs=0.04)
    assert machine.predict(np.array([[100.0]]), return_std=True)[1][0] > 2.0 * std.max()
    draws = machine.sample(x[:5], 4000, random_state=0)
    np.testing.assert_allclose(draws.std(axis=1), latent[:5], rtol=0.1)
    with pytest.raises(ValueError, match="confidence"):
        machine.predict_interval(x, 1.5)


def test_regressor_follows_the_scale_of_the_targets():
    x, t = sinc()
    small, large = BayesianLSSVR(evidence_tol=1e-8).fit(x, t), BayesianLSSVR(evidence_tol=1e-8).fit(x, 1000.0 * t + 7.0)
    np.testing.assert_allclose(large.predict(x), 1000.0 * small.predict(x) + 7.0, atol=1e-3)
    np.testing.assert_allclose(large.noise_std_, 1000.0 * small.noise_std_, rtol=1e-6)
    np.testing.assert_allclose(large.log_evidence_, small.log_evidence_ - (len(t) - 1) * np.log(1000.0), atol=1e-5)


def test_robust_reweighting_takes_outliers_out():
    x, t = sinc(150)
    bad = np.random.default_rng(1).choice(150, 10, replace=False)
    t[bad] += 4.0
    plain, robust = BayesianLSSVR().fit(x, t), BayesianLSSVR(robust=True).fit(x, t)

    def error(machine):
        return np.sqrt(np.mean((machine.predict(x) - np.sinc(x[:, 0])) ** 2))

    assert error(robust) < 0.05 < 0.2 < error(plain)
    assert robust.noise_std_ == pytest.approx(0.1, rel=0.3)
    weighted = BayesianLSSVC(robust=True).fit(X, Y, sample_weight=np.full(len(Y), 2.0))
    assert weighted.score(X, Y) > 0.9


# -- Fisher ------------------------------------------------------------------------------------------------------------
def test_fisher_projection_is_the_latent_function_up_to_scale(fitted):
    fisher = KernelFisherDiscriminant(fitted.kernel_.kernel, gamma=float(fitted.gamma_[0])).fit(X, Y)
    z, f = fisher.transform(X_NEW)[:, 0], fitted.predict_latent(X_NEW, return_std=False)
    assert abs(np.corrcoef(z, f)[0, 1]) == pytest.approx(1.0, abs=1e-10)
    assert fisher.score(X, Y) > 0.9


def test_fisher_with_several_classes():
    machine = KernelFisherDiscriminant(kernel=Gaussian(lengthscale=2.0)).fit(*IRIS)
    Z = machine.transform(IRIS[0])
    assert Z.shape == (150, 2)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(machine.means_, [Z[IRIS[1] == c].mean(axis=0) for c in range(3)], atol=1e-9)
    assert machine.score(*IRIS) > 0.95
    np.testing.assert_allclose(machine.predict_proba(IRIS[0]).sum(axis=1), 1.0)
    assert list(machine.get_feature_names_out()) == ["kernelfisherdiscriminant0", "kernelfisherdiscriminant1"]
    assert KernelFisherDiscriminant(n_components=1).fit(*IRIS).transform(IRIS[0]).shape == (150, 1)
    even = KernelFisherDiscriminant(class_prior=[1.0, 1.0, 8.0]).fit(*IRIS)
    assert even.class_prior_[2] == pytest.approx(0.8)
    for bad in ({"gamma": -1.0}, {"n_components": 3}, {"class_prior": [1.0]}, {"kernel": "rgb"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            KernelFisherDiscriminant(**bad).fit(*IRIS)


# -- input -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision": "sign"}, "decision: expected 'moderated' or 'latent'"),
        ({"multi_class": "ovo"}, "multi_class: expected"),
        ({"n_components": 0}, "n_components: expected 'auto' or an integer of at least 1"),
        ({"n_components": "all"}, "n_components"),
        ({"landmarks": -3}, "landmarks: expected None or an integer of at least 1"),
        ({"prune": 1.5}, "prune: expected None, a fraction"),
        ({"kernel": []}, "kernel: expected at least one"),
        ({"kernel": "rgb"}, "kernel: "),
        ({"kernel": 3.0}, "kernel: expected a bayesvm"),
        ({"optimizer": "adam"}, "optimizer: expected"),
        ({"n_starts": 0}, "n_starts: expected"),
        ({"evidence_tol": -1.0}, "evidence_tol: expected"),
        ({"hyperprior": 3}, "hyperprior: expected"),
    ],
    ids=str,
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        BayesianLSSVC(**options).fit(X, Y)


def test_bad_data():
    with pytest.raises(ValueError, match="two classes"):
        BayesianLSSVC().fit(X, np.ones(len(Y)))
    with pytest.raises(ValueError, match="every class"):
        BayesianLSSVC().fit(X, Y, sample_weight=np.where(Y == 1, 0.0, 1.0))
    with pytest.raises(ValueError, match="sum to more than 1"):
        BayesianLSSVC().fit(X, Y, sample_weight=np.full(len(Y), 1e-3))
    with pytest.raises(ValueError, match="NaN"):
        BayesianLSSVR().fit(np.where(X > 1.0, np.nan, X), X[:, 0])


def test_pickle_clone_sparse_and_reproducible(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X_NEW), fitted.predict_proba(X_NEW))
    np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict_proba(X_NEW), fitted.predict_proba(X_NEW))
    A, b = make_classification(60, 8, random_state=0)
    A[np.abs(A) < 1.0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense = BayesianLSSVC(standardize=False).fit(A, b).predict_proba(A)
        sparse = BayesianLSSVC(standardize=False).fit(sp.csr_array(A), b).predict_proba(sp.csr_array(A))
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9])
@pytest.mark.parametrize("ard", [False, True])
def test_constant_targets_are_predicted_without_doubt(value, ard):
    X = np.random.default_rng(0).normal(size=(30, 2))
    machine = BayesianLSSVR(ard=ard).fit(X, np.full(30, value))
    mean, std = machine.predict(X[:5], return_std=True)
    np.testing.assert_allclose(mean, value, rtol=1e-9, atol=1e-9)
    assert np.all(std <= 1e-6 * max(1.0, abs(value)))


# -- inducing inputs ---------------------------------------------------------------------------------------------------
def waves(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
    return X, 50.0 + 10.0 * (f + 0.2 * rng.normal(size=n)), np.where(f + 0.3 * rng.normal(size=n) > 0.0, 1, 0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_rows_as_inducing_inputs_are_the_complete_machine(fit_intercept):
    X, y, labels = waves(120)
    options = {"kernel": Matern32().fix("variance"), "fit_intercept": fit_intercept, "optimizer": None}
    for cls, target in ((BayesianLSSVR, y), (BayesianLSSVC, labels)):
        whole, ours = cls(**options).fit(X, target), cls(**options, inducing=120).fit(X, target)
        assert ours.gamma_[0] == pytest.approx(whole.gamma_[0], rel=1e-6)
        assert ours.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-6)
        method = "predict" if cls is BayesianLSSVR else "predict_proba"
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(whole, method)(X), rtol=1e-6, atol=1e-7)


def test_the_kernel_is_learnt_with_inducing_inputs():
    X, y, _ = waves()
    new = waves(300, 1)[0]
    truth = 50.0 + 10.0 * (np.sin(2.0 * new[:, 0]) + 0.3 * new[:, 1])
    whole = BayesianLSSVR(ard=True, random_state=0).fit(X, y)
    ours = BayesianLSSVR(ard=True, inducing=60, random_state=0).fit(X, y)
    assert ours.support_.size <= 60
    np.testing.assert_allclose(ours.models_[0].theta, whole.models_[0].theta, atol=0.2)
    errors = [np.sqrt(np.mean((m.predict(new) - truth) ** 2)) for m in (whole, ours)]
    assert errors[1] < 1.1 * errors[0]
    assert ours.noise_std_ == pytest.approx(whole.noise_std_, rel=0.05)


def test_weights_of_rows_count_with_inducing_inputs():
    X, y, _ = waves(80)
    counts = 1 + np.arange(80) % 3
    options = {"inducing": 200, "optimizer": None}
    weighted = BayesianLSSVR(Gaussian(1.0, 0.7), **options).fit(X, y, counts.astype(float))
    repeated = BayesianLSSVR(Gaussian(1.0, 0.7), **options, standardize=False)
    inner = (X - np.average(X, axis=0, weights=counts)) / np.sqrt(
        np.average((X - np.average(X, axis=0, weights=counts)) ** 2, axis=0, weights=counts)
    )
    rows = np.repeat(np.arange(80), counts)
    np.testing.assert_allclose(repeated.fit(inner[rows], y[rows]).predict(inner), weighted.predict(X), rtol=1e-6)


def test_many_rows_have_as_many_inducing_inputs_as_are_needed(monkeypatch):
    X, y, labels = waves(250)
    monkeypatch.setattr(ls_svm, "COMPLETE", 200)
    smooth = BayesianLSSVR("rbf", ard=True, random_state=0).fit(X, y)
    assert smooth.approximations_[0].method == "landmarks"
    assert smooth.support_.size < 100
    three = BayesianLSSVC(random_state=0, n_starts=2).fit(X, np.digitize(y, [45.0, 55.0]))
    assert three.approximations_[0].method == "landmarks"
    assert three.score(X, np.digitize(y, [45.0, 55.0])) > 0.75
    assert BayesianLSSVR(n_components=20).fit(X, y).approximations_[0].method == "leading eigenpairs"
    assert BayesianLSSVC(inducing=None, n_starts=1).fit(X, labels).approximations_[0].method == "complete"


def test_kernels_are_compared_with_inducing_inputs():
    X, y, _ = waves(150)
    machine = BayesianLSSVR("auto", inducing=40, random_state=0, n_starts=2).fit(X, y)
    ranks = machine.compare()
    assert len(ranks) == 4
    assert "Gaussian" in ranks[0].kernel
    robust = BayesianLSSVR(inducing=40, robust=True, random_state=0, n_starts=1).fit(X, y)
    assert np.corrcoef(robust.predict(X), y)[0, 1] > 0.9


def test_inducing_inputs_exclude_other_approximations():
    X, y, _ = waves(30)
    with pytest.raises(ValueError, match="inducing: expected 'auto' or None together with n_components"):
        BayesianLSSVR(inducing=10, landmarks=5).fit(X, y)
