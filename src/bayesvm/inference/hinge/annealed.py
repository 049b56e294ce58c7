r"""Annealed importance sampling (Neal2001): integrals over a Gaussian prior, with error bars.

To find :math:`Z = \int \mathcal N(f; 0, K)\, e^{h(f)}\, df`, draws of the prior are led through the targets
:math:`\mathcal N(0, K)\, e^{t_k h}`, :math:`0 = t_0 < \dots < t_T = 1`, by elliptical slice sampling. The weight of a
path, :math:`\ln w = \sum_k (t_k - t_{k-1})\, h(f_{k-1})`, has :math:`\langle w \rangle = Z` exactly, whatever the
number of temperatures; the paths are independent unless they are resampled, so the scatter of their weights tells the
error. With T = 1 this is plain averaging over the prior. At the end the weighted states are a sample of the target.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from bayesvm.inference.hinge.elliptical_slice import LogFactor, elliptical_step
from bayesvm.inference.hinge.mode import hinge_bounds
from bayesvm.inference.hinge.naive_evidence import log_kappa
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.typing import Indices, Matrix, Vector

#: Added to the diagonal of a Gram matrix before drawing, relative to its mean; always, so that draws are smooth in K.
NUGGET = 1e-6


@dataclasses.dataclass(frozen=True)
class AnnealedEstimate:
    r"""Result of annealed importance sampling."""

    log_mean: float  #: Estimate of :math:`\ln Z`.
    error: float  #: Its standard error.
    ess: float  #: Effective number of paths, :math:`(\sum w)^2 / \sum w^2`, since the last resampling.
    f: Matrix  #: Final states; shape (n, s).
    weights: Vector  #: Their weights, summing to one; shape (s,).


@dataclasses.dataclass(frozen=True)
class Annealing:
    r"""How much work is spent.

    Parameters
    ----------
    paths : int
        Paths.
    temperatures : int
        Steps from the prior to the target; 1 is plain averaging over the prior.
    moves : int
        Slice sampling moves at each temperature in between.
    power : float
        Temperatures are :math:`(k/T)^{\text{power}}`: close to the prior, where h varies most, they are dense.
    resample : float
        Paths are resampled when their effective number falls below this share (0.0: never). The estimate stays unbiased
        and scatters far less where h is large, but the paths are then no longer independent, and the stated error, a
        sum over the stages, assumes perfect moves.
    """

    paths: int = 1000
    temperatures: int = 1
    moves: int = 1
    power: float = 2.0
    resample: float = 0.0

    def run(self, L: Matrix, log_factor: LogFactor, rng: np.random.Generator) -> AnnealedEstimate:
        """Sample; ``L`` is the lower factor of the prior covariance. Streams of random numbers do not depend on L."""
        return self.run_groups(L, log_factor, rng, 1)[0]

    def run_groups(
        self, L: Matrix, log_factor: LogFactor, rng: np.random.Generator, groups: int
    ) -> list[AnnealedEstimate]:
        """Sample in independent groups of equal size that share the paths and move at the same time."""
        n, s = L.shape[0], self.paths // groups
        columns = np.arange(groups * s).reshape(groups, s)
        first, *streams = rng.spawn(self.temperatures)
        f = L @ first.standard_normal((n, groups * s))
        value = log_factor(f)
        t = (np.arange(self.temperatures + 1) / self.temperatures) ** self.power
        log_w, log_mean, variance = np.zeros((groups, s)), np.zeros(groups), np.zeros(groups)
        for k in range(1, self.temperatures + 1):
            log_w += (t[k] - t[k - 1]) * value[columns]
            if k == self.temperatures:
                break
            own, kept = streams[k - 1], columns.copy()
            for i in np.flatnonzero(_effective(log_w) < self.resample * s):
                log_mean[i] += float(logsumexp(log_w[i])) - np.log(s)
                variance[i] += 1.0 / float(_effective(log_w[i])) - 1.0 / s
                kept[i] = columns[i, systematic(log_w[i], own.uniform())]
                log_w[i] = 0.0
            if not np.array_equal(kept, columns):
                f, value = f[:, kept.ravel()], value[kept.ravel()]
            for _ in range(self.moves):
                f, value = elliptical_step(f, value, L @ own.standard_normal(f.shape), log_factor, float(t[k]), own)
        total, ess = np.asarray(logsumexp(log_w, axis=1)), _effective(log_w)
        error = np.sqrt(np.maximum(variance + 1.0 / ess - 1.0 / s, 0.0))
        value = log_mean + total - np.log(s)
        weights = np.exp(log_w - total[:, None])
        return [
            AnnealedEstimate(float(value[i]), float(error[i]), float(ess[i]), f[:, columns[i]], weights[i])
            for i in range(groups)
        ]


def _effective(log_w: Matrix) -> Vector:
    """Return the effective number of weighted paths, for every group in a row."""
    w = np.exp(log_w - np.max(log_w, axis=-1, keepdims=True))
    return np.asarray(np.sum(w, axis=-1) ** 2 / np.sum(w * w, axis=-1))


def systematic(log_w: Vector, uniform: float) -> Indices:
    """Return the paths that go on, each about as often as its weight says."""
    w = np.exp(log_w - np.max(log_w))
    edges = np.cumsum(w) / np.sum(w)
    return np.minimum(np.searchsorted(edges, (np.arange(w.size) + uniform) / w.size), w.size - 1)


def combined(parts: Sequence[AnnealedEstimate]) -> AnnealedEstimate:
    """Return the mean of runs for different parts of an integral with equal shares; errors add as squares."""
    values = np.array([p.log_mean for p in parts])
    total = float(logsumexp(values))
    share = np.exp(values - total)
    error = float(np.sqrt(np.sum((share * np.array([p.error for p in parts])) ** 2)))
    weights = np.concatenate([c * p.weights for c, p in zip(share, parts)])
    f = np.concatenate([p.f for p in parts], axis=1)
    return AnnealedEstimate(total - np.log(values.size), error, 1.0 / float(weights @ weights), f, weights)


def pooled(groups: Sequence[AnnealedEstimate]) -> AnnealedEstimate:
    """Return the mean of independent runs of equal size; its error is the larger of the stated one and the scatter."""
    mean = combined(groups)
    scatter = float(scatter_of_logs(np.array([[g.log_mean] for g in groups]))[0])
    return dataclasses.replace(mean, error=max(scatter, mean.error))


def scatter_of_logs(values: Matrix) -> Vector:
    """Return the standard error of the logarithm of a mean, from the logarithms of independent runs (rows).

    The relative error of the mean is at most 1, reached when one run has all the weight; runs that differ by many nats
    know the logarithm far less well than that, and the standard error of the mean of the logarithms says so.
    """
    runs = values.shape[0]
    share = np.exp(values - logsumexp(values, axis=0))
    relative = np.sqrt(np.maximum(np.sum(share**2, axis=0) - 1.0 / runs, 0.0) * runs / (runs - 1.0))
    return np.asarray(np.maximum(relative, np.std(values, axis=0, ddof=1) / np.sqrt(runs)))


def with_nugget(K: Matrix) -> Matrix:
    """Return K with the nugget added to its diagonal."""
    out = np.array(K)
    out[np.diag_indices_from(out)] += NUGGET * float(np.mean(np.diagonal(K)))
    return out


def hinge_factor(y: Vector, bound: Vector) -> LogFactor:
    r"""Return :math:`h(f) = -\sum_i c_i [1 - y_i f_i]_+` for states in columns."""

    def log_factor(f: Matrix) -> Vector:
        slack = y[:, None] * f
        np.subtract(1.0, slack, out=slack)
        np.maximum(slack, 0.0, out=slack)
        return np.asarray(-(bound @ slack))

    return log_factor


def annealed_evidence(
    K: Matrix, y: Vector, likelihood: Likelihood, options: Annealing, rng: np.random.Generator
) -> AnnealedEstimate:
    r"""Return the naive evidence :math:`\ln Q(D)` of Sollich1999 (7), :math:`\kappa` included, and its error."""
    C, bound = hinge_bounds(y, likelihood)
    L = cholesky(with_nugget(K), jitter=True, what="the Gram matrix").lower()
    result = options.run(L, hinge_factor(y, bound), rng)
    return dataclasses.replace(result, log_mean=result.log_mean + log_kappa(C, bound))


__all__ = [
    "NUGGET",
    "AnnealedEstimate",
    "Annealing",
    "annealed_evidence",
    "combined",
    "hinge_factor",
    "pooled",
    "scatter_of_logs",
    "systematic",
    "with_nugget",
]
