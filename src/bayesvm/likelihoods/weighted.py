"""Powers of a likelihood: sample weights."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Self

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Likelihood, ThetaDerivatives, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected
from bayesvm.likelihoods.tilted import Tilted, TiltedNodes, tilted_nodes
from bayesvm.parameters import Bounds
from bayesvm.typing import Indices, Matrix, Vector


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
    ``plain``. Traits, knots and domain are the inner ones too.
    """

    likelihood: Likelihood
    weights: Sequence[float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.likelihood, Likelihood):
            raise TypeError(f"Weighted.likelihood: expected a likelihood, found {type(self.likelihood).__name__}")
        array = np.asarray(self.weights, dtype=float)
        if array.ndim != 1:
            raise ValueError(f"Weighted.weights: expected one weight per sample, found shape {array.shape}")
        if not (np.all(np.isfinite(array)) and np.all(array >= 0.0)):
            raise ValueError(
                "Weighted.weights: expected finite non-negative weights, found a negative or non-finite one"
            )
        object.__setattr__(self, "weights", tuple(array.tolist()))

    @functools.cached_property
    def _w(self) -> Vector:
        """Return the weights as an array."""
        return np.asarray(self.weights, dtype=float)

    def _check(self, n: int) -> Vector:
        """Return the weights if there are n of them."""
        if n != self._w.size:
            raise ValueError(f"Weighted: expected {self._w.size} samples, one per weight, found {n}")
        return self._w

    # -- weighted -----------------------------------------------------------------------------------------------------
    def dual(self, y: Vector) -> Dual | None:
        """Return the dual of the weighted losses, if the inner likelihood has one."""
        inner = self.likelihood.dual(y)
        return None if inner is None else inner.weighted(self._check(y.size))

    def profile(self, t: Vector) -> Derivatives:
        """Return the weighted loss and its first three derivatives."""
        w = self._check(np.size(t))
        p = self.likelihood.profile(t)
        loss = w * np.where(w > 0.0, p.loss, 0.0)
        return Derivatives(loss, w * p.gradient, w * p.curvature, w * p.third)

    def profile_theta(self, t: Vector) -> ThetaDerivatives:
        """Return the weighted derivatives in the free parameters' logarithms."""
        w = self._check(np.size(t))
        p = self.likelihood.profile_theta(t)
        return ThetaDerivatives(w * p.loss, w * p.gradient, w * p.curvature)

    # -- as the inner likelihood --------------------------------------------------------------------------------------
    @property
    def traits(self) -> Traits:
        """Return the traits of the inner likelihood."""
        return self.likelihood.traits

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the knots of the inner likelihood."""
        return self.likelihood.knots

    @property
    def domain(self) -> tuple[float, float]:
        """Return the domain of the inner likelihood."""
        return self.likelihood.domain

    @property
    def plain(self) -> Likelihood:
        """Return the inner likelihood."""
        return self.likelihood

    @property
    def smoothed(self) -> Likelihood:
        """Return the inner likelihood's smooth companion with the same weights (itself, if there is none)."""
        inner = self.likelihood.smoothed
        return self if inner is self.likelihood else dataclasses.replace(self, likelihood=inner)

    @property
    def machine(self) -> Likelihood:
        """Return the convex loss of the inner likelihood's machine, with the same weights."""
        inner = self.likelihood.machine
        return self if inner is self.likelihood else dataclasses.replace(self, likelihood=inner)

    def part(self, rows: Indices) -> Likelihood:
        """Return the inner likelihood with the weights of some of the samples."""
        return dataclasses.replace(self, weights=tuple(self._w[rows]))

    def eased(self, n: int, enough: int) -> Likelihood:
        """Return the inner likelihood's eased companion with the same weights (itself, if there is none)."""
        inner = self.likelihood.eased(n, enough)
        return self if inner is self.likelihood else dataclasses.replace(self, likelihood=inner)

    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return the margin or the residual."""
        return self.likelihood.argument(y, f)

    def slope(self, y: Vector) -> Vector:
        """Return dt/df."""
        return self.likelihood.slope(y)

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the prediction of the inner likelihood."""
        return self.likelihood.log_predictive(y, mean, var)

    @property
    def copies(self) -> Vector:
        """Return the weights, and one for weights below one: such a sample occurs once, with a power of its likelihood."""
        return np.maximum(self._w, 1.0)

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        """Return the normalisers of one copy of each sample: what inference needs, other than a prediction."""
        found = self.likelihood.tilted(y, mean, var)
        part = np.flatnonzero(self._check(mean.size) < 1.0)
        if part.size:
            nodes = self._part_nodes(y, mean, var, part)
            weak = nodes.moments(var[part], self.slope(y)[part])
            for target, values in zip((found.log_z, found.slope, found.bend), (weak.log_z, weak.slope, weak.bend)):
                target[part] = np.where(self._w[part] > 0.0, values, 0.0)
        return found

    def tilted_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the derivatives of the same in the free parameters' logarithms."""
        found = self.likelihood.tilted_theta(y, mean, var)
        part = np.flatnonzero(self._check(mean.size) < 1.0)
        if part.size and len(found):
            nodes = self._part_nodes(y, mean, var, part)
            values = self.likelihood.profile_theta(self.origin + nodes.x).loss
            found[:, part] = -self._w[part] * nodes.average(values)
        return found

    def _part_nodes(self, y: Vector, mean: Vector, var: Vector, part: Indices) -> TiltedNodes:
        return tilted_nodes(self.likelihood, self.argument(y, mean)[part], var[part], self._w[part])

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        """Return the weighted expectations."""
        return self.likelihood.expected(y, mean, var).scaled(self._check(np.size(mean)))

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the weighted derivatives in the free parameters' logarithms."""
        return self._check(np.size(mean)) * self.likelihood.expected_theta(y, mean, var)

    # -- parameters ---------------------------------------------------------------------------------------------------
    @property
    def theta(self) -> Vector:
        """Return the logarithms of the inner likelihood's free parameters."""
        return self.likelihood.theta

    @property
    def bounds(self) -> Matrix:
        """Return the bounds of ``theta``."""
        return self.likelihood.bounds

    @property
    def names(self) -> tuple[str, ...]:
        """Return one name per entry of ``theta``."""
        return self.likelihood.names

    def with_theta(self, theta: Vector) -> Self:
        """Return a copy whose inner likelihood has the given parameters."""
        return dataclasses.replace(self, likelihood=self.likelihood.with_theta(theta))

    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are not learnt."""
        return dataclasses.replace(self, likelihood=self.likelihood.fix(*names))

    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are learnt."""
        return dataclasses.replace(self, likelihood=self.likelihood.free(*names))

    def bounded(self, **bounds: Bounds) -> Self:
        """Return a copy in which the named parameters are learnt within the given bounds."""
        return dataclasses.replace(self, likelihood=self.likelihood.bounded(**bounds))


__all__ = ["Weighted"]
