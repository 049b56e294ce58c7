"""A new inference method from the outside: its code, its size, the conformance kit, and its use in an estimator."""

import ast
import dataclasses
import inspect

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm import BayesianSVC
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Inference, Laplace, from_name
from bayesvm.inference.laplace import gaussian_at_mode
from bayesvm.linalg import SupportFactor
from bayesvm.solvers import MAPResult, Newton, Status
from bayesvm.solvers.base import require
from bayesvm.testing import check_inference
from bayesvm.testing.solvers import problem


@dataclasses.dataclass(frozen=True)
class DampedLaplace(Inference):
    r"""Laplace's method, with the mode found by damped fixed-point iterations.

    The mode is a fixed point of :math:`f \to K (I + W K)^{-1} (W f - \ell')`, iterated reweighted least squares. Full
    steps may cycle; ``step`` is the share of each that is taken.
    """

    step: float = 0.7
    tol: float = 1e-12
    max_iter: int = 500

    def check(self, likelihood):
        require("damped Laplace", likelihood, smoothness=2, convex=True)

    def infer(self, K, y, likelihood, *, warm_start=None):
        self.check(likelihood)
        f, n_iter, status = np.zeros_like(y) if warm_start is None else warm_start, 0, Status.MAX_ITER
        while status is Status.MAX_ITER and n_iter < self.max_iter:
            n_iter += 1
            d = likelihood.derivatives(y, f)
            factor = SupportFactor.of(K, d.curvature)
            alpha = d.curvature * f - d.gradient
            alpha[factor.support] -= factor.apply((K @ alpha)[factor.support])
            move = K @ alpha - f
            gap = float(np.max(np.abs(move)) / max(1.0, np.max(np.abs(f))))
            status = Status.CONVERGED if gap <= self.tol else Status.MAX_ITER
            f = f + self.step * move
        mode = MAPResult(-d.gradient, f, 0.5 * float(alpha @ f) + float(d.loss.sum()), d, gap, n_iter, status)
        return gaussian_at_mode(K, y, likelihood, mode, factor)


def code_lines(cls):
    """Return the number of lines without blank lines, comments and docstrings."""
    source = inspect.getsource(cls)
    words = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    lines = enumerate(source.splitlines(), start=1)
    return sum(1 for i, line in lines if i not in words and line.strip() and not line.strip().startswith("#"))


def test_it_is_short():
    assert code_lines(DampedLaplace) <= 40


SMOOTH = [lib.Logistic(), lib.Probit(), lib.RaisedCosine(), lib.GaussianNoise()]


@pytest.mark.parametrize("likelihood", SMOOTH, ids=lambda x: type(x).__name__)
def test_it_passes_the_conformance_kit(likelihood):
    check_inference(DampedLaplace(), likelihood)
    check_inference(DampedLaplace(), lib.Weighted(likelihood, np.linspace(0.3, 2.0, 40)))


def test_losses_that_make_full_steps_cycle_need_the_damping():
    likelihood = lib.SmoothInsensitive(5.0, 0.5, 0.9)
    K, y = problem(likelihood)
    assert not DampedLaplace(step=1.0).infer(K, y, likelihood)[1].status.ok
    check_inference(DampedLaplace(step=0.2), likelihood)


def test_it_finds_what_newton_finds():
    K, y = problem(lib.Logistic())
    (_, found), (_, expected) = (m.infer(K, y, lib.Logistic()) for m in (DampedLaplace(), Laplace(Newton(tol=1e-12))))
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    np.testing.assert_allclose(found.dK, expected.dK, atol=1e-8)
    assert not DampedLaplace(max_iter=3).infer(K, y, lib.Logistic())[1].status.ok


def test_it_says_what_it_cannot_treat():
    with pytest.raises(IncompatibleError, match=r"damped Laplace cannot treat Trigonometric: it needs 2 continuous"):
        DampedLaplace().check(lib.Trigonometric())


def test_it_is_taken_as_it_is():
    method = DampedLaplace(step=0.5)
    assert from_name(method) is method


def test_it_works_in_an_estimator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.4 * rng.normal(size=60) > 0.0
    options = {"likelihood": "logistic", "posterior": None, "n_starts": 1, "random_state": 0}
    own, named = (BayesianSVC(None, inference=method, **options).fit(X, y) for method in (DampedLaplace(), "laplace"))
    assert own.log_evidence_ == pytest.approx(named.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(own.predict_proba(X), named.predict_proba(X), atol=1e-3)
