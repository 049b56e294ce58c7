"""The conformance check of a likelihood: everything that the contract in ``likelihoods.base`` promises."""

from __future__ import annotations

import itertools
import pickle
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import quad

from bayesvm.likelihoods.base import Classification, Derivatives, Likelihood, Regression
from bayesvm.testing.differences import five_point, relative_error
from bayesvm.typing import Vector

#: Far points at which nothing may overflow or become NaN.
FAR_POINTS = np.array([-1e20, -1e3, -40.0, 40.0, 1e3, 1e20])


def sample_points(likelihood: Likelihood, n: int = 40, seed: int = 0, reach: float = 3.0) -> Vector:
    """Return points t inside the domain, away from the knots, as many as possible of them between the knots."""
    rng = np.random.default_rng(seed)
    low, high = likelihood.domain
    knots = [k for k in likelihood.knots if abs(k) < 50.0] or [0.0]
    start, end = max(low, knots[0] - reach), min(high, knots[-1] + reach)
    ends = [start, *(k for k in knots if start < k < end), end]
    points = [a + (b - a) * rng.uniform(0.05, 0.95, n // (len(ends) - 1) + 1) for a, b in itertools.pairwise(ends)]
    return np.concatenate(points)


def _gaps(likelihood: Likelihood, t: Vector) -> Vector:
    """Return the distance from each point to the nearest knot or end of the domain."""
    ends = np.array([*likelihood.knots, *(e for e in likelihood.domain if np.isfinite(e)), np.inf])
    return np.asarray(np.min(np.abs(t[:, None] - ends), axis=1))


def _part(function: Callable[[Vector], Derivatives], name: str) -> Callable[[Vector], Vector]:
    """Return the function that gives one of the derivatives."""

    def part(x: Vector) -> Vector:
        found: Vector = getattr(function(x), name)
        return found

    return part


def check_derivatives(likelihood: Likelihood, tol: float = 1e-6) -> None:
    """Compare each derivative in t with five-point differences of the one before, and f with t."""
    t = sample_points(likelihood)
    gap = np.minimum(_gaps(likelihood, t), 1.0)
    p = likelihood.profile(t)
    for name, lower in (("gradient", "loss"), ("curvature", "gradient"), ("third", "curvature")):
        for i, at in enumerate(t):
            h = 2e-3 * gap[i]
            found = getattr(p, name)[i]
            expected = five_point(_part(likelihood.profile, lower), np.array([at]), h)[0, 0]
            noise = 1e-14 * (1.0 + abs(getattr(p, lower)[i])) / h
            if abs(found - expected) > tol * max(1.0, abs(expected)) + 10.0 * noise:
                raise AssertionError(f"{likelihood!r}: {name} at t={at}: found {found}, differences give {expected}")
    y = np.where(np.arange(t.size) % 2 == 0, 1.0, -1.0) if isinstance(likelihood, Classification) else 0.3 + 0.0 * t
    f = y * t if isinstance(likelihood, Classification) else y - t
    d, s = likelihood.derivatives(y, f), likelihood.slope(y)
    p = likelihood.profile(likelihood.argument(y, f))
    for name, sign in (("loss", 1.0), ("gradient", s), ("curvature", 1.0), ("third", s)):
        if not np.array_equal(getattr(d, name), sign * getattr(p, name)):
            raise AssertionError(f"{likelihood!r}: {name} in f does not follow from {name} in t")


def check_smoothness(likelihood: Likelihood, tol: float = 1e-5) -> None:
    """Compare the two sides of every knot, in all derivatives up to the stated smoothness."""
    scale = np.min(np.diff(likelihood.knots), initial=1.0)
    for knot in likelihood.knots:
        h = 1e-7 * min(scale, 1.0)
        below, above = (likelihood.profile(np.array([knot + side * h])) for side in (-1.0, 1.0))
        orders = ("loss", "gradient", "curvature", "third", "third")
        for name, following in itertools.pairwise(orders[: likelihood.traits.smoothness + 2]):
            a, b = (float(getattr(p, name)[0]) for p in (below, above))
            rate = max(abs(float(getattr(p, following)[0])) for p in (below, above))
            if abs(a - b) > tol * max(1.0, abs(a)) + 4.0 * h * rate:
                raise AssertionError(f"{likelihood!r}: {name} jumps at the knot t={knot}: {a} and {b}")


def check_theta(likelihood: Likelihood, tol: float = 1e-6) -> None:
    """Compare the derivatives in theta with five-point differences; check the round trip of theta."""
    theta = likelihood.theta
    again = likelihood.with_theta(theta)
    if relative_error(again.theta, theta) > 1e-15 or likelihood.bounds.shape != (theta.size, 2):
        raise AssertionError(f"{likelihood!r}: theta does not survive with_theta, or has no bounds")
    if len(likelihood.names) != theta.size:
        raise AssertionError(f"{likelihood!r}: one name per entry of theta expected, found {likelihood.names}")
    t = sample_points(likelihood)
    t = t[_gaps(likelihood, t) > 1e-3 * np.abs(t)]  # a knot may move with theta
    found = likelihood.profile_theta(t)
    for name in ("loss", "gradient", "curvature"):
        expected = five_point(_part(lambda x: likelihood.with_theta(x).profile(t), name), theta, 1e-4)
        expected = expected.reshape(theta.size, t.size)
        if relative_error(getattr(found, name), expected) > tol:
            raise AssertionError(f"{likelihood!r}: the derivative of the {name} in theta differs from differences")


def check_normalized(likelihood: Likelihood, tol: float = 1e-10) -> None:
    """Check that the likelihood sums to one over the labels, or integrates to one over the targets, if it says so."""
    if not likelihood.traits.normalized:
        return
    if isinstance(likelihood, Classification):
        f = np.linspace(-4.0, 4.0, 81)
        total = sum(np.exp(-likelihood.derivatives(np.full_like(f, y), f).loss) for y in (-1.0, 1.0))
        worst = relative_error(total, np.ones_like(f))
    else:
        worst = abs(_moment(likelihood, 0) - 1.0)
    if worst > tol:
        raise AssertionError(f"{likelihood!r}: not normalised, off by {worst}")


def _moment(likelihood: Likelihood, power: int) -> float:
    """Return the integral of :math:`t^p e^{-loss}` over the residuals, by adaptive quadrature between knots."""
    width = float(np.sqrt(likelihood.noise_variance)) if isinstance(likelihood, Regression) else 1.0
    ends = sorted({*likelihood.knots, *(s * width * c for s in (-1.0, 1.0) for c in (1.0, 5.0, 20.0, 60.0)), 0.0})
    return _integral(lambda x: float(x**power * np.exp(-likelihood.profile(np.array([x])).loss[0])), ends)


def _integral(function: Callable[[float], float], ends: Sequence[float]) -> float:
    """Return the integral between the first and the last of ``ends``, one adaptive rule between neighbours."""
    return float(sum(quad(function, a, b, epsabs=0.0, epsrel=1e-11, limit=200)[0] for a, b in itertools.pairwise(ends)))


def check_noise_variance(likelihood: Likelihood, tol: float = 1e-9) -> None:
    """Compare the noise variance of a regression likelihood with quadrature."""
    if isinstance(likelihood, Regression):
        expected = _moment(likelihood, 2) / _moment(likelihood, 0)
        if relative_error(likelihood.noise_variance / expected, 1.0) > tol:
            found = likelihood.noise_variance
            raise AssertionError(f"{likelihood!r}: noise variance {found}, quadrature gives {expected}")


def check_shape(likelihood: Likelihood) -> None:
    """Check convexity and sparseness as stated in the traits, and symmetry of a regression likelihood."""
    t = sample_points(likelihood, 200)
    p = likelihood.profile(t)
    if likelihood.traits.convex:
        gradient = p.gradient[np.argsort(t)]
        if np.any(p.curvature < 0.0) or np.any(np.diff(gradient) < -1e-12 * (1.0 + np.abs(gradient[1:]))):
            raise AssertionError(f"{likelihood!r}: says convex, but its gradient falls somewhere")
    flat = bool(np.any((p.gradient == 0.0) & (p.curvature == 0.0)))
    if flat != likelihood.traits.sparse:
        what = "was" if flat else "was not"
        raise AssertionError(f"{likelihood!r}: traits.sparse is {likelihood.traits.sparse}, a flat part {what} found")
    if isinstance(likelihood, Regression) and not np.array_equal(p.loss, likelihood.profile(-t).loss):
        raise AssertionError(f"{likelihood!r}: the loss of a residual must be symmetric")


def check_predictive(likelihood: Likelihood, tol: float = 1e-8) -> None:
    """Compare ``log_predictive`` with adaptive quadrature, and with minus the loss as the variance vanishes."""
    low, high = likelihood.domain
    for m, v in ((0.2, 0.5), (-0.8, 2.0), (1.5, 0.1)):
        reach = 12.0 * np.sqrt(v)
        start, end = max(low, m - reach), min(high, m + reach)
        ends = sorted({start, end, m, *(k for k in likelihood.knots if start < k < end)})

        def density(t: float, m: float = m, v: float = v) -> float:
            return float(np.exp(-likelihood.profile(np.array([t])).loss[0] - 0.5 * (t - m) ** 2 / v))

        expected = np.log(_integral(density, ends) / np.sqrt(2.0 * np.pi * v))
        y = np.ones(1) if isinstance(likelihood, Classification) else np.array([0.4])
        f = y * m if isinstance(likelihood, Classification) else y - m
        found = float(likelihood.log_predictive(y, f, np.array([v]))[0])
        if abs(found - expected) > tol * max(1.0, abs(expected)):
            where = f"log_predictive at t ~ N({m}, {v})"
            raise AssertionError(f"{likelihood!r}: {where}: found {found}, quadrature gives {expected}")
    t = sample_points(likelihood, 10)
    y, f = (np.ones_like(t), t) if isinstance(likelihood, Classification) else (np.zeros_like(t), -t)
    loss = likelihood.derivatives(y, f).loss
    for v in (0.0, 1e-24):
        if relative_error(likelihood.log_predictive(y, f, np.full_like(t, v)), -loss) > 1e-8:
            raise AssertionError(f"{likelihood!r}: log_predictive differs from minus the loss at the variance {v}")


def check_extremes(likelihood: Likelihood) -> None:
    """Check that far points give finite derivatives, and a finite loss just inside the domain, without warnings."""
    low, high = likelihood.domain
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p, q = likelihood.profile(FAR_POINTS), likelihood.profile_theta(FAR_POINTS)
    inside = (low < FAR_POINTS) & (high > FAR_POINTS)
    if not np.array_equal(np.isfinite(p.loss), inside) or np.any(p.loss[~inside] != np.inf):
        raise AssertionError(f"{likelihood!r}: the loss must be finite just inside the domain, found {p.loss}")
    for part in (p.gradient, p.curvature, p.third, q.loss, q.gradient, q.curvature):
        if not np.all(np.isfinite(part)):
            raise AssertionError(f"{likelihood!r}: a derivative is not finite at one of t = {FAR_POINTS}: {part}")


def check_likelihood(likelihood: Likelihood) -> None:
    """Raise ``AssertionError`` unless ``likelihood`` keeps the contract of :mod:`bayesvm.likelihoods.base`.

    Checked are: derivatives in t, f and theta against five-point differences; continuity at the knots up to the stated
    smoothness; normalisation, convexity and sparseness as stated; ``log_predictive`` and ``noise_variance`` against
    adaptive quadrature; far points; pickling and the round trip of theta.

    Parameters
    ----------
    likelihood : Likelihood
        A classification or regression likelihood of your own, or one of the library's.
    """
    check_derivatives(likelihood)
    check_smoothness(likelihood)
    check_theta(likelihood)
    check_shape(likelihood)
    check_normalized(likelihood)
    check_noise_variance(likelihood)
    check_predictive(likelihood)
    check_extremes(likelihood)
    if pickle.loads(pickle.dumps(likelihood)) != likelihood:
        raise AssertionError(f"{likelihood!r}: changed by pickling")


__all__ = ["check_likelihood"]
