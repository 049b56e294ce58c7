"""ProbabilisticSVC: what users see."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from bayesvm.datasets.sollich import label_probability, make_sollich
from bayesvm.estimators.probabilistic_svc import ProbabilisticSVC
from bayesvm.inference.hinge import SliceSampling, hinge_mode
from bayesvm.inference.hinge.sampling import effective_size, spread_normals
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.models import TrainingData
from bayesvm.testing import check_gradient

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
    pytest.mark.xdist_group("probabilistic svc"),  # one fitted machine for all
]
FIGURE = {"kernel": Gaussian(1.25, 0.05), "C": 2.0, "standardize": False, "random_state": 0, "n_nodes": 25}


@pytest.fixture(scope="module")
def data():
    return make_sollich(50, random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    return ProbabilisticSVC(tune="C", average=True, n_draws=200, **FIGURE).fit(data[0], data[1])


#: Checks in which learning matters: rounding, repetition.
LEARNT = ("check_estimators_dtypes", "check_fit_idempotent")


def learning_checks():
    estimator = ProbabilisticSVC(n_starts=1, n_nodes=20, normalizer_tol=1.0)
    checks = {
        getattr(check, "func", check).__name__: (est, check) for est, check in estimator_checks_generator(estimator)
    }
    return [pytest.param(*checks[name], id=name) for name in LEARNT]


@pytest.mark.parametrize(("estimator", "check"), learning_checks())
def test_scikit_learn_contract_of_a_machine_that_learns(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([ProbabilisticSVC()])
def test_scikit_learn_contract_of_the_defaults(estimator, check):
    check(estimator)


def test_tuning_C_leaves_the_machine_as_it_is(data, fitted):
    X, y, _ = data
    mode = hinge_mode(Gaussian(1.25, 0.05).gram(X), y.astype(float), np.full(50, 2.0))
    assert np.allclose(fitted.predict_latent(X, return_std=False), mode.f, atol=1e-6)
    assert fitted.C_ != 2.0
    assert fitted.kernel_.gram(X[:1])[0, 0] * fitted.C_ == pytest.approx(2.5)


def test_parts_of_the_evidence(fitted):
    assert fitted.log_evidence_ == pytest.approx(fitted.log_naive_evidence_ - fitted.log_normalizer_)
    assert 0.0 < fitted.log_evidence_error_ < 1.0
    assert fitted.log_normalizer_ < 0.0


def test_the_normaliser_moves_C_upwards(data, fitted):
    naive = ProbabilisticSVC(tune="C", normalized=False, **FIGURE).fit(data[0], data[1])
    assert naive.C_ < fitted.C_
    assert naive.log_normalizer_ == 0.0
    curve = fitted.evidence_curve(np.geomspace(0.5, 10.0, 10))
    assert curve.naive_best < curve.best
    assert curve.interior


def test_probabilities_of_the_mode_are_equation_5(data, fitted):
    X = np.linspace(0.0, 1.0, 50)[:, None]
    f = fitted.predict_latent(X, return_std=False)
    assert np.allclose(fitted.predict_proba(X, average=False)[:, 1], label_probability(f, fitted.C_))
    C = fitted.C_
    nu = (np.exp(-C * np.maximum(1 - f, 0)) + np.exp(-C * np.maximum(1 + f, 0))) / (1 + np.exp(-2 * C))
    assert np.allclose(fitted.predict_rejection(X, average=False), 1.0 - nu, atol=1e-12)


def test_averaged_predictions(data, fitted):
    X = np.linspace(0.0, 1.0, 50)[:, None]
    proba = fitted.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert np.array_equal(fitted.predict(X), fitted.classes_[np.argmax(proba, axis=1)])
    assert np.allclose(proba[7:9], fitted.predict_proba(X[7:9]), atol=1e-12)
    assert fitted.effective_sample_size_ > 30.0
    unprepared = clone(fitted).set_params(average=False).fit(data[0], data[1])
    assert unprepared.effective_sample_size_ is None
    assert np.allclose(unprepared.predict_proba(X, average=True), proba, atol=1e-10)
    mean, std = fitted.predict_latent(X)
    assert np.all(std > 0.0)
    assert mean.shape == (50,)


def test_slice_sampling_has_the_moments_of_a_brute_force_integral():
    K, y, c = np.array([[2.0, 0.8], [0.8, 1.0]]), np.array([1.0, -1.0]), np.array([1.5, 1.5])
    from bayesvm.inference.hinge import HingeExactOrEP
    from bayesvm.likelihoods import Hinge

    posterior, _ = HingeExactOrEP().infer(K, y, Hinge(1.5))
    draws = SliceSampling(draws=8000, chains=200, burn_in=20, thin=2).run(K, y, c, posterior, np.random.default_rng(0))
    f = K @ draws.coefficients
    z = (np.arange(400) + 0.5) / 400 * 16.0 - 8.0
    Z = np.stack(np.meshgrid(z, z, indexing="ij")).reshape(2, -1)
    g = np.linalg.cholesky(K) @ Z
    w = np.exp(-0.5 * np.sum(Z**2, axis=0) - c @ np.maximum(1.0 - y[:, None] * g, 0.0))
    w /= w.sum()
    mean = g @ w
    cov = (g * w) @ g.T - np.outer(mean, mean)
    assert np.allclose(f.mean(axis=1), mean, atol=0.06)
    assert np.allclose(np.cov(f), cov, atol=0.1)
    assert np.all(draws.ess > 1000.0)


def test_effective_size_of_independent_and_of_repeated_draws():
    rng = np.random.default_rng(0)
    independent = rng.normal(size=(50, 3, 20))
    assert np.all(effective_size(independent) > 600.0)
    assert np.all(effective_size(np.repeat(independent[:10], 5, axis=0)) < 400.0)
    normals = spread_normals(101)
    assert abs(normals.mean()) < 1e-12
    assert abs(np.corrcoef(normals[1:], normals[:-1])[0, 1]) < 0.8


def test_a_C_below_ln_2_is_remarked(data, caplog):
    with caplog.at_level(logging.WARNING):
        machine = ProbabilisticSVC(optimizer=None, **{**FIGURE, "C": 0.5}).fit(data[0], data[1])
    assert "below ln 2" in machine.remarks_[0]
    assert "footnote 2" in caplog.text


def test_data_without_label_noise_are_recognised():
    X = np.linspace(0.0, 1.0, 24)[:, None]
    y = np.where(X[:, 0] > 0.5, 1, -1)
    arguments = {"C": 2.0, "tune": "C", "standardize": False, "random_state": 0, "n_nodes": 20}
    hard = ProbabilisticSVC(Gaussian(1e6, 0.5), **arguments).fit(X, y)
    assert any("no interior maximum" in remark for remark in hard.remarks_)
    soft = ProbabilisticSVC(Gaussian(2.0, 0.5), **arguments).fit(X, y)  # violated margins bound C from above
    assert not soft.remarks_


def test_weights_that_differ_by_orders_of_magnitude(data):
    """Expectation propagation does not settle: the machine is as ever, its evidence the coarse one, and it says so."""
    X, y = data[0][:20], data[1][:20]
    machine = ProbabilisticSVC(
        Gaussian(2.0, 2.0) + Constant(0.5),
        optimizer=None,
        n_nodes=10,
        normalizer_tol=50.0,
        class_weight={-1: 1e3, 1: 1e-4},
    ).fit(X, y)
    assert any("does not settle" in remark for remark in machine.remarks_)
    assert np.all(machine.predict(X) == -1)
    assert machine.log_naive_evidence_ < 0.0


def test_gradient_of_the_whole_evidence(data):
    machine = ProbabilisticSVC(
        Gaussian(6.0, 0.3) + Constant(0.5), C=1.0, standardize=False, random_state=0, normalizer_tol=10.0, n_nodes=30
    )
    report = check_gradient(machine, data[0][:30], data[1][:30], step=1e-6)
    assert report.error < 1e-4, str(report)
    assert report.names[-1] == "likelihood.C"


@pytest.mark.parametrize("evidence", ["naive", "marginal", "annealed"])
def test_estimates_of_the_evidence(data, evidence):
    X, y = data[0][:15], data[1][:15]
    machine = ProbabilisticSVC(evidence=evidence, optimizer=None, **FIGURE).fit(X, y)
    again = ProbabilisticSVC(evidence=evidence, optimizer=None, **FIGURE).fit(X, y)
    assert machine.log_evidence_ == again.log_evidence_
    assert np.isfinite(machine.log_evidence_)


@pytest.mark.parametrize("optimizer", [None, pytest.param("bfgs", marks=pytest.mark.slow)], ids=["given", "tuned"])
def test_rows_may_be_permuted_doubled_or_weighted(data, optimizer):
    X, y = data[0][:16], data[1][:16]
    order = np.random.default_rng(0).permutation(16)
    arguments = {**FIGURE, "tune": "C", "n_nodes": 20, "optimizer": optimizer}
    plain = ProbabilisticSVC(**arguments).fit(X, y)
    permuted = ProbabilisticSVC(**arguments).fit(X[order], y[order])
    assert pytest.approx(plain.C_, rel=1e-6) == permuted.C_
    assert permuted.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-4)
    doubled = ProbabilisticSVC(**arguments).fit(np.r_[X, X[:5]], np.r_[y, y[:5]])
    weighted = ProbabilisticSVC(**arguments).fit(X, y, sample_weight=np.r_[np.full(5, 2.0), np.ones(11)])
    assert pytest.approx(doubled.C_, rel=1e-6) == weighted.C_
    assert doubled.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=1e-4)


def test_three_classes_and_pickling():
    X, y = load_iris(return_X_y=True)
    machine = ProbabilisticSVC(n_starts=1, random_state=0, n_nodes=20, normalizer_tol=1.0).fit(X[::5, :2], y[::5])
    proba = machine.predict_proba(X[:, :2])
    assert proba.shape == (150, 3)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert machine.score(X[:, :2], y) > 0.7
    assert machine.predict_rejection(X[:5, :2]).shape == (5, 3)
    assert np.array_equal(pickle.loads(pickle.dumps(machine)).predict_proba(X[:, :2]), proba)
    with pytest.raises(ValueError, match="evidence_curve: expected two classes, found 3"):
        machine.evidence_curve()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"evidence": "laplace"}, "evidence: expected 'naive', 'marginal' or 'annealed', found 'laplace'"),
        ({"tune": "kernel"}, "tune: expected 'all' or 'C', found 'kernel'"),
        ({"tune": "C", "kernel": "auto"}, "kernel: expected a kernel whose product with C is kept"),
        ({"C": -1.0}, "C: expected a positive number, found -1.0"),
        ({"n_nodes": 1}, "n_nodes: expected an integer of at least 2, found 1"),
        ({"n_draws": 0.5}, "n_draws: expected an integer of at least 2, found 0.5"),
        ({"inputs": np.zeros((3, 2))}, r"inputs: expected finite rows of 1 features, found shape \(3, 2\)"),
    ],
    ids=str,
)
def test_bad_arguments(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        ProbabilisticSVC(**arguments).fit(data[0], data[1])


def test_draws_of_the_model():
    X, y, f = make_sollich(30, n_extra=20, random_state=0)
    assert X.shape == (50, 1)
    assert set(np.unique(y)) <= {-1, 1}
    again = make_sollich(30, n_extra=20, random_state=0)
    assert np.array_equal(f, again[2])
    wide = make_sollich(
        20, kernel=Gaussian(4.0, 1.0), inputs=lambda rng, m: rng.normal(size=(m, 3)), sweeps=50, random_state=1
    )
    assert wide[0].shape == (20, 3)


@pytest.mark.parametrize("state", [None, np.random.default_rng(3), 3], ids=["none", "generator", "integer"])
def test_all_estimates_of_a_model_share_their_draws(data, state):
    X, y, _ = data
    rows = TrainingData(Inputs(X), y[:, None].astype(float))
    spec = ProbabilisticSVC(random_state=state, n_nodes=10)._spec(rows)
    first, again = (spec.objective(Gaussian(1.25, 0.05), rows) for _ in range(2))
    assert first.normalizer.seed == again.normalizer.seed == spec.seed
    assert first.evaluate(first.theta0).value == again.evaluate(first.theta0).value
