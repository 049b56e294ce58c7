"""Conformance check of a kernel: everything the contract in :mod:`bayesvm.kernels.base` promises."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing.differences import five_point, relative_error
from bayesvm.typing import Matrix


def check_kernel(kernel: Kernel, X: Any, *, cross: bool = True, rtol: float = 1e-6, seed: int = 0) -> None:
    """Check that a kernel keeps its contract on some data; raise AssertionError with the reason if it does not.

    Parameters
    ----------
    kernel : Kernel
        The kernel; it is bound to the number of columns of ``X`` first.
    X : array or sparse matrix, shape (n, d)
        A few dozen samples of the kernel's domain, without pairs that lie exactly on a kink of the kernel.
    cross : bool
        Whether ``gram(X, Z)`` has to agree with ``gram(X)``. Only white noise, which distinguishes samples from
        locations, does not.
    rtol : float
        Relative error allowed between ``pullback`` and five-point differences.
    seed : int
        Seed of the random rows and matrices that are used.
    """
    inputs = Inputs.of(X)
    kernel = kernel.bind(inputs.n_features)
    rng = np.random.default_rng(seed)
    _check_gram(kernel, inputs)
    if cross:
        _check_cross(kernel, inputs, rng)
    _check_parameters(kernel, rng)
    _check_pullback(kernel, inputs, rng, rtol)
    _check_other_pullbacks(kernel, inputs, rng, rtol)
    _check_pickle(kernel, inputs)


def _expect(condition: Any, kernel: Kernel, message: str) -> None:
    if not condition:
        raise AssertionError(f"{kernel!r}: {message}")


def _expect_close(kernel: Kernel, what: str, found: Any, expected: Any, scale: float, rtol: float = 1e-9) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    _expect(found.shape == expected.shape, kernel, f"{what}: expected shape {expected.shape}, found {found.shape}")
    gap = float(np.max(np.abs(found - expected), initial=0.0))
    _expect(gap <= rtol * scale, kernel, f"{what}: differ by {gap:.3g}, allowed {rtol * scale:.3g}")


def _scale(K: Matrix) -> float:
    return max(float(np.max(np.abs(K), initial=0.0)), np.finfo(float).tiny)


def _check_gram(kernel: Kernel, X: Inputs) -> None:
    """Shapes, symmetry, diagonal, fresh arrays and positive semidefiniteness."""
    n = len(X)
    K = kernel.gram(X)
    _expect(K.shape == (n, n), kernel, f"gram(X): expected shape {(n, n)}, found {K.shape}")
    _expect(K.dtype == np.float64, kernel, f"gram(X): expected float64, found {K.dtype}")
    _expect(np.all(np.isfinite(K)), kernel, "gram(X) has entries that are not finite")
    _expect_close(kernel, "gram(X) and its transpose", K, K.T, _scale(K), 1e-12)
    _expect_close(kernel, "diag(X) and the diagonal of gram(X)", kernel.diag(X), np.diagonal(K), _scale(K))
    before = K.copy()
    K[...] = 0.0
    _expect(np.array_equal(kernel.gram(X), before), kernel, "gram(X) does not return a fresh array of equal values")
    if kernel.always_positive:
        lowest = float(np.linalg.eigvalsh(before)[0])  # noqa: TID251 (an oracle, not the library's algebra)
        allowed = -1e-8 * n * _scale(before)
        _expect(lowest >= allowed, kernel, f"gram(X) has the negative eigenvalue {lowest:.3g}")


def _check_cross(kernel: Kernel, X: Inputs, rng: np.random.Generator) -> None:
    """``gram(X, Z)``, parts of the data and single pairs agree with ``gram(X)``."""
    K = kernel.gram(X)
    rows = rng.choice(len(X), size=max(1, len(X) // 2), replace=False)
    part = X.take(rows)
    _expect_close(kernel, "gram(X, part) and columns of gram(X)", kernel.gram(X, part), K[:, rows], _scale(K), 1e-7)
    _expect_close(kernel, "gram(part, X) and rows of gram(X)", kernel.gram(part, X), K[rows], _scale(K), 1e-7)
    _expect_close(kernel, "gram(part) and a block of gram(X)", kernel.gram(part), K[np.ix_(rows, rows)], _scale(K))
    _expect_close(kernel, "diag(part) and part of diag(X)", kernel.diag(part), kernel.diag(X)[rows], _scale(K))
    for i, j in rng.integers(len(X), size=(5, 2)):
        pair = kernel.gram(X.take(np.array([i])), X.take(np.array([j])))
        _expect_close(
            kernel, f"k(x_{i}, x_{j}) and the entry of gram(X)", pair, K[i : i + 1, j : j + 1], _scale(K), 1e-7
        )


def _check_parameters(kernel: Kernel, rng: np.random.Generator) -> None:
    """``theta``, ``bounds``, ``names``, ``with_theta``, ``fix`` and ``free``."""
    theta, bounds, names = kernel.theta, kernel.bounds, kernel.names
    _expect(theta.ndim == 1, kernel, f"theta: expected a vector, found shape {theta.shape}")
    expected = (theta.size, 2)
    _expect(bounds.shape == expected, kernel, f"bounds: expected shape {expected}, found {bounds.shape}")
    _expect(len(names) == theta.size, kernel, f"names: expected {theta.size}, found {len(names)}")
    _expect(len(set(names)) == len(names), kernel, f"names are not unique: {names}")
    inside = np.all((bounds[:, 0] <= theta) & (theta <= bounds[:, 1]))
    _expect(inside, kernel, f"theta {theta} is outside its bounds {bounds.tolist()}")
    moved = theta + rng.uniform(-0.1, 0.1, size=theta.size)
    other = kernel.with_theta(moved)
    _expect(type(other) is type(kernel), kernel, f"with_theta returns a {type(other).__name__}")
    _expect_close(kernel, "theta after with_theta", other.theta, moved, 1.0 + float(np.max(np.abs(moved), initial=0.0)))
    _expect_close(kernel, "theta of the original after with_theta", kernel.theta, theta, 1.0, 0.0)
    _expect(other.names == names, kernel, "with_theta changes the names")
    _expect(kernel.fix().theta.size == 0, kernel, "fix() leaves parameters to be learnt")
    _expect(kernel.fix().free().theta.size >= theta.size, kernel, "free() does not undo fix()")
    _expect(len(kernel.leaves()) >= 1, kernel, "leaves() is empty")


def _check_pullback(kernel: Kernel, X: Inputs, rng: np.random.Generator, rtol: float) -> None:
    """``pullback`` is the derivative of ``<Q, gram>``, and does not change ``Q``."""
    Q = rng.normal(size=(len(X), len(X)))
    Q = Q + Q.T
    Q.flags.writeable = False
    found = kernel.pullback(X, Q)
    _expect(found.shape == kernel.theta.shape, kernel, f"pullback: found shape {found.shape}")
    expected = five_point(lambda theta: np.sum(Q * kernel.with_theta(theta).gram(X)), kernel.theta)
    floor = max(1e-3 * float(np.sum(np.abs(Q * kernel.gram(X)))), np.finfo(float).tiny)
    error = relative_error(found, expected.reshape(found.shape), floor)
    _expect(error <= rtol, kernel, f"pullback {found} differs from differences {expected} by {error:.3g} (relative)")
    _expect(kernel.fix().pullback(X, Q).shape == (0,), kernel, "pullback of fix() is not empty")


def _check_other_pullbacks(kernel: Kernel, X: Inputs, rng: np.random.Generator, rtol: float) -> None:
    """``cross_pullback`` and ``diag_pullback`` are the derivatives of ``<Q, gram(X, Z)>`` and ``<q, diag>``."""
    Z = X.take(rng.choice(len(X), size=max(1, len(X) // 3), replace=False))
    Q, q = rng.normal(size=(len(X), len(Z))), rng.normal(size=len(X))
    Q.flags.writeable = q.flags.writeable = False
    across = five_point(lambda theta: np.sum(Q * kernel.with_theta(theta).gram(X, Z)), kernel.theta)
    along = five_point(lambda theta: q @ kernel.with_theta(theta).diag(X), kernel.theta)
    scale = float(np.sum(np.abs(Q * kernel.gram(X, Z)))) + float(np.abs(q) @ np.abs(kernel.diag(X)))
    for name, found, expected in (
        ("cross_pullback", kernel.cross_pullback(X, Z, Q), across),
        ("diag_pullback", kernel.diag_pullback(X, q), along),
    ):
        error = relative_error(found, expected.reshape(found.shape), max(1e-3 * scale, np.finfo(float).tiny))
        _expect(error <= rtol, kernel, f"{name} {found} differs from differences {expected} by {error:.3g} (relative)")
    empty = kernel.fix().cross_pullback(X, Z, Q).size + kernel.fix().diag_pullback(X, q).size
    _expect(empty == 0, kernel, "cross_pullback or diag_pullback of fix() is not empty")


def _check_pickle(kernel: Kernel, X: Inputs) -> None:
    """Pickling keeps the kernel; ``repr`` is one readable line that tells equal kernels alike."""
    copy = pickle.loads(pickle.dumps(kernel))
    _expect(type(copy) is type(kernel), kernel, "pickling changes the type")
    _expect(np.array_equal(copy.theta, kernel.theta), kernel, "pickling changes theta")
    _expect(np.array_equal(copy.gram(X), kernel.gram(X)), kernel, "pickling changes the Gram matrix")
    text = repr(kernel)
    _expect(text and " at 0x" not in text and text == repr(copy), kernel, f"repr is not a description: {text}")


__all__ = ["check_kernel"]
