r"""Noise models as distributions, in SciPy's manner.

All regression likelihoods are symmetric and log-concave densities of the residual. What a likelihood gives is its loss,
minus the log-density. Moments and the logarithm of the upper tail follow by quadrature, unless it has closed forms, and
quantiles by Newton's method on the logarithm of the tail, which is concave, so that the steps never oscillate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.likelihoods.quadrature import DROP, RULES, in_blocks
from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Regression

_LOG_2 = float(np.log(2.0))
#: Cuts of the interval over which a tail is integrated, in units of its length.
_CUTS = np.array([0.0, 0.0625, 0.125, 0.25, 0.5, 1.0])

#: Logarithms of tail and density at points t of the given samples.
Curve = Callable[[Vector, Indices], tuple[Vector, Vector]]


def _tail_nodes(noise: Regression, start: Vector, knots: Sequence[float] = ()) -> tuple[Matrix, Matrix]:
    r"""Return nodes x beyond each start and the weights of :math:`\int_s^\infty e^{\ell(s) - \ell(x)} \varphi(x)\, dx`.

    The interval ends where the loss has grown by ``DROP`` or more, by less in half of it; it is cut at the knots of the
    loss and of :math:`\varphi`.
    """
    level, length = noise.profile(start).loss, np.ones_like(start)
    for _ in range(2000):
        near, far = (noise.profile(start + part * length).loss - level >= DROP for part in (0.5, 1.0))
        if np.all(far & ~near):
            break
        length *= np.where(near, 0.5, np.where(far, 1.0, 2.0))
    else:
        raise ValueError(f"{noise!r}: expected a loss that grows without bound, the logarithm of a density")
    ends = start[:, None] + length[:, None] * _CUTS
    inner = np.clip(np.array([*noise.knots, *knots]), ends[:, :1], ends[:, -1:])
    ends = np.sort(np.concatenate([ends, inner], axis=1), axis=1)
    nodes, weights = RULES[0]
    half = 0.5 * np.diff(ends, axis=1)[..., None]
    x = (ends[:, :-1, None] + half * (1.0 + nodes)).reshape(start.size, -1)
    return x, (half * weights).reshape(x.shape) * np.exp(level[:, None] - noise.profile(x).loss)


def noise_average(noise: Regression, function: Callable[[Vector], Vector], knots: Sequence[float] = ()) -> float:
    """Return the mean of an even function of the noise, which is smooth between ``knots`` and those of the noise."""
    x, weight = _tail_nodes(noise, np.zeros(1), knots)
    return float(np.sum(weight * function(x)) / np.sum(weight))


def log_survival(noise: Regression, t: Vector) -> Vector:
    """Return ln P(noise > t) for t >= 0."""

    def block(t: Vector) -> Vector:
        return np.asarray(np.log(np.sum(_tail_nodes(noise, t)[1], axis=1)) - noise.profile(t).loss)

    return in_blocks(block, t.ravel()).reshape(t.shape)


def upper_quantile(curve: Curve, log_tail: Vector, start: Vector, *, max_iter: int = 100) -> Vector:
    r"""Return :math:`t \ge 0` with :math:`\ln P(T > t)` equal to ``log_tail``, for symmetric log-concave densities.

    ``curve`` returns ln P(T > t) and the log-density, given points and the numbers of the samples they belong to.
    ``log_tail`` is at most ln 1/2; ``-inf`` gives ``inf``. ``start`` are first guesses.
    """
    t = np.where(np.isneginf(log_tail), np.inf, np.maximum(start, 0.0))
    t = np.where(log_tail >= -_LOG_2, 0.0, t)
    active = np.flatnonzero(np.isfinite(log_tail) & (log_tail < -_LOG_2))
    for _ in range(max_iter):
        if active.size == 0:
            break
        at = t[active]
        tail, density = curve(at, active)
        new = np.maximum(at + (tail - log_tail[active]) * np.exp(tail - density), 0.0)
        t[active] = new
        active = active[np.abs(new - at) > 4e-15 * at + 1e-13 * np.abs(new)]
    return t


@dataclasses.dataclass(frozen=True)
class NoiseDistribution:
    r"""The distribution of the noise :math:`\delta = y - f` of a regression likelihood.

    The methods are named and behave as those of a frozen distribution of :mod:`scipy.stats`.

    Parameters
    ----------
    likelihood : Regression
        The likelihood; its parameters are in the unit of the noise.

    Notes
    -----
    Distribution function of the soft insensitive model: Thesis (F.1); variance: (2.33). Random numbers are made by
    inverting the distribution function (Thesis appendix F).

    Examples
    --------
    >>> from bayesvm.likelihoods import SoftInsensitive
    >>> noise = SoftInsensitive(10.0, 0.1, 0.3).distribution()
    >>> round(noise.var(), 6)
    0.026785
    """

    likelihood: Regression

    # -- densities ----------------------------------------------------------------------------------------------------
    def logpdf(self, x: Any) -> Vector:
        """Return the logarithm of the density."""
        return -self.likelihood.profile(np.asarray(x, dtype=float)).loss

    def pdf(self, x: Any) -> Vector:
        """Return the density."""
        return np.asarray(np.exp(self.logpdf(x)))

    def logsf(self, x: Any) -> Vector:
        """Return ln P(noise > x)."""
        x = np.asarray(x, dtype=float)
        tail = self.likelihood.log_survival(np.abs(x))
        return np.asarray(np.where(x >= 0.0, tail, np.log1p(-np.exp(np.minimum(tail, -_LOG_2)))))

    def sf(self, x: Any) -> Vector:
        """Return P(noise > x), one minus the distribution function."""
        return np.asarray(np.exp(self.logsf(x)))

    def logcdf(self, x: Any) -> Vector:
        """Return the logarithm of the distribution function."""
        return self.logsf(-np.asarray(x, dtype=float))

    def cdf(self, x: Any) -> Vector:
        """Return the distribution function, Thesis (F.1)."""
        return np.asarray(np.exp(self.logcdf(x)))

    # -- quantiles ----------------------------------------------------------------------------------------------------
    def isf(self, q: Any) -> Vector:
        """Return the point above which the probability is q (nan outside [0, 1])."""
        q = np.asarray(q, dtype=float)
        good = (q >= 0.0) & (q <= 1.0)
        small = np.where(good, np.minimum(q, 1.0 - q), 0.5)
        with np.errstate(divide="ignore"):
            log_tail = np.log(small.ravel())
        start = np.full(log_tail.shape, self.std())
        t = upper_quantile(lambda t, _: (self.likelihood.log_survival(t), self.logpdf(t)), log_tail, start)
        return np.asarray(np.where(good, np.where(q <= 0.5, 1.0, -1.0) * t.reshape(q.shape), np.nan))

    def ppf(self, q: Any) -> Vector:
        """Return the quantile: the point below which the probability is q (nan outside [0, 1])."""
        return -self.isf(q)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval around zero that holds the given probability."""
        end = float(self.isf(0.5 * (1.0 - confidence)))
        return -end, end

    def rvs(self, size: Any = None, random_state: Any = None) -> Vector:
        """Return random numbers; ``random_state`` is a seed or a :class:`numpy.random.Generator`."""
        return self.ppf(np.random.default_rng(random_state).uniform(size=size))

    # -- numbers ------------------------------------------------------------------------------------------------------
    def mean(self) -> float:
        """Return zero."""
        return 0.0

    def median(self) -> float:
        """Return zero."""
        return 0.0

    def var(self) -> float:
        """Return the variance, for the soft insensitive model Thesis (2.33)."""
        return self.likelihood.noise_variance

    def std(self) -> float:
        """Return the standard deviation."""
        return float(np.sqrt(self.var()))

    def entropy(self) -> float:
        """Return the differential entropy in nats, the mean of the loss."""
        return noise_average(self.likelihood, lambda t: -self.logpdf(t))

    def support(self) -> tuple[float, float]:
        """Return the ends of the real line."""
        return -np.inf, np.inf


__all__ = ["NoiseDistribution", "log_survival", "noise_average", "upper_quantile"]
