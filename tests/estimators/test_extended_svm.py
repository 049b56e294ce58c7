"""The machines with given hyperparameters: against scikit-learn, against their own definitions, and as estimators."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

from bayesvm.estimators._margin_classifier import dual_values
from bayesvm.estimators.extended_svc import ExtendedSVC
from bayesvm.estimators.extended_svr import ExtendedSVR
from bayesvm.estimators.trigonometric_svc import TrigonometricSVC
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, Polynomial, Precomputed


def sample(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]
    return X, f + 0.4 * rng.normal(size=n), rng.uniform(0.1, 3.0, size=n), rng


def dual_value(K, a, linear, quadratic=0.0):
    return 0.5 * a @ K @ a + linear @ a + quadratic


# -- against scikit-learn ----------------------------------------------------------------------------------------------
# C stays below 10: scikit-learn keeps kernel values in single precision, which moves its decision values by more than
# 1e-5 at larger C, at any tolerance.
@pytest.mark.parametrize("seed", range(20))
def test_same_optimum_as_scikit_learn_svc(seed):
    X, z, w, rng = sample(seed)
    y = z > 0.0
    C, gamma = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, 0)
    kernel = Gaussian(1.0, (2.0 * gamma) ** -0.5)
    ours = ExtendedSVC(C=C, kernel=kernel, tol=1e-6, class_weight={True: 2.0}).fit(X, y, sample_weight=w)
    theirs = SVC(C=C, gamma=gamma, tol=1e-6, class_weight={True: 2.0}).fit(X, y, sample_weight=w)
    K, s = kernel.gram(X), np.where(y, 1.0, -1.0)
    values = []
    for machine in (ours, theirs):
        a = np.zeros(y.size)
        a[machine.support_] = machine.dual_coef_[0]
        values.append(dual_value(K, a, -s))
    assert np.isclose(values[0], values[1], rtol=1e-8)
    assert np.isclose(ours.dual_objective_[0], values[0], rtol=1e-10)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert np.array_equal(ours.n_support_, [np.sum(~y[ours.support_]), np.sum(y[ours.support_])])


@pytest.mark.parametrize("seed", range(20))
def test_same_optimum_as_scikit_learn_svr(seed):
    X, y, w, rng = sample(seed)
    C, gamma, epsilon = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, 0), rng.uniform(0.01, 0.3)
    kernel = Gaussian(1.0, (2.0 * gamma) ** -0.5)
    ours = ExtendedSVR(C=C, epsilon=epsilon, loss="epsilon-insensitive", kernel=kernel, tol=1e-6).fit(
        X, y, sample_weight=w
    )
    theirs = SVR(C=C, gamma=gamma, epsilon=epsilon, tol=1e-6).fit(X, y, sample_weight=w)
    K = kernel.gram(X)
    values = []
    for machine in (ours, theirs):
        a = np.zeros(y.size)
        a[machine.support_] = machine.dual_coef_[0]
        values.append(dual_value(K, a, -y, epsilon * np.abs(a).sum()))
    assert np.isclose(values[0], values[1], rtol=1e-8)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_default_kernel_is_that_of_scikit_learn():
    X, z, _, _ = sample(0)
    ours, theirs = ExtendedSVC().fit(X, z > 0.0), SVC(tol=1e-9).fit(X, z > 0.0)
    assert np.isclose(0.5 / ours.kernel_.lengthscale**2, 1.0 / (X.shape[1] * X.var()), rtol=0.05)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


# -- losses ------------------------------------------------------------------------------------------------------------
def primal(machine, X, loss):
    a = machine.dual_coef_[0]
    K = machine.kernel_.gram(machine.support_vectors_)
    return 0.5 * a @ K @ a + loss(dual_values(machine, X)[:, 0]).sum()


MARGIN_LOSSES = {
    "l1": lambda C, e: lambda s: C * s,
    "l2": lambda C, e: lambda s: 0.5 * C * s**2,
    "le": lambda C, e: lambda s: C * np.where(s < 2 * e, s**2 / (4 * e), s - e),
}


@pytest.mark.parametrize("loss", sorted(MARGIN_LOSSES))
def test_primal_and_dual_meet_in_classification(loss):
    X, z, w, _ = sample(1)
    y = np.where(z > 0.0, 1.0, -1.0)
    machine = ExtendedSVC(Gaussian(1.0, 1.0), C=3.0, epsilon=0.4, loss=loss).fit(X, y, sample_weight=w)
    psi = MARGIN_LOSSES[loss](3.0, 0.4)
    value = primal(machine, X, lambda f: w * psi(np.maximum(1.0 - y * f, 0.0)))
    assert np.isclose(value, -machine.dual_objective_[0], rtol=1e-7)


def test_primal_and_dual_meet_for_the_trigonometric_loss():
    X, z, w, _ = sample(1)
    y = np.where(z > 0.0, 1.0, -1.0)
    machine = TrigonometricSVC(Gaussian(5.0, 1.0)).fit(X, y, sample_weight=w)
    value = primal(machine, X, lambda f: -2.0 * w * np.log(np.cos(np.pi / 4 * np.maximum(1.0 - y * f, 0.0))))
    assert np.isclose(value, -machine.dual_objective_[0], rtol=1e-7)
    assert np.all(y * machine.decision_function(X) > -1.0)


def soft(t, C, e, b):
    a = np.abs(t)
    zone = (a - (1 - b) * e) ** 2 / (4 * b * e)
    return C * np.where(a < (1 - b) * e, 0.0, np.where(a <= (1 + b) * e, zone, a - e))


RESIDUAL_LOSSES = {
    "soft-insensitive": lambda t: soft(t, 3.0, 0.2, 0.4),
    "epsilon-insensitive": lambda t: 3.0 * np.maximum(np.abs(t) - 0.2, 0.0),
    "huber": lambda t: soft(t, 3.0, 0.2, 1.0),
    "laplace": lambda t: 3.0 * np.abs(t),
    "quadratic": lambda t: 3.0 * t**2,
}


@pytest.mark.parametrize("loss", sorted(RESIDUAL_LOSSES))
def test_primal_and_dual_meet_in_regression(loss):
    X, y, w, _ = sample(2)
    machine = ExtendedSVR(Gaussian(1.0, 1.0), C=3.0, epsilon=0.2, beta=0.4, loss=loss).fit(X, y, sample_weight=w)
    value = primal(machine, X, lambda f: w * RESIDUAL_LOSSES[loss](y - f))
    assert np.isclose(value, -machine.dual_objective_[0], rtol=1e-7)


def test_limits_of_the_losses():
    X, z, _, _ = sample(3)
    y, kernel = z > 0.0, Gaussian(1.0, 1.0)
    l1 = ExtendedSVC(C=2.0, kernel=kernel).fit(X, y).decision_function(X)
    assert np.allclose(
        ExtendedSVC(kernel, C=2.0, epsilon=1e-9, loss="le").fit(X, y).decision_function(X), l1, atol=1e-5
    )
    l2 = ExtendedSVC(C=2.0, loss="l2", kernel=kernel).fit(X, y).decision_function(X)
    wide = (
        ExtendedSVC(kernel, C=2.0 * 2e3, epsilon=1e3, loss="le").fit(X, y).decision_function(X)
    )  # C / (2 epsilon) = 2
    assert np.allclose(wide, l2, atol=1e-6)
    separable = np.sign(X[:, 0])
    hard = ExtendedSVC(loss="hard", kernel=kernel).fit(X, separable)
    assert np.min(separable * hard.decision_function(X)) > 1.0 - 1e-6
    assert np.allclose(ExtendedSVC(C=1e9, kernel=kernel).fit(X, separable).dual_coef_, hard.dual_coef_, rtol=1e-4)


def test_hard_margin_of_data_that_cannot_be_separated_says_so():
    X = np.zeros((6, 1))
    with pytest.warns(ConvergenceWarning, match="gap"):
        machine = ExtendedSVC(loss="hard", max_iter=50).fit(X, [0, 1, 0, 1, 0, 1])
    assert not machine.converged_


# -- weights, classes, kernels -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("machine", [ExtendedSVC(C=2.0), TrigonometricSVC(), ExtendedSVC(loss="l2")])
def test_weights_are_repetitions(machine):
    X, z, _, rng = sample(4, n=60)
    y, counts = z > 0.0, rng.integers(0, 4, size=60)
    weighted = clone(machine).fit(X, y, sample_weight=counts)
    repeated = clone(machine).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert np.all(counts[weighted.support_] > 0)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("machine", [ExtendedSVC(C=5.0), TrigonometricSVC(Gaussian(10.0, 1.5))])
def test_several_classes(machine, multi_class):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    machine = clone(machine).set_params(multi_class=multi_class).fit(X, names)
    assert machine.score(X, names) > 0.95
    assert machine.decision_function(X).shape == (150, 3)
    assert machine.dual_coef_.shape == (3, machine.support_.size)
    assert np.array_equal(machine.predict(X), machine.classes_[np.argmax(machine.decision_function(X), axis=1)])
    both = clone(machine).set_params(n_jobs=2).fit(X, names)
    apart = clone(machine).set_params(cache_size=0.01).fit(X, names)  # too small to share columns
    assert np.array_equal(both.dual_coef_, machine.dual_coef_)
    assert np.allclose(apart.decision_function(X), machine.decision_function(X), atol=1e-6)


def test_ovo_agrees_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours = ExtendedSVC(C=5.0, kernel=Gaussian(1.0, 1.0), multi_class="ovo").fit(X, y)
    theirs = SVC(C=5.0, gamma=0.5, tol=1e-9).fit(X, y)
    assert np.array_equal(ours.support_, np.sort(theirs.support_))
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0, 1.0), Gaussian(1.0, 1.0, ard=True), Linear(0.3), Polynomial(3, 0.1, 1.0), Matern32() + Constant()],
)
def test_kernels_sparse_inputs_and_precomputed_matrices(kernel):
    X, z, _, _ = sample(5)
    y = z > 0.0
    plain = ExtendedSVC(C=1.0, kernel=kernel).fit(X, y)
    given = ExtendedSVC(C=1.0, kernel=Precomputed().fix()).fit(kernel.gram(X), y)
    assert np.allclose(plain.decision_function(X), given.decision_function(kernel.gram(X)), atol=1e-6)
    f = plain.dual_coef_ @ plain.kernel_.gram(plain.support_vectors_, X) + plain.intercept_
    assert np.allclose(plain.decision_function(X), f[0], atol=1e-10)
    sparse = ExtendedSVC(C=1.0, kernel=kernel).fit(sp.csr_array(X), y) if not isinstance(kernel, Gaussian) else None
    if sparse is not None:
        assert np.allclose(sparse.decision_function(sp.csr_array(X)), plain.decision_function(X), atol=1e-6)


# -- as estimators -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "machine", [ExtendedSVC(), ExtendedSVC(loss="l2", multi_class="ovo"), TrigonometricSVC(), ExtendedSVR()]
)
def test_scikit_learn_conventions(machine):
    check_estimator(machine, on_skip=None)


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (ExtendedSVC(C=0.0), "C: expected a positive number, found 0.0"),
        (ExtendedSVC(loss="l3"), "loss: expected 'l1'"),
        (ExtendedSVC(epsilon=0.0, loss="le"), "epsilon: expected a positive number"),
        (ExtendedSVC(tol=-1.0), "tol: expected None or a positive number"),
        (ExtendedSVC(max_iter=0), "max_iter: expected an integer of at least 1, found 0"),
        (ExtendedSVC(cache_size=0), "cache_size: expected a positive number"),
        (ExtendedSVC(kernel="rgb"), "kernel: "),
        (ExtendedSVC(multi_class="both"), "multi_class: expected 'ovr' or 'ovo'"),
        (ExtendedSVC(class_weight={0: 0.0}), "weights: expected a positive weight in every class"),
        (ExtendedSVR(beta=1.5), "beta: expected a number of at least 0 and at most 1, found 1.5"),
        (ExtendedSVR(loss="cubic"), "loss: expected 'soft-insensitive'"),
    ],
)
def test_arguments_out_of_range(machine, message):
    with pytest.raises(ValueError, match=message):
        machine.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def test_stopping_early_is_reported_with_the_gap():
    X, y = make_moons(400, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"stopped at the maximal number .* a gap of \d.* only \(tol=1e-06\)"):
        machine = ExtendedSVC(C=100.0, tol=1e-6, max_iter=1).fit(X, y)
    assert not machine.converged_
    assert machine.gap_[0] > 1e-6
    assert machine.n_iter_[0] == 1
    assert machine.n_steps_[0] == 400


def test_warm_start_continues():
    X, y = make_moons(400, noise=0.3, random_state=0)
    machine = ExtendedSVC(C=10.0, tol=1e-6, max_iter=1, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, y)
    machine.set_params(max_iter=1000).fit(X, y)
    cold = ExtendedSVC(C=10.0, tol=1e-6).fit(X, y)
    assert machine.n_steps_[0] < cold.n_steps_[0]
    assert np.allclose(machine.decision_function(X), cold.decision_function(X), atol=1e-5)
    assert machine.fit(X, y).n_steps_[0] == 0
    assert machine.set_params(C=0.5).fit(X, y).converged_


def test_pickling_keeps_the_predictions():
    X, y = make_moons(100, noise=0.2, random_state=0)
    machine = TrigonometricSVC().fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    assert np.array_equal(again.decision_function(X), machine.decision_function(X))


def test_progress_bar_is_silent_off_a_terminal(capsys):
    X, y = make_moons(200, noise=0.3, random_state=0)
    ExtendedSVC(verbose=1).fit(X, y)
    assert capsys.readouterr().out == ""


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from bayesvm.estimators.extended_svc import ExtendedSVC
from bayesvm.kernels import Gaussian
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5)); y = rng.integers(0, CLASSES, size=3000)
X0, y0 = X.copy(), y.copy()
machine = ExtendedSVC(C=1e6, kernel=Gaussian(1.0, 3.0), tol=1e-9, cache_size=50, warm_start=True, n_jobs=JOBS)
def send():
    time.sleep(0.4); os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    machine.fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
assert not hasattr(machine, "dual_coef_")
assert np.array_equal(X, X0) and np.array_equal(y, y0)
assert any(a.any() for a in machine._coefficients)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent with os.kill")
@pytest.mark.parametrize(("classes", "jobs"), [(2, None), (3, 2)])
def test_an_interrupt_ends_the_fit_and_keeps_what_was_reached(classes, jobs):
    program = INTERRUPTED.replace("CLASSES", str(classes)).replace("JOBS", repr(jobs))
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "interrupted"
