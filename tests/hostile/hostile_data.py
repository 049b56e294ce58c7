"""Seeded generator of hostile data sets for every public estimator, and what must hold for each of them.

A case is a pure function of its seed. It is fitted, used for predictions, and judged: nothing may crash, hang, leak a
warning or an internal error, or give a number that is not finite; data that cannot be used are refused at the entrance
with a ``ValueError``, after which the estimator is not fitted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import traceback
import warnings

import numpy as np
import scipy.sparse as sp
from public_estimators import CHOOSING, QUICK
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import bayesvm
from bayesvm import distributed
from bayesvm.kernels import Constant, Gaussian, Linear, NeuralNetwork, OrnsteinUhlenbeck, Polynomial, RationalQuadratic

#: Seconds of processor time after which a fit of so few rows counts as a hang.
LIMIT = 15.0

ESTIMATORS = {name: getattr(bayesvm, name)(**options) for name, options in {**QUICK, **CHOOSING}.items()}
ESTIMATORS["DistributedSVC"] = distributed.DistributedSVC(
    "rbf + constant", inducing=12, block_size=12, n_starts=1, random_state=0
)
ESTIMATORS["DistributedSVR"] = distributed.DistributedSVR(
    "rbf + constant", inducing=12, block_size=12, n_starts=1, random_state=0
)
NAMES = sorted(ESTIMATORS)

KERNELS = {
    "gaussian": lambda: Gaussian() + Constant(),
    "linear": lambda: Linear() + Constant(),
    "polynomial": lambda: Polynomial(degree=2),
    "ou": lambda: OrnsteinUhlenbeck(),
    "ard": lambda: Gaussian(ard=True) + Constant(),
    "rq": lambda: RationalQuadratic(),
    "network": lambda: NeuralNetwork() + Constant(),
    "product": lambda: Gaussian() * Linear() + Constant(),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One data set with the estimator it is for, and the kinds of hostility that were applied."""

    seed: int
    name: str
    estimator: object
    X: object
    y: np.ndarray
    weights: np.ndarray | None
    new: object
    kinds: tuple[str, ...]


# -- inputs ------------------------------------------------------------------------------------------------------------
def _rescaled(rng, X):
    return X * 10.0 ** rng.choice([-320, -308, -300, -200, -170, -100, 100, 154, 170, 200, 300, 307])


def _one_column_rescaled(rng, X):
    X = X.copy()
    X[:, rng.integers(X.shape[1])] *= 10.0 ** rng.choice([-310, -300, -170, -20, 20, 160, 200, 300])
    return X


def _one_value(rng, X):
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = rng.choice(
        [1e-320, 1e20, -1e100, 1e154, 1e200, -1e300, 1.7e308, np.nextafter(np.inf, 0.0)]
    )
    return X


def _offset(rng, X):
    return X + 10.0 ** rng.choice([3, 6, 9, 12, 16, 100, 300])


def _constant_column(rng, X):
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 1.0, -1e-300, 1e300, 3.7])
    return X


def _all_constant(rng, X):
    return np.full_like(X, rng.choice([0.0, 1.0, 1e300, -1e-310]))


def _repeated_rows(rng, X):
    return X[rng.integers(max(1, len(X) // 4), size=len(X))]


def _nearly_equal_rows(rng, X):
    return X[:1] * (1.0 + 1e-15 * rng.integers(-4, 5, size=X.shape))


def _collinear(rng, X):
    return np.column_stack([X[:, 0], *(X[:, 0] * (k + 2) for k in range(X.shape[1] - 1))]).reshape(X.shape)


def _rounded(rng, X):
    return np.round(X)


def _heavy_tails(rng, X):
    return np.sinh(20.0 * X)


def _denormal(rng, X):
    return rng.integers(-3, 4, size=X.shape) * 5e-324


def _signed_zeros(rng, X):
    return np.where(rng.random(X.shape) < 0.5, 0.0, -0.0) + np.where(rng.random(X.shape) < 0.2, X, 0.0)


def _missing(rng, X):
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return X


INPUTS = {
    f.__name__.strip("_"): f
    for f in (
        _rescaled,
        _one_column_rescaled,
        _one_value,
        _offset,
        _constant_column,
        _all_constant,
        _repeated_rows,
        _nearly_equal_rows,
        _collinear,
        _rounded,
        _heavy_tails,
        _denormal,
        _signed_zeros,
        _missing,
    )
}


# -- targets and weights -----------------------------------------------------------------------------------------------
def _labels(rng, f):
    kind = rng.choice(["two", "two", "two", "three", "one of a class", "random", "strings", "bools", "big integers"])
    order = np.argsort(np.argsort(f))
    y = (order >= len(f) // 2).astype(int)
    if kind == "three":
        y = np.minimum(3 * order // len(f), 2)
    elif kind == "one of a class":
        y = (order == len(f) - 1).astype(int)
    elif kind == "random":
        y = rng.integers(2, size=len(f))
    elif kind == "strings":
        y = np.array(["=cmd()", "\u2028 b"])[y]
    elif kind == "bools":
        y = y.astype(bool)
    elif kind == "big integers":
        y = y.astype(np.int64) * (2**62) - 7
    return y, str(kind)


def _targets(rng, f):
    kind = rng.choice(
        ["plain", "plain", "scaled", "constant", "outlier", "offset", "two values", "columns", "denormal"]
    )
    y = f
    if kind == "scaled":
        y = f * 10.0 ** rng.choice([-310, -300, -160, -100, 100, 160, 300])
    elif kind == "constant":
        y = np.full_like(f, rng.choice([0.0, 1.0, 1e200, -1e-310]))
    elif kind == "outlier":
        y = f.copy()
        y[0] = rng.choice([1e20, -1e160, 1e300, 1.7e308])
    elif kind == "offset":
        y = f + 10.0 ** rng.choice([6, 15, 100])
    elif kind == "two values":
        y = np.sign(f)
    elif kind == "columns":
        y = np.column_stack([f, 1e-9 * f**2])
    elif kind == "denormal":
        y = rng.integers(-3, 4, size=f.shape) * 5e-324
    return y, kind


def _weights(rng, n):
    usual = ["none"] * 6 + ["ones", "range", "zeros", "spread"] * 2
    kind = rng.choice([*usual, "huge", "tiny", "negative", "one"])
    known = {
        "none": None,
        "ones": np.ones(n),
        "range": rng.uniform(0.1, 5.0, n),
        "zeros": np.where(rng.random(n) < 0.3, 0.0, 1.0),
        "huge": np.full(n, 10.0 ** rng.choice([6, 6, 9, 300])),
        "tiny": np.full(n, 10.0 ** rng.choice([-300, -9, -6, -6])),
        "spread": 10.0 ** rng.uniform(-rng.choice([1, 2, 4, 6]), rng.choice([1, 2, 4, 6, 12]), n),
        "negative": -np.ones(n),
        "one": np.eye(n)[0],
    }
    return known[str(kind)], str(kind)


def draw(seed: int, name: str | None = None) -> Case:
    """Return the case of a seed, for the given estimator or for one that the seed chooses."""
    name = NAMES[seed % len(NAMES)] if name is None else name
    return draw_for(seed, name, clone(ESTIMATORS[name]), np.random.default_rng(seed))


def draw_for(seed: int, name: str, estimator, rng) -> Case:
    """Return a case for an estimator that was not fitted, whose kernel and units may be changed."""
    n, d = int(rng.choice([2, 3, 5, 8, 12, 20, 30, 50])), int(rng.choice([1, 2, 3, 6]))
    plain = rng.normal(size=(n, d))
    f = plain[:, 0] + 0.3 * np.sin(2.0 * plain[:, -1]) + 0.2 * rng.normal(size=n)
    usual = sorted(set(INPUTS) - {"missing", "denormal"}) if rng.random() < 0.9 else sorted(INPUTS)
    kinds = [str(k) for k in rng.choice(usual, size=rng.choice([0, 1, 1, 2]), replace=False)]
    X = plain
    with np.errstate(all="ignore"):
        for kind in kinds:
            X = INPUTS[kind](rng, X)
        y, label = (_labels if is_classifier(estimator) else _targets)(rng, f)
    weights, weight_kind = _weights(rng, n)
    if not has_fit_parameter(estimator, "sample_weight"):
        weights, weight_kind = None, "none"
    kernel = None
    if "kernel" in estimator.get_params() and rng.random() < 0.4:
        kernel = str(rng.choice(sorted(KERNELS)))
        estimator.set_params(kernel=KERNELS[kernel]())
    if "standardize" in estimator.get_params() and rng.random() < 0.15:
        estimator.set_params(standardize=False)
        kinds.append("not standardised")
    X, form = _formed(rng, X, sparse=bool(get_tags(estimator).input_tags.sparse))
    new = _new_rows(rng, X)
    kinds += [f"targets {label}", f"weights {weight_kind}", f"form {form}", *([f"kernel {kernel}"] if kernel else [])]
    return Case(seed, name, estimator, X, y, weights, new, tuple(kinds))


def _formed(rng, X, *, sparse):
    """Return the inputs as an array, float32, sparse, in Fortran order, or as a list."""
    form = str(rng.choice(["array", "array", "array", "sparse", "float32", "fortran", "list"]))
    with np.errstate(all="ignore"):
        if form == "sparse" and (sparse or rng.random() < 0.1):
            return sp.csr_array(X), form
        if form == "float32":
            return X.astype(np.float32), form
    return (np.asfortranarray(X), form) if form == "fortran" else (X.tolist() if form == "list" else X, form)


def _new_rows(rng, X):
    """Return rows to predict: the training rows, or those rows far away or tiny."""
    factor = rng.choice([1.0, 1.0, 1e-300, 1e10, 1e80, 1e200])
    with np.errstate(all="ignore"):
        return sp.csr_array(X * factor) if sp.issparse(X) else (np.asarray(X, dtype=float) * factor)


# -- judgement ---------------------------------------------------------------------------------------------------------
class HangError(BaseException):
    """A call took more processor time than it may."""


@contextlib.contextmanager
def limited(seconds=LIMIT):
    """Leave the block by :class:`HangError` after so many seconds of processor time."""

    if not hasattr(signal, "setitimer"):  # not on Windows
        yield
        return

    def ring(number, frame):
        raise HangError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def judge(case: Case) -> tuple[str, str]:
    """Return how a case ended: ("fitted" or "refused", ""), or the kind of a failure with its details."""
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            return _judged(case)
    except HangError:
        return "hang", f"more than {LIMIT} s"
    except Warning as warning:
        return "leaked warning", f"{type(warning).__name__}: {warning} at {_place(warning)}"
    except Exception as error:
        return "internal error", f"{type(error).__name__}: {error} at {_place(error)}"


def _judged(case):
    estimator = case.estimator
    arguments = {} if case.weights is None else {"sample_weight": case.weights}
    try:
        estimator.fit(case.X, case.y, **arguments)
    except (ValueError, TypeError) as error:
        return _refused(estimator, case, error)
    problem = _numbers(vars(estimator)) or problem_of_predictions(estimator, _used(case))
    if problem:
        return "not finite", problem
    try:
        problem = problem_of_predictions(estimator, case.new)
    except (ValueError, TypeError) as error:
        return ("fitted", "new rows refused") if _is_ours(error) else _internal(error)
    return ("not finite", f"new rows: {problem}") if problem else ("fitted", "")


def _used(case):
    """Return the rows that took part in the fit."""
    if case.weights is None:
        return case.X
    return (case.X if sp.issparse(case.X) else np.asarray(case.X))[case.weights > 0.0]


def _refused(estimator, case, error):
    raw = "not standardised" in case.kinds and str(error).startswith("kernel: expected one whose ")
    if not _is_ours(error) and not raw:
        return _internal(error)
    try:
        estimator.predict(np.zeros((1, np.shape(case.X)[1])))
    except NotFittedError:
        return "refused", str(error).splitlines()[0][:160]
    return "mixed model", "it predicts after a failed fit"


def _internal(error):
    return "internal error", f"{type(error).__name__}: {str(error)[:200]} at {_place(error)}"


def _is_ours(error) -> bool:
    """Whether an error was raised at the entrance: by scikit-learn's validation or by the estimators' own checks."""
    if isinstance(error, np.linalg.LinAlgError):
        return False
    names = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return "/sklearn/" in names[-1] or any(
        part in names[-1] for part in ("/estimators/", "/distributed/", "/models/scaling.py", "/ls_svm/design.py")
    )


def _place(error) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/bayesvm/" in f.filename]
    last = (ours or frames)[-1]
    return f"{last.filename.split('/bayesvm/')[-1]}:{last.lineno}"


def _numbers(attributes) -> str:
    """Return the first public fitted attribute that holds a number that is not finite, empty if there is none."""
    for name, value in attributes.items():
        if name.endswith("_") and not name.startswith("_") and isinstance(value, int | float | np.ndarray):
            array = np.asarray(value)
            if name == "log_evidence_bounds_":  # the upper one is known for Gaussian noise alone
                array = array[:, 0]
            if name == "approximation_gap_" and np.isnan(value):  # not known, where rows were given their neighbours
                continue
            if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
                return f"{name} = {array.ravel()[~np.isfinite(array.ravel())][0]}"
    return ""


def problem_of_predictions(estimator, X) -> str:
    """Return what is wrong with the predictions at the rows of X, empty if nothing is."""
    if hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        if not np.all(np.isfinite(proba)) or np.any(proba < 0.0) or np.any(abs(proba.sum(axis=1) - 1.0) > 1e-6):
            return f"probabilities {proba[:2].tolist()}"
        estimator.predict(X)
        return ""
    predicted = estimator.predict(X)
    if predicted.dtype.kind == "f" and not np.all(np.isfinite(predicted)):
        return f"predictions {np.ravel(predicted)[:3].tolist()}"
    if not hasattr(estimator, "predict_interval"):
        return ""
    mean, std = estimator.predict(X, return_std=True)
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(std)) and np.all(std >= 0.0)):
        return f"standard deviations {np.ravel(std)[:3].tolist()}"
    return ""


# -- the smallest failure ----------------------------------------------------------------------------------------------
def smallest(case: Case) -> Case:
    """Return a case that fails in the same way, with as few rows and columns as a greedy search finds."""
    kind = judge(fresh(case))[0]
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in _smaller(case):
            if judge(fresh(smaller))[0] == kind:
                case, shrinking = smaller, True
                break
    return case


def fresh(case: Case) -> Case:
    """Return the case with an estimator that was not fitted."""
    return dataclasses.replace(case, estimator=clone(case.estimator))


def _smaller(case):
    X, new = (np.asarray(A.toarray() if sp.issparse(A) else A) for A in (case.X, case.new))
    n, d = X.shape
    halves = [np.arange(n) % 2 == k for k in (0, 1)] if n > 4 else []
    for keep in (*halves, *(np.arange(n) != i for i in range(n if 2 < n <= 8 else 0))):
        weights = None if case.weights is None else case.weights[keep]
        yield dataclasses.replace(case, X=X[keep], y=case.y[keep], weights=weights, new=new[keep])
    for j in range(d if d > 1 else 0):
        keep = np.arange(d) != j
        yield dataclasses.replace(case, X=X[:, keep], new=new[:, keep])
    if case.weights is not None:
        yield dataclasses.replace(case, weights=None)


def reproduction(case: Case) -> str:
    """Return a program that shows the failure."""
    lines = [
        "import numpy as np",
        "from numpy import array, inf, nan",
        "import bayesvm",
        "from bayesvm.kernels import *",
    ]
    with np.printoptions(threshold=10**6, floatmode="unique", linewidth=110):
        for name in ("X", "y", "weights", "new"):
            value = getattr(case, name)
            value = value.toarray() if sp.issparse(value) else value
            lines.append(f"{name} = {np.asarray(value)!r}" if value is not None else f"{name} = None")
    home = "bayesvm.distributed" if case.name.startswith("Distributed") else "bayesvm"
    lines.append(f"machine = {home}.{case.estimator!r}")
    lines += [
        f"machine.fit(X, y{', sample_weight=weights' if case.weights is not None else ''})",
        "machine.predict(new)",
    ]
    return "\n".join(lines)
