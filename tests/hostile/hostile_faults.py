"""Interrupts at random times, processes that are killed while they save, and disks that are full."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from hostile_data import ESTIMATORS, NAMES
from public_estimators import small_data
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import bayesvm
from bayesvm import distributed
from bayesvm.kernels import Gaussian


def _state(estimator, X):
    return pickle.dumps([np.asarray(estimator.predict(X)), sorted(vars(estimator))])


# -- interrupts --------------------------------------------------------------------------------------------------------
def interrupted(seed: int) -> tuple[str, str]:
    """Interrupt a fit at a random time: KeyboardInterrupt leaves it, and the estimator is what it was before."""
    rng = np.random.default_rng(seed)
    name = NAMES[seed % len(NAMES)]
    estimator = clone(ESTIMATORS[name])
    X, y = small_data(estimator, n=20, seed=seed)
    if "n_jobs" in estimator.get_params() and rng.random() < 0.3:
        estimator.set_params(n_jobs=2)
    old = signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            began = time.perf_counter()
            estimator.fit(X, y)
            seconds = time.perf_counter() - began
            before = _state(estimator, X)
            return _interrupted_refit(rng, estimator, X, y, seconds, before)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, old)


def _interrupted_refit(rng, estimator, X, y, seconds, before):
    name = type(estimator).__name__
    delay, began = rng.uniform(1e-5, max(1e-3, seconds)), time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        estimator.fit(X, y)
        ended = time.perf_counter() - began
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        time.sleep(1e-3)  # an alarm that rang meanwhile is answered here
    except KeyboardInterrupt:
        if _state(estimator, X) != before:
            return "mixed model", f"{name} has changed"
        return "raised", name
    if ended > delay + 0.05 + 0.5 * seconds:
        return "swallowed interrupt", f"{name}: fit ended after {ended:.3f} s, the interrupt came after {delay:.3f} s"
    return "fitted before", name


# -- kill -9 -----------------------------------------------------------------------------------------------------------
def killed(seed: int) -> tuple[str, str]:
    """Kill a process that saves again and again: the file is complete, and the next save removes what was left."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.bvm"
        models = [_model(k) for k in range(2)]
        as_folder = seed % 4 == 0
        bayesvm.save(models[0], target)
        child = os.fork()
        if child == 0:
            _save_for_ever(models, target, as_folder)
        time.sleep(float(rng.uniform(0.001, 0.08)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        known = [m.dual_coef_.tobytes() for m in models]
        try:
            found = bayesvm.load(target).dual_coef_.tobytes()
        except Exception as error:
            return "lost file", repr(error)
        if found not in known:
            return "half-written file", "the model is neither the old nor the new one"
        bayesvm.save(models[1], target)
        left = [p.name for p in Path(folder).iterdir() if p.suffix == ".tmp"]
        return ("leftover", str(left)) if left else ("complete", "")


def _model(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(15 + k, 2))
    return bayesvm.RelevanceVectorRegressor(Gaussian(), optimizer=None).fit(X, X[:, 0])


def _save_for_ever(models, target, large):
    """Save models in turn until this process is killed; some with a large remark, so that writing takes longer."""
    try:
        info = {"remark": "x" * (2**22 if large else 10)}
        while True:
            for model in models:
                bayesvm.save(model, target, info=info)
    finally:
        os._exit(1)


# -- full disks --------------------------------------------------------------------------------------------------------
def disk_full(seed: int) -> tuple[str, str]:
    """Save with room for a random number of bytes only: an error that names the file, and the old file is there."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.bvm"
        bayesvm.save(_model(0), target)
        before = target.read_bytes()
        room = int(rng.integers(1, 500 if seed % 3 == 0 else len(before) - 1))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.write(writing, _save_in(room, target, rows_elsewhere=seed % 3 == 0).encode()[:1000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            said = answer.read()
        os.waitpid(child, 0)
        if target.read_bytes() != before:
            return "lost file", "the old file has changed"
        if [p.name for p in Path(folder).rglob("*.tmp")]:
            return "leftover", "a temporary file"
        return ("refused", "") if said == "refused" else ("internal error", said)


def _save_in(room, target, *, rows_elsewhere):
    """Return "refused" if a save with so few bytes of room fails as it should, else what happened."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit then fails as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        machine = _model(1)
        if rows_elsewhere:
            rng = np.random.default_rng(0)
            X = rng.normal(size=(24, 2))
            machine = distributed.DistributedSVR("rbf", inducing=8, block_size=12, n_starts=1, max_evaluations=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine.fit(X, X[:, 0])
        bayesvm.save(machine, target)
    except OSError as error:
        named = error.filename is not None and str(target) in str(error.filename)
        return "refused" if named and error.errno in (errno.EFBIG, errno.ENOSPC) else f"{error!r} of {error.filename}"
    except BaseException as error:
        return repr(error)
    return "it was saved"
