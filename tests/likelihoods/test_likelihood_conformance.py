"""Every likelihood keeps the contract, and the check notices when one does not."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES, concrete_subclasses

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.base import Derivatives
from bayesvm.testing.likelihoods import check_likelihood


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_contract(likelihood):
    check_likelihood(likelihood)


def test_no_likelihood_without_test():
    tested = {type(x) for x in INSTANCES} | {lib.Weighted}
    missing = {c.__name__ for c in concrete_subclasses(lib.Likelihood) - tested}
    assert not missing, f"add these likelihoods to INSTANCES: {sorted(missing)}"


def test_names():
    names = [
        *("trigonometric", "raised-cosine", "logistic", "probit", "hinge", "normalized-hinge", "soft-insensitive"),
        *("smooth-insensitive", "huber", "laplace", "epsilon-insensitive", "gaussian-noise"),
    ]
    for name in names:
        found = lib.from_name(name)
        assert type(found).__name__.lower() == name.replace("-", "")
        assert type(found).__name__ in lib.__all__
    with pytest.raises(ValueError, match="no likelihood is called 'Hinge'; the names are trigonometric, raised-cosine"):
        lib.from_name("Hinge")


@pytest.mark.parametrize(
    ("given", "meant"),
    [("Hinge", "hinge"), ("raised_cosine", "raised-cosine"), ("Soft Insensitive", "soft-insensitive"), ("gauss", None)],
)
def test_a_wrong_name_is_answered_by_the_likely_one(given, meant):
    with pytest.raises(ValueError, match="no likelihood is called") as caught:
        lib.from_name(given)
    assert str(caught.value).endswith("gaussian-noise" if meant is None else f"; did you mean {meant!r}?")


@dataclasses.dataclass(frozen=True)
class Broken(lib.Huber):
    """A Huber loss with one fault, to see that the check notices it."""

    fault: str = ""

    def profile(self, t):
        p = super().profile(t)
        parts = {k: getattr(p, k) for k in ("loss", "gradient", "curvature", "third")}
        if self.fault == "jump":
            parts["loss"] = parts["loss"] + 0.01 * (t > 2 * self.epsilon) + 0.01 * (t < -2 * self.epsilon)
        elif self.fault == "mass":
            parts["loss"] = parts["loss"] + 0.01
        elif self.fault in parts:
            parts[self.fault] = parts[self.fault] * 1.001 + 1e-4
        return Derivatives(**parts)

    def profile_parameters(self, t):
        rows = super().profile_parameters(t)
        return {**rows, "C": tuple(1.001 * r for r in rows["C"])} if self.fault == "theta" else rows

    @property
    def noise_variance(self):
        return super().noise_variance * (1.001 if self.fault == "variance" else 1.0)

    def log_predictive(self, y, mean, var):
        return super().log_predictive(y, mean, var) + (1e-4 if self.fault == "predictive" else 0.0)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("gradient", "gradient at t="),
        ("curvature", "curvature at t="),
        ("third", "third at t="),
        ("jump", "loss jumps at the knot"),
        ("mass", "not normalised"),
        ("theta", "in theta differs"),
        ("variance", "noise variance"),
        ("predictive", "log_predictive"),
    ],
)
def test_check_notices(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_likelihood(Broken(C=2.0, epsilon=0.4, fault=fault))


def test_check_accepts_the_unbroken():
    check_likelihood(Broken(C=2.0, epsilon=0.4))


@pytest.mark.parametrize("traits", [{"sparse": True}, {"smoothness": 2}], ids=str)
def test_check_notices_wrong_traits(traits):
    claimed = type("Claimed", (lib.Huber,), {"traits": dataclasses.replace(lib.Huber.traits, **traits)})
    claimed.__module__ = "tests"
    with pytest.raises(AssertionError, match=r"traits\.sparse is True|jumps at the knot"):
        check_likelihood(claimed())


def test_check_notices_a_loss_that_is_not_convex():
    claimed = type(
        "Claimed", (lib.NormalizedHinge,), {"traits": dataclasses.replace(lib.NormalizedHinge.traits, convex=True)}
    )
    claimed.__module__ = "tests"
    with pytest.raises(AssertionError, match="says convex"):
        check_likelihood(claimed())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lib.Hinge(-1.0), "Hinge.C: expected a positive number"),
        (lambda: lib.Hinge((1.0, 2.0)), "Hinge.C: expected one positive number, found a sequence"),
        (lambda: lib.Laplace(np.nan), "Laplace.C: expected a positive number"),
        (lambda: lib.SoftInsensitive(1.0, 0.0), "SoftInsensitive.epsilon: expected a positive number"),
        (lambda: lib.SoftInsensitive(1.0, 0.1, 0.0), r"SoftInsensitive.beta: expected a number in \(0, 1\], found 0.0"),
        (lambda: lib.SmoothInsensitive(1.0, 0.1, 1.5), r"SmoothInsensitive.beta: expected a number in \(0, 1\]"),
        (lambda: lib.SoftInsensitive(1.0, 0.1, "x"), "SoftInsensitive.beta: expected a number"),
        (
            lambda: lib.SoftInsensitive().fix("beta"),
            "SoftInsensitive has no parameter 'beta'; its parameters are C, eps",
        ),
        (lambda: lib.Huber(limits={"C": (2.0, 1.0)}), "bounds of Huber.C: expected 0 < low <= high"),
        (lambda: lib.GaussianNoise().with_theta(np.zeros(2)), "GaussianNoise.with_theta: expected 1 values"),
        (
            lambda: lib.Logistic().log_predictive(np.ones(1), np.ones(1), -np.ones(1)),
            "var: expected finite non-negative",
        ),
        (lambda: lib.Logistic().log_predictive(np.ones(1), np.array([np.nan]), np.ones(1)), "mean: expected finite"),
        (lambda: lib.Probit().log_predictive(np.ones(1), np.ones(1), -np.ones(1)), "var: expected finite non-negative"),
        (lambda: lib.Hinge().log_predictive(np.ones(1), np.ones(1), -np.ones(1)), "var: expected finite non-negative"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_hinge_refuses_probabilities():
    with pytest.raises(TypeError, match=r"Hinge.log_odds: this likelihood is not a probability of the label"):
        lib.Hinge().predict_proba(np.zeros(1), np.ones(1))


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_pickle_and_shapes(likelihood):
    again = pickle.loads(pickle.dumps(likelihood))
    assert again == likelihood
    t = np.array([0.2, 0.4, 1.7])
    y = np.ones(3) if isinstance(likelihood, lib.Classification) else np.zeros(3)
    p = likelihood.theta.size
    d, e = likelihood.derivatives(y, t), likelihood.theta_derivatives(y, t)
    assert all(getattr(d, k).shape == (3,) for k in ("loss", "gradient", "curvature", "third"))
    assert all(getattr(e, k).shape == (p, 3) for k in ("loss", "gradient", "curvature"))
    empty = likelihood.log_predictive(np.empty(0), np.empty(0), np.empty(0))
    assert empty.shape == (0,)
    wide = likelihood.log_predictive(y[:, None], t[:, None], np.array([[0.0, 0.5]]))
    assert wide.shape == (3, 2)
    assert wide[1, 1] == pytest.approx(likelihood.log_predictive(y[1:2], t[1:2], np.array([0.5]))[0], rel=1e-13)


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_traits_are_neither_more_nor_less_than_what_holds(likelihood):
    low, high = likelihood.domain
    t = np.linspace(max(low, -8.0) + 1e-6, min(high, 8.0) - 1e-6, 4001)
    slopes = np.diff(likelihood.profile(t).loss)
    assert likelihood.traits.convex == bool(np.all(np.diff(slopes) >= -1e-10 * (1.0 + np.abs(slopes[1:]))))
    if isinstance(likelihood, lib.Classification):
        total = sum(np.exp(-likelihood.profile(np.array([0.3, -0.9]) * sign).loss) for sign in (1.0, -1.0))
    else:
        x = np.linspace(-100.0, 100.0, 400_001)
        total = np.trapezoid(np.exp(-likelihood.profile(x).loss), x)
    assert likelihood.traits.normalized == bool(np.allclose(total, 1.0, atol=1e-5))
