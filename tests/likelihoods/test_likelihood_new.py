"""A likelihood of one's own: the mathematics alone, at most 25 lines of code, and it works wherever ours do."""

from __future__ import annotations

import ast
import dataclasses
import inspect

import numpy as np
import pytest
from scipy import stats

from bayesvm import BayesianSVC, BayesianSVR
from bayesvm.datasets import make_sinc
from bayesvm.inference import EP, Laplace, Variational
from bayesvm.likelihoods import Classification, Derivatives, Regression, Traits, Weighted
from bayesvm.solvers import Newton
from bayesvm.testing import check_inference, check_likelihood, check_solver


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoubleExponential(Classification):
    """Labels are the signs of f plus Laplacian noise: p(t) = exp(t)/2 for t < 0, 1 - exp(-t)/2 for t > 0."""

    traits = Traits(smoothness=1, convex=True, normalized=True, sparse=False)
    knots = (0.0, 5.0, 15.0, 40.0)

    def profile(self, t):
        wrong, e = t < 0.0, np.exp(-np.abs(t))
        rate = np.where(wrong, 1.0, e / (2.0 - e))
        loss = np.where(wrong, np.log(2.0) - t, -np.log1p(-0.5 * e))
        bend = np.where(wrong, 0.0, rate * (1.0 + rate))
        return Derivatives(loss, -rate, bend, -bend * (1.0 + 2.0 * rate))


@dataclasses.dataclass(frozen=True)
class HyperbolicSecant(Regression):
    """Noise with the density sech(pi t / 2s) / 2s and the standard deviation s."""

    positive = {"scale": (1e-3, 1e3)}  # noqa: RUF012
    powers = {"scale": 1}  # noqa: RUF012
    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False)

    scale: float = 0.3

    @property
    def knots(self):
        return tuple(self.scale * k for k in (-25.0, -10.0, -3.0, 3.0, 10.0, 25.0))

    def profile(self, t):
        a = 0.5 * np.pi / self.scale
        e, tanh = np.exp(-2.0 * a * np.abs(t)), np.tanh(a * t)
        bend = 4.0 * a**2 * e / (1.0 + e) ** 2
        return Derivatives(a * np.abs(t) + np.log1p(e) + np.log(self.scale), a * tanh, bend, -2.0 * a * bend * tanh)


LAPLACE = Laplace(Newton(tol=1e-12))
EXAMPLES = [DoubleExponential(), HyperbolicSecant()]
every_example = pytest.mark.parametrize("likelihood", EXAMPLES, ids=lambda x: type(x).__name__)


def code_lines(cls):
    """Return the lines of a class that are neither empty nor comments nor docstrings."""
    source = inspect.getsource(cls)
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    strings = [node.body[0] for node in documented if ast.get_docstring(node) is not None]
    prose = {number for string in strings for number in range(string.lineno, string.end_lineno + 1)}
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in prose]
    return [line for line in lines if line and not line.startswith("#")]


@every_example
def test_length(likelihood):
    assert 5 < len(code_lines(type(likelihood))) <= 25
    assert len(code_lines(DoubleExponential)) == 10
    assert len(code_lines(HyperbolicSecant)) == 14


@every_example
def test_contract(likelihood):
    check_likelihood(likelihood)


@every_example
@pytest.mark.parametrize("inference", [LAPLACE, EP(tol=1e-10), Variational(tol=1e-12)], ids=lambda x: type(x).__name__)
def test_inference(likelihood, inference):
    check_inference(inference, likelihood)
    check_inference(inference, Weighted(likelihood, np.linspace(0.4, 3.0, 40)))


@every_example
def test_solver(likelihood):
    check_solver(Newton(tol=1e-10), likelihood)


def test_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.laplace(size=80) > 0.0, "one", "two")
    fitted = BayesianSVC(None, likelihood=DoubleExponential()).fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(fitted.log_evidence_)


def test_regressor():
    X, y, f = make_sinc(80, random_state=0)
    fitted = BayesianSVR(None, likelihood=HyperbolicSecant()).fit(X, y)
    assert np.sqrt(np.mean((fitted.predict(X) - f) ** 2)) < 0.1
    assert isinstance(fitted.likelihood_, HyperbolicSecant)
    assert fitted.noise_std_ == pytest.approx(fitted.likelihood_.scale, rel=1e-9)
    low, high = fitted.predict_interval(X, 0.9)
    assert 0.75 < np.mean((low < y) & (y < high)) <= 1.0


def test_distribution_of_the_noise():
    found, known = HyperbolicSecant(0.7).distribution(), stats.hypsecant(scale=1.4 / np.pi)
    x = np.array([-30.0, -3.0, -0.4, 0.0, 0.1, 2.0, 25.0])
    for name in ("pdf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(found, name)(x), getattr(known, name)(x), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(found.ppf([0.001, 0.3, 0.9]), known.ppf([0.001, 0.3, 0.9]), rtol=1e-10)
    assert found.var() == pytest.approx(0.49, rel=1e-12)
    assert found.entropy() == pytest.approx(float(known.entropy()), rel=1e-10)


def test_a_noise_parameter_needs_its_unit():
    forgetful = dataclasses.dataclass(frozen=True)(type("Forgetful", (HyperbolicSecant,), {"powers": {}}))
    with pytest.raises(TypeError, match=r"Forgetful.powers: expected the power of the unit of y for each parameter"):
        forgetful()


@pytest.mark.parametrize("powers", [{"scale": 0}, {"scale": 1, "shape": 0}], ids=str)
def test_derivatives_that_do_not_follow_from_the_unit_must_be_given(powers):
    fields = {"positive": dict.fromkeys(powers, (0.1, 1.0)), "powers": powers, "shape": 1.0}
    noise = dataclasses.dataclass(frozen=True)(type("Shaped", (HyperbolicSecant,), fields))()
    one = np.ones(1)
    for find in (noise.theta_derivatives, lambda y, f: noise.expected_theta(y, f, one)):
        with pytest.raises(TypeError, match=r"Shaped.profile_parameters: expected the derivatives in scale"):
            find(0.0 * one, one)


def test_a_derivative_that_is_given_is_used():
    given = {"profile_parameters": lambda self, t: {"scale": (np.full_like(t, 7.0), 0.0 * t, 0.0 * t)}}
    noise = dataclasses.dataclass(frozen=True)(type("Given", (HyperbolicSecant,), given))()
    assert noise.expected_theta(np.zeros(1), np.ones(1), np.ones(1))[0] == pytest.approx(7.0)
