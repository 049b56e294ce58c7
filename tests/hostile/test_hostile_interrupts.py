"""Interrupts: KeyboardInterrupt always leaves ``fit``, which changes nothing, unless the best point was asked for."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from public_estimators import GIVEN, QUICK, quick, small_data
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import bayesvm
from bayesvm import distributed
from bayesvm.hyper import SearchStatus, keep_best_on_interrupt, multistart
from bayesvm.hyper.interrupts import Stop
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.linalg.interruptible import interruptible

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals are sent with os.kill"),
    pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning"),
]
#: The estimators that search for hyperparameters, with fewer evaluations than a convergent search needs.
SEARCHING = {
    name: {
        **QUICK[name],
        "kernel": QUICK[name].get("kernel", GIVEN),
        "optimizer": "bfgs",
        "n_starts": 1,
        "max_evaluations": 4,
    }
    for name, parameters in QUICK.items()
    if "evidence_tol" in quick(name).get_params() and "MLP" not in name and name != "ProbabilisticSVC"
}


def interrupting(monkeypatch, evaluation):
    """Send SIGINT to this process inside the given evaluation of any objective; return a list of what was counted."""
    plain, calls = multistart.Evaluator.__call__, []

    def evaluate(self, theta, latent):
        calls.append(threading.get_ident())
        if len(calls) == evaluation:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, theta, latent)

    monkeypatch.setattr(multistart.Evaluator, "__call__", evaluate)
    return calls


def state(estimator, X):
    return pickle.dumps([np.asarray(estimator.predict(X)), sorted(vars(estimator))])


@pytest.mark.parametrize("name", sorted(SEARCHING))
def test_an_interrupt_in_an_evaluation_leaves_fit(name, monkeypatch):
    fresh, fitted = (getattr(bayesvm, name)(**SEARCHING[name]) for _ in range(2))
    X, y = small_data(fresh)
    fitted.fit(X, y)
    before = state(fitted, X)
    for estimator in (fresh, fitted):
        calls = interrupting(monkeypatch, 2)
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(np.hstack([X, X]), y)
        assert len(calls) == 2  # nothing went on
        monkeypatch.undo()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert state(fitted, X) == before


@pytest.mark.parametrize("name", sorted(SEARCHING))
def test_the_best_point_is_kept_where_that_was_asked_for(name, monkeypatch):
    estimator = getattr(bayesvm, name)(**SEARCHING[name])
    X, y = small_data(estimator)
    interrupting(monkeypatch, 2)
    with keep_best_on_interrupt(), pytest.warns(ConvergenceWarning, match="interrupted"):
        estimator.fit(X, y)
    assert estimator.converged_ is False
    assert all(model.maximum.status is SearchStatus.INTERRUPTED for model in estimator.models_)
    assert np.isfinite(estimator.log_evidence_)
    assert len(estimator.predict(X)) == len(y)


@pytest.mark.parametrize(("multi_class", "n_models"), [("ovr", 3), ("shared", 1)])
def test_after_a_kept_interrupt_nothing_is_searched_any_more(monkeypatch, multi_class, n_models):
    X, _ = small_data(bayesvm.BayesianSVC())
    y = np.digitize(X[:, 0], [-0.5, 0.5])  # three classes
    calls = interrupting(monkeypatch, 4)
    estimator = bayesvm.BayesianSVC(multi_class=multi_class, n_starts=3)
    with keep_best_on_interrupt():
        estimator.fit(X, y)
    assert len(calls) <= 4 + 2 * 2 * 3 + 2 * 3  # one evaluation of every start, on the surrogate and on the evidence
    assert not estimator.converged_
    assert [m.maximum.status for m in estimator.models_] == [SearchStatus.INTERRUPTED] * n_models


def test_a_second_interrupt_is_raised(monkeypatch):
    X, y = small_data(bayesvm.BayesianSVC())
    plain, calls = EvidenceObjective.evaluate, []

    def evaluate(self, *arguments, **options):
        calls.append(self)
        if len(calls) in (3, 4):
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, *arguments, **options)

    monkeypatch.setattr(EvidenceObjective, "evaluate", evaluate)
    with keep_best_on_interrupt(), pytest.raises(KeyboardInterrupt):
        bayesvm.BayesianSVC(n_starts=1).fit(X, y)


def test_the_option_ends_with_its_block(monkeypatch):
    X, y = small_data(bayesvm.GPRegressor())
    with keep_best_on_interrupt():
        bayesvm.GPRegressor(n_starts=1).fit(X, y)
    interrupting(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        bayesvm.GPRegressor(n_starts=1).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_interrupt_of_threads_leaves_fit_and_ends_them(classes, monkeypatch):
    X, _ = small_data(bayesvm.BayesianSVC(), n=40)
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    calls = interrupting(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        bayesvm.BayesianSVC(n_starts=4, n_jobs=2).fit(X, y)
    begun = len(calls)
    for thread in threading.enumerate():
        if thread.ident in set(calls) and thread is not threading.main_thread():
            thread.join(20.0)
    assert len(calls) <= begun + 2  # each thread had at most one evaluation before it


def test_the_searches_of_other_threads_end_with_their_next_evaluation():
    stop = Stop()
    seen = []

    def told(progress):
        seen.append(progress)
        stop.set()

    checked = stop.before(told)
    checked(None)
    with pytest.raises(KeyboardInterrupt):
        checked(None)
    assert len(seen) == 1


@pytest.mark.parametrize("evaluation", [2, 9])
def test_an_interrupt_in_a_sample_ends_a_distributed_fit(evaluation, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    machine = distributed.DistributedSVR("rbf", inducing=20, block_size=40, sample_size=60, n_starts=1)
    calls = interrupting(monkeypatch, evaluation)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert len(calls) == evaluation
    monkeypatch.undo()
    with pytest.raises(NotFittedError):
        machine.predict(X)
    calls = interrupting(monkeypatch, evaluation)
    with keep_best_on_interrupt():
        machine.fit(X, y)
    assert len(calls) <= evaluation + 8
    assert not machine.converged_


PROCESSES = """
import os, signal, threading, time
import joblib, numpy as np
from bayesvm import BayesianSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5)); y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
def send():
    time.sleep(6.0); os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    with joblib.parallel_config(backend="loky"):
        for _ in range(1000):
            BayesianSVC(n_jobs=2).fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_an_interrupt_of_processes_leaves_fit():
    command = [sys.executable, "-c", textwrap.dedent(PROCESSES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout.strip() == "interrupted", result.stderr


class Ignored:
    """Interrupts the process in its finalizer, where the interpreter ignores exceptions."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_the_interpreter_ignores_is_not_lost(monkeypatch):
    X, y = small_data(bayesvm.GPRegressor())
    plain = multistart.Evaluator.__call__

    def evaluate(self, theta, latent):
        Ignored()
        return plain(self, theta, latent)

    monkeypatch.setattr(multistart.Evaluator, "__call__", evaluate)
    with pytest.raises(KeyboardInterrupt):
        bayesvm.GPRegressor(n_starts=1).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_does_not_wait_for_native_code():
    entered, release = threading.Event(), threading.Event()

    def long():
        entered.set()
        release.wait(60.0)

    def send():
        entered.wait(60.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(long)
    assert not release.is_set()
    release.set()


def test_errors_of_native_code_are_raised_where_it_was_called():
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    assert interruptible(lambda: 3) == 3


@pytest.mark.parametrize("name", sorted(QUICK))
def test_an_interrupt_at_any_time_changes_nothing(name):
    estimator = quick(name)
    X, y = small_data(estimator)
    estimator.fit(X, y)
    before = state(estimator, X)
    rng = np.random.default_rng(len(name))
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 1e-2))
            while True:  # until the interrupt arrives
                estimator.fit(X, y)
        assert state(estimator, X) == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
