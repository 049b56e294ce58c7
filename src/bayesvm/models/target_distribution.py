r"""The predictive distribution of a target: a mixture of noise convolved with Gaussian latent values.

.. math:: p(y) = \sum_j w_j\, p_j(y), \qquad y = m_j + c_j (f_j + \delta_j), \quad f_j \sim \mathcal N(0, v_j),

with the noise :math:`\delta_j` of member j and the calibrated factor :math:`c_j` of its deviations. One member is the
common case: its distribution is symmetric about its mean (:mod:`bayesvm.likelihoods.convolution`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Regression
from bayesvm.likelihoods.convolution import half_width, log_tail
from bayesvm.models.average import AveragedModel, AveragedTargets
from bayesvm.models.calibration import ScaleCalibration
from bayesvm.typing import Indices, Matrix, Vector

#: Steps of the search for a quantile of a mixture, and the last of them, in standard deviations.
STEPS, WIDTH = 100, 1e-11


@dataclasses.dataclass(frozen=True)
class TargetDistribution:
    """Distribution of one output at n rows, in the units used inside.

    Attributes
    ----------
    weights : array, shape (m,)
        Of the members; they add up to one.
    means, variances : arrays, shape (m, n)
        Of the latent values.
    noise : tuple of Regression
        Noise of every member.
    corrections : tuple of ScaleCalibration
        Corrections of the predictive scale.
    """

    weights: Vector
    means: Matrix
    variances: Matrix
    noise: tuple[Regression, ...]
    corrections: tuple[ScaleCalibration, ...]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the distribution at the rows of all parts, which differ in nothing but their rows."""
        means, variances = (np.hstack([getattr(part, name) for part in parts]) for name in ("means", "variances"))
        return dataclasses.replace(parts[0], means=means, variances=variances)

    @property
    def mean(self) -> Vector:
        """Mean of the target."""
        return np.asarray(self.weights @ self.means)

    @property
    def variance(self) -> Vector:
        """Variance of the target."""
        own = [
            c.scale**2 * (var + noise.noise_variance)
            for c, var, noise in zip(self.corrections, self.variances, self.noise, strict=True)
        ]
        return np.asarray(self.weights @ (np.stack(own) + (self.means - self.mean) ** 2))

    def log_density(self, y: Vector) -> Vector:
        """Return the logarithms of the density at given targets."""
        parts = [
            c.log_density(noise, y, mean, var)
            for c, noise, mean, var in zip(self.corrections, self.noise, self.means, self.variances, strict=True)
        ]
        return self._mixed(parts)

    def log_survival(self, y: Vector, side: float = 1.0) -> Vector:
        """Return ln P(target > y), with ``side=-1`` ln P(target < y)."""
        parts = [
            log_tail(noise, side * (y - mean) / c.scale, var)
            for c, noise, mean, var in zip(self.corrections, self.noise, self.means, self.variances, strict=True)
        ]
        return self._mixed(parts)

    def log_two_sided(self, y: Vector) -> Vector:
        """Return the logarithm of twice the smaller tail beyond y: one in the middle, small for surprising targets."""
        if len(self.noise) == 1:  # symmetric
            tail = self.log_survival(self.mean + np.abs(y - self.mean))
        else:
            tail = np.minimum(self.log_survival(y), self.log_survival(y, -1.0))
        return np.asarray(np.minimum(tail + np.log(2.0), 0.0))

    def interval(self, confidence: float) -> tuple[Vector, Vector]:
        """Return the ends of the central interval that holds the target with the given probability."""
        widths = np.stack(
            [
                c.scale * half_width(noise, var, confidence)
                for c, noise, var in zip(self.corrections, self.noise, self.variances, strict=True)
            ]
        )
        low, high = self.means - widths, self.means + widths
        if len(self.noise) == 1:
            return low[0], high[0]
        log_half = float(np.log(0.5 * (1.0 - confidence)))
        upper = self._quantile(log_half, high.min(axis=0), high.max(axis=0), 1.0)
        return -self._quantile(log_half, -low.max(axis=0), -low.min(axis=0), -1.0), upper

    def _quantile(self, log_half: float, low: Vector, high: Vector, side: float) -> Vector:
        """Return t with ln P(side * target > t) equal to ``log_half``, between those of the members.

        Newton's method on the logarithm of the tail, by bisection where a step would leave the bracket; a row that has
        settled is left alone.
        """
        width = WIDTH * np.sqrt(self.variance)
        t, active = 0.5 * (low + high), np.arange(low.size)
        for _ in range(STEPS):
            part, at = self._at(active), t[active]
            tail = part.log_survival(side * at, side)
            above = tail > log_half  # too much is left beyond t
            low, high = np.where(above, at, low), np.where(above, high, at)
            step = at + (tail - log_half) * np.exp(tail - part.log_density(side * at))
            new = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
            t[active] = new
            moving = np.abs(new - at) > width[active]
            if not np.any(moving):
                break
            active, low, high = active[moving], low[moving], high[moving]
        return t

    def _at(self, rows: Indices) -> TargetDistribution:
        """Return the distribution at some of the rows."""
        return dataclasses.replace(self, means=self.means[:, rows], variances=self.variances[:, rows])

    def _mixed(self, parts: list[Vector]) -> Vector:
        """Return the logarithm of the weighted sum of exponentials."""
        if len(parts) == 1:
            return parts[0]
        return np.asarray(logsumexp(np.stack(parts), axis=0, b=self.weights[:, None]))


def target_distributions(model: Any, X: Inputs, corrections: tuple[ScaleCalibration, ...]) -> list[TargetDistribution]:
    """Return the predictive distributions of all outputs of a model at the rows of X.

    Parameters
    ----------
    model : FittedModel
        Of targets, averaged or not.
    X : Inputs
        Standardised.
    corrections : tuple of ScaleCalibration
        Of a model that is not averaged, one per output; the members of an average have their own.
    """
    return _distributions(model, corrections, lambda member: member.latent(X))


def left_out_distributions(model: Any, corrections: tuple[ScaleCalibration, ...]) -> list[TargetDistribution]:
    """Return the predictive distributions of the training targets, each without itself, for models that keep them."""
    return _distributions(model, corrections, lambda member: member.loo_latent())


def _distributions(
    model: Any, corrections: tuple[ScaleCalibration, ...], latent_of: Callable[[Any], tuple[Matrix, Matrix]]
) -> list[TargetDistribution]:
    averaged = isinstance(model, AveragedModel)
    members = model.members if averaged else (model,)
    weights = model.weights if averaged else np.ones(1)
    latent = [latent_of(member) for member in members]
    noise = tuple(member.likelihood.plain for member in members)
    return [
        TargetDistribution(
            weights,
            np.stack([mean[:, k] for mean, _ in latent]),
            np.stack([var[:, k] for _, var in latent]),
            noise,
            tuple(member.calibrations[k] for member in members) if averaged else (corrections[k],),
        )
        for k in range(model.n_outputs)
    ]


def sampled(model: Any, X: Inputs, n_draws: int, rng: np.random.Generator, *, noise: bool) -> Matrix:
    """Return joint draws of the latent functions at the rows of X, or of targets, shape (n, n_draws, q)."""
    if isinstance(model, AveragedTargets):
        return model.sample(X, n_draws, rng, noise=noise)
    draws = model.sample(X, n_draws, rng)
    return np.asarray(draws + model.likelihood.plain.distribution().rvs(draws.shape, rng) if noise else draws)


__all__ = ["TargetDistribution", "left_out_distributions", "sampled", "target_distributions"]
