"""The evidence with theta integrated out: exact cases, bounds, axes without curvature, sampling of small problems."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, LogNormal, Maximizer
from bayesvm.hyper.model_evidence import _half_line, has_jumps, integrated_evidence, nearby_maximum
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Logistic, Trigonometric
from bayesvm.solvers.base import Status


@dataclasses.dataclass(frozen=True)
class Solved:
    status: Status = Status.CONVERGED
    latent: None = None


@dataclasses.dataclass(frozen=True)
class Evaluated:
    value: float
    gradient: np.ndarray
    evidence: Solved = Solved()


@dataclasses.dataclass
class Sheet:
    """A log density given by a function that returns value and gradient."""

    function: object
    bounds: np.ndarray
    calls: int = 0

    def evaluate(self, theta, warm_start=None):
        self.calls += 1
        assert np.all(theta >= self.bounds[:, 0])
        assert np.all(theta <= self.bounds[:, 1])
        return Evaluated(*self.function(np.asarray(theta)))


def wide(k, width=30.0):
    return np.tile([-width, width], (k, 1))


def gaussian(precision, height=-3.0):
    return lambda t: (height - 0.5 * t @ precision @ t, -precision @ t)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_a_gaussian_is_exact(k):
    root = np.random.default_rng(k).normal(size=(k, k)) + 2.0 * np.eye(k)
    precision = root @ root.T
    sheet = Sheet(gaussian(precision), wide(k))
    found = integrated_evidence(sheet, np.zeros(k))
    expected = -3.0 + 0.5 * k * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.numeric == 0
    assert found.evaluations == sheet.calls == 4 * k + 1
    assert found.axes @ found.axes.T == pytest.approx(np.linalg.inv(precision), rel=1e-6)
    assert found.error < 1e-9


def test_a_skewed_density_is_within_the_stated_error():
    # logarithm of a gamma variable: v = a t - exp(t), maximum at ln a
    a = 3.0
    sheet = Sheet(lambda t: (float(a * t[0] - np.exp(t[0])), np.array([a - np.exp(t[0])])), wide(1))
    found = integrated_evidence(sheet, np.array([np.log(a)]))
    plain = a * np.log(a) - a + 0.5 * np.log(2.0 * np.pi / a)
    truth = np.log(quad(lambda t: np.exp(a * t - np.exp(t)), -30.0, 5.0)[0])
    assert abs(found.value - truth) < abs(plain - truth)
    assert abs(found.value - truth) <= found.error
    rough = integrated_evidence(sheet, np.array([np.log(a)]), jumps=True)
    assert (rough.value, rough.error) == (found.value, 2.0 * found.error)


def test_at_a_bound_the_half_line_counts():
    bounds = np.array([[-1.0, 9.0], [-30.0, 30.0]])
    slope = 2.0

    def value(t):
        away = t[0] + 1.0
        return -slope * away - 0.5 * away**2 - 0.5 * t[1] ** 2, np.array([-slope - away, -t[1]])

    found = integrated_evidence(Sheet(value, bounds), np.array([-1.0, 0.0]))
    expected = 0.5 * np.log(2.0 * np.pi) + 0.5 * slope**2 + 0.5 * np.log(2.0 * np.pi) + log_ndtr(-slope)
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.bound.tolist() == [True, False]


def test_a_flat_direction_is_worth_its_width():
    bounds = np.array([[-5.0, 3.0], [-30.0, 30.0]])
    sheet = Sheet(lambda t: (-0.5 * t[1] ** 2, np.array([0.0, -t[1]])), bounds)
    found = integrated_evidence(sheet, np.zeros(2))
    assert found.numeric == 1
    assert found.value == pytest.approx(np.log(8.0) + 0.5 * np.log(2.0 * np.pi), abs=1e-6)
    assert found.error >= 0.5


def test_a_saddle_is_integrated_and_not_repaired():
    def value(t):  # two bumps along the first entry, the point between them
        u = t[0]
        return -((u**2 - 4.0) ** 2) / 16.0 - 0.5 * t[1] ** 2, np.array([-u * (u**2 - 4.0) / 4.0, -t[1]])

    found = integrated_evidence(Sheet(value, np.array([[-4.0, 4.0], [-30.0, 30.0]])), np.zeros(2))
    truth = np.log(quad(lambda u: np.exp(-((u**2 - 4.0) ** 2) / 16.0), -4.0, 4.0)[0]) + 0.5 * np.log(2.0 * np.pi)
    assert found.numeric == 1
    assert found.value == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_side_where_the_evidence_fails_is_left_out(sign):
    def value(t):
        if sign * t[0] > 0.05:
            raise NotPositiveDefiniteError("no factor")
        return -0.5 * t[0] ** 2, -t

    found = integrated_evidence(Sheet(value, wide(1)), np.zeros(1))
    assert found.numeric == 1
    truth = 0.5 * np.log(2.0 * np.pi) + log_ndtr(0.05)
    assert abs(found.value - truth) < 0.3  # the wall lies between two points of the rule
    assert found.error >= 1.0


def test_no_value_where_the_evidence_fails_on_both_sides():
    def value(t):
        if abs(t[0]) > 0.01:
            raise NotPositiveDefiniteError("no factor")
        return -0.5 * float(t @ t), -t

    found = integrated_evidence(Sheet(value, wide(2)), np.zeros(2))
    assert np.isnan(found.value)
    assert found.error == np.inf


def test_nothing_to_integrate():
    sheet = Sheet(lambda t: (-7.0, np.zeros(0)), np.empty((0, 2)))
    found = integrated_evidence(sheet, np.zeros(0))
    assert found.value == -7.0
    assert found.error == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels, one length scale", "targets, one length scale"])
def test_long_sampling_of_theta_agrees_within_the_stated_error(name, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from benchmarks.model_evidence import optimum, problems, sampled

    objective = dict(problems())[name]
    maximum = optimum(objective)
    found = integrated_evidence(objective, maximum.theta, maximum.latent)
    truth, error = sampled(objective, found, 2000)
    assert error < 0.05
    assert abs(found.value - truth) <= found.error
    assert found.error < 0.6


# -- the maximum under another hyperprior ------------------------------------------------------------------------------
def labelled(likelihood, kernel):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0.0, 1.0, -1.0)
    return EvidenceObjective(kernel, likelihood, Laplace(), Inputs(X), y, LogNormal(0.0, 1.0))


@pytest.mark.parametrize(
    ("likelihood", "jumps"), [(Logistic(), False), (Trigonometric(), True)], ids=["smooth", "jumps"]
)
def test_the_search_goes_on_from_a_theta_of_another_hyperprior(likelihood, jumps):
    objective = labelled(likelihood, Gaussian() + Constant())
    assert has_jumps(objective) is jumps
    theta = objective.theta0 + np.array([1.0, -0.5, 0.3])
    found = nearby_maximum(objective, theta)
    assert found.value >= Maximizer().maximize(objective, [theta]).value - 1e-6
    assert found.value > objective.evaluate(theta).value
    assert len(found.history) == 1 + jumps


def test_an_interrupt_of_that_search_is_raised(monkeypatch):
    objective = labelled(Logistic(), Gaussian() + Constant())
    plain = Maximizer.maximize
    monkeypatch.setattr(Maximizer, "maximize", lambda *args, **options: plain(*args, **options).as_interrupted())
    with pytest.raises(KeyboardInterrupt):
        nearby_maximum(objective, objective.theta0)


@pytest.mark.parametrize(("slope", "curvature"), [(0.7, 0.0), (0.0, 0.0), (0.7, -0.3), (0.0, 2.0), (-1.0, 2.0)])
def test_the_integral_over_half_an_axis(slope, curvature):
    bend = max(curvature, 0.0)
    exact, _ = quad(lambda t: np.exp(-slope * t - 0.5 * bend * t * t), 0.0, 3.0)
    assert _half_line(slope, curvature, 3.0) == pytest.approx(np.log(exact), abs=1e-9)


def test_without_free_parameters_the_maximum_is_the_value():
    X = np.linspace(-1.0, 1.0, 10)[:, None]
    kernel = (Gaussian().fix("variance", "lengthscale") + Constant().fix("variance")).bind(1)
    objective = EvidenceObjective(kernel, Logistic(), Laplace(), Inputs(X), np.where(X[:, 0] > 0.1, 1.0, -1.0))
    found = nearby_maximum(objective, np.empty(0))
    assert found.theta.size == 0
    assert found.value == objective.evaluate(np.empty(0)).value
    with pytest.raises(ValueError, match=r"theta: expected 0 logarithms .* shape \(2,\)"):
        objective.evaluate(np.zeros(2))
