r"""Draws of the posterior of the hinge model.

:math:`P(\theta | D) \propto \mathcal N(f; 0, K) \prod_i e^{-c_i [1 - y_i f_i]_+}` is sampled by elliptical slice
sampling. Steps on the ellipses of the prior alternate with steps on those of a Gaussian approximation
:math:`\mathcal N(K\alpha, V)`, :math:`V = (K^{-1} + W)^{-1}`, with respect to which the posterior is

.. math:: \mathcal N(f; m, V) \prod_i \exp\bigl(-c_i [1 - y_i f_i]_+ - \alpha_i f_i + \tfrac12 W_i (f_i - m_i)^2\bigr),
          \qquad m = K\alpha,

up to a constant: a product over points, without :math:`K^{-1}`. The second kind mixes fast, the first reaches far.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtri

from bayesvm.inference.base import Posterior
from bayesvm.inference.hinge.annealed import hinge_factor, with_nugget
from bayesvm.inference.hinge.elliptical_slice import LogFactor, elliptical_step
from bayesvm.linalg import Cholesky, SupportFactor, cholesky
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class PosteriorDraws:
    r"""Draws of the latent values at the training inputs, made ready for other inputs."""

    coefficients: Matrix  #: :math:`K^{-1} f` of every draw; shape (n, s).
    factor: Cholesky  #: Of K.
    ess: Vector  #: Effective number of independent draws of each latent value; shape (n,).

    def at(self, K_s: Matrix, k_ss: Vector) -> Matrix:
        r"""Return draws at new points, shape (points, s).

        Each is the conditional mean plus the conditional standard deviation times a fixed normal quantile per draw, so
        that the value at a point does not depend on the other points; draws at different points are not joint ones.
        """
        mean = K_s @ self.coefficients
        V = self.factor.half_solve(np.asfortranarray(K_s.T))
        std = np.sqrt(np.maximum(k_ss - np.einsum("ij,ij->j", V, V), 0.0))
        return np.asarray(mean + std[:, None] * spread_normals(mean.shape[1]))


def spread_normals(count: int) -> Vector:
    """Return standard normal quantiles at equal spacing, in a fixed order without any trend."""
    order = np.argsort(np.modf(np.arange(1, count + 1) * 0.5 * (np.sqrt(5.0) - 1.0))[0], kind="stable")
    return np.asarray(ndtri((np.argsort(order) + 0.5) / count))


@dataclasses.dataclass(frozen=True)
class SliceSampling:
    """How much work is spent.

    Parameters
    ----------
    draws : int
        Draws that are kept, over all chains.
    chains : int
        Chains that run at the same time.
    burn_in : int
        Sweeps (a step of each kind) before the first draw is kept.
    thin : int
        Sweeps from one kept draw to the next.
    """

    draws: int = 400
    chains: int = 20
    burn_in: int = 50
    thin: int = 10

    def run(
        self, K: Matrix, y: Vector, bound: Vector, posterior: Posterior, rng: np.random.Generator
    ) -> PosteriorDraws:
        """Sample, beginning at draws of the Gaussian approximation."""
        prior = cholesky(with_nugget(K), jitter=True, what="the Gram matrix")
        approximation = _Approximation.of(K, posterior)
        far, near = hinge_factor(y, bound), approximation.residual(y, bound)
        L, chains = prior.lower(), min(self.chains, self.draws)
        keep = -(-self.draws // chains)
        g = approximation.draw(L, chains, rng)
        kept = np.empty((keep, K.shape[0], chains))
        for sweep in range(self.burn_in + keep * self.thin):
            g, _ = elliptical_step(g, near(g), approximation.draw(L, chains, rng), near, 1.0, rng)
            f = g + approximation.mean[:, None]
            f, _ = elliptical_step(f, far(f), L @ rng.standard_normal(f.shape), far, 1.0, rng)
            g = f - approximation.mean[:, None]
            done = sweep - self.burn_in + 1
            if done > 0 and done % self.thin == 0:
                kept[done // self.thin - 1] = f
        draws = np.moveaxis(kept, 1, 0).reshape(K.shape[0], -1)[:, : self.draws]
        coefficients = prior.solve(np.asfortranarray(draws))
        return PosteriorDraws(coefficients, prior, effective_size(kept))


@dataclasses.dataclass(frozen=True)
class _Approximation:
    """The Gaussian whose ellipses are used, about its mean."""

    mean: Vector
    alpha: Vector
    W: Vector
    K_support: Matrix
    factor: SupportFactor

    @classmethod
    def of(cls, K: Matrix, posterior: Posterior) -> _Approximation:
        factor = posterior.factor
        assert isinstance(factor, SupportFactor)  # the hinge loss is convex
        alpha, W = posterior.coefficients(K.shape[0]), np.zeros(K.shape[0])
        W[factor.support] = factor.curvature
        return cls(K @ alpha, alpha, W, K[:, factor.support], factor)

    def draw(self, L: Matrix, count: int, rng: np.random.Generator) -> Matrix:
        """Return draws of N(0, V): a draw of the prior minus what noisy observations of it explain."""
        f = L @ rng.standard_normal((L.shape[0], count))
        noise = rng.standard_normal((self.factor.support.size, count))
        root = self.factor.root[:, None]
        explained = self.factor.B.solve(np.asfortranarray(root * f[self.factor.support] + noise))
        return np.asarray(f - self.K_support @ (root * explained))

    def residual(self, y: Vector, bound: Vector) -> LogFactor:
        """Return what multiplies the Gaussian, as a function of f - m."""
        hinge = hinge_factor(y, bound)

        def log_factor(g: Matrix) -> Vector:
            return np.asarray(hinge(g + self.mean[:, None]) - self.alpha @ g + 0.5 * (self.W @ (g * g)))

        return log_factor


def effective_size(kept: Matrix) -> Vector:
    """Return the effective number of draws of each quantity; ``kept`` has shape (draws, quantities, chains).

    Autocorrelations are averaged over the chains, the variance between chains included, and summed in pairs while these
    are positive (Geyer1992).
    """
    steps, n, chains = kept.shape
    total = float(steps * chains)
    if steps < 4:
        return np.full(n, total)
    centred = kept - kept.mean(axis=0)
    within = np.mean(np.sum(centred**2, axis=0) / (steps - 1.0), axis=1)
    between = np.var(kept.mean(axis=0), axis=1, ddof=1) if chains > 1 else np.zeros(n)
    plus = np.maximum(within * (steps - 1.0) / steps + between, np.finfo(float).tiny)
    rho = np.ones((steps, n))
    for lag in range(1, steps):
        product = np.sum(centred[lag:] * centred[:-lag], axis=0) / (steps - lag)
        rho[lag] = 1.0 - (within - product.mean(axis=1)) / plus
    pairs = rho[: steps - steps % 2].reshape(-1, 2, n).sum(axis=1)
    alive = np.cumprod(pairs > 0.0, axis=0)
    time = -1.0 + 2.0 * np.sum(np.minimum.accumulate(pairs, axis=0) * alive, axis=0)
    return np.asarray(np.minimum(total / np.maximum(time, 1.0 / np.log10(max(total, 10.0))), total))


__all__ = ["PosteriorDraws", "SliceSampling", "effective_size", "spread_normals"]
