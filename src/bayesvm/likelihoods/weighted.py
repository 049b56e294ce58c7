"""Powers of a likelihood: sample weights."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Self

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Likelihood, ThetaDerivatives
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected
from bayesvm.likelihoods.tilted import Tilted, tilted, tilted_power, tilted_power_theta, tilted_theta
from bayesvm.typing import Indices, Matrix, Vector


def _inner(name: str) -> property:
    """Return an attribute that is that of the inner likelihood."""
    return property(attrgetter(f"likelihood.{name}"), doc=getattr(Likelihood, name).__doc__)


def _with_weights(name: str) -> property:
    """Return an attribute that is that of the inner likelihood with the same weights."""
    return property(lambda self: self.around(getattr(self.likelihood, name)), doc=getattr(Likelihood, name).__doc__)


def _changed(name: str) -> Callable[..., Any]:
    """Return a method that replaces the inner likelihood by the result of its own method of that name."""

    @functools.wraps(getattr(Likelihood, name))
    def method(self: Weighted, *args: Any, **kwargs: Any) -> Weighted:
        return self.around(getattr(self.likelihood, name)(*args, **kwargs))

    return method


@dataclasses.dataclass(frozen=True)
class Weighted(Likelihood):
    r"""A likelihood of which every training sample counts :math:`w_i` times.

    .. math:: \ell_i(t_i) \to w_i\, \ell_i(t_i)

    Parameters
    ----------
    likelihood : Likelihood
        The likelihood of one sample; its parameters are those of the weighted likelihood.
    weights : sequence of float
        Non-negative, one per training sample. A weight of 2 counts as the row given twice, a weight of 0 as the row
        left out (its loss is 0, even outside the domain).

    Notes
    -----
    A solver or an inference method uses it like any other likelihood, with arrays of exactly as many entries as there
    are weights. Predictions are about one new sample: ``log_predictive`` is that of the inner likelihood, which is
    ``plain``. Traits, knots, domain and parameters are the inner ones too.
    """

    likelihood: Likelihood
    weights: Sequence[float]

    plain = property(attrgetter("likelihood"), doc=Likelihood.plain.__doc__)
    traits, knots, domain = _inner("traits"), _inner("knots"), _inner("domain")
    argument, slope = _inner("argument"), _inner("slope")
    theta, n_free, bounds, names = _inner("theta"), _inner("n_free"), _inner("bounds"), _inner("names")
    with_theta, fix, free, bounded = _changed("with_theta"), _changed("fix"), _changed("free"), _changed("bounded")
    eased, smoothed, margin_loss = _changed("eased"), _with_weights("smoothed"), _with_weights("margin_loss")
    companion = _with_weights("companion")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.likelihood, Likelihood):
            raise TypeError(f"Weighted.likelihood: expected a likelihood, found {type(self.likelihood).__name__}")
        array = np.asarray(self.weights, dtype=float)
        if array.ndim != 1:
            raise ValueError(f"Weighted.weights: expected one weight per sample, found shape {array.shape}")
        if not (np.all(np.isfinite(array)) and np.all(array >= 0.0)):
            raise ValueError("Weighted.weights: expected finite non-negative weights, one is negative or not finite")
        object.__setattr__(self, "weights", tuple(array.tolist()))

    def around(self, likelihood: Likelihood) -> Self:
        """Return another likelihood with the same weights (itself, if it is the one within)."""
        return self if likelihood is self.likelihood else dataclasses.replace(self, likelihood=likelihood)

    @functools.cached_property
    def _w(self) -> Vector:
        """Return the weights as an array."""
        return np.asarray(self.weights, dtype=float)

    def checked(self, n: int) -> Vector:
        """Return the weights if there are n of them."""
        if n != self._w.size:
            raise ValueError(f"Weighted: expected {self._w.size} samples, one per weight, found {n}")
        return self._w

    @property
    def copies(self) -> Vector:
        """The weights, and one for weights below one: such a sample occurs once, with a power of its likelihood."""
        return np.maximum(self._w, 1.0)

    def part(self, rows: Indices) -> Likelihood:
        """Return the inner likelihood with the weights of some of the samples."""
        return dataclasses.replace(self, weights=tuple(self._w[rows]))

    def dual(self, y: Vector) -> Dual | None:
        """Return the dual of the weighted losses, if the inner likelihood has one."""
        inner = self.likelihood.dual(y)
        return None if inner is None else inner.weighted(self.checked(y.size))

    def profile(self, t: Vector) -> Derivatives:
        """Return the weighted loss and its first three derivatives."""
        w, p = self.checked(np.size(t)), self.likelihood.profile(t)
        return Derivatives(w * np.where(w > 0.0, p.loss, 0.0), w * p.gradient, w * p.curvature, w * p.third)

    def curvatures(self, y: Vector, f: Vector, thetas: Matrix) -> Vector:
        """Return the weighted second derivatives."""
        return self.checked(f.size) * self.likelihood.curvatures(y, f, thetas)

    def majorant(self, t: Vector) -> Vector:
        """Return the weighted majorants."""
        return self.checked(np.size(t)) * self.likelihood.majorant(t)

    def matching(self, companion: Likelihood) -> tuple[Likelihood, ...]:
        """Return the matching likelihoods of the inner one, with the same weights."""
        return tuple(self.around(likelihood) for likelihood in self.likelihood.matching(companion.plain))

    def profile_theta(self, t: Vector) -> ThetaDerivatives:
        """Return the weighted derivatives in the free parameters' logarithms."""
        w, p = self.checked(np.size(t)), self.likelihood.profile_theta(t)
        return ThetaDerivatives(w * p.loss, w * p.gradient, w * p.curvature)

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        """Return the weighted expectations."""
        return self.likelihood.expected(y, mean, var).scaled(self.checked(np.size(mean)))

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the weighted derivatives in the free parameters' logarithms."""
        return self.checked(np.size(mean)) * self.likelihood.expected_theta(y, mean, var)


@tilted.register
def _(likelihood: Weighted, t: Vector, var: Vector) -> Tilted:
    """Return the normalisers of one copy of each sample: what inference needs, other than a prediction."""
    w = likelihood.checked(t.size)
    if tilted.dispatch(type(likelihood.plain)) is tilted.dispatch(object):  # no closed form: one pass for all powers
        found = tilted_power(likelihood.plain, t, var, np.minimum(w, 1.0))
        return Tilted(*(np.where(w > 0.0, values, 0.0) for values in vars(found).values()))
    found = tilted(likelihood.plain, t, var)
    few = np.flatnonzero(w < 1.0)
    if few.size:
        one = tilted_power(likelihood.plain, t[few], var[few], w[few])
        for whole, part in zip(vars(found).values(), vars(one).values()):
            whole[few] = np.where(w[few] > 0.0, part, 0.0)
    return found


@tilted_theta.register
def _(likelihood: Weighted, t: Vector, var: Vector) -> Matrix:
    found, w = tilted_theta(likelihood.plain, t, var), likelihood.checked(t.size)
    few = np.flatnonzero(w < 1.0)
    if few.size:
        found[:, few] = tilted_power_theta(likelihood.plain, t[few], var[few], w[few])
    return found


__all__ = ["Weighted"]
