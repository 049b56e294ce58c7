r"""What normalises the model: the prior average of :math:`N(\theta)^n`, Sollich1999 (4).

.. math:: \mathcal N = \Bigl\langle N(\theta)^n \Bigr\rangle_{Q(\theta)}, \qquad
          N(\theta) = \sum_j \omega_j\, \nu(\theta(x_j)), \qquad
          \nu(\theta) = \kappa(C) \bigl\{ e^{-C [1 - \theta]_+} + e^{-C [1 + \theta]_+} \bigr\},

where the nodes :math:`x_j` with weights :math:`\omega_j` stand for the input density Q(x): the training inputs
(footnote 4 of the paper), some of them, or draws of Q(x). The average is over draws :math:`\theta = L z` of the prior
at the nodes, with the same z for all hyperparameters (common random numbers), so that the estimate is a smooth function
of them. Its gradient is taken through the draws, :math:`\bar L = \bar\theta z^\top`, and the Cholesky factor.

For large n the average is dominated by functions that the prior hardly ever draws. The draws then begin at Gaussians
close to the target :math:`Q(\theta) N^n(\theta)`, the effective prior of the model
(:mod:`bayesvm.inference.hinge.proposal`), and are annealed towards it; value and error follow from the weights of the
paths, and the gradient is the average of :math:`n\, \partial \ln N(L z)` over the target.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import logsumexp

from bayesvm.inference.hinge.annealed import (
    NUGGET,
    AnnealedEstimate,
    Annealing,
    combined,
    pooled,
    scatter_of_logs,
    systematic,
    with_nugget,
)
from bayesvm.inference.hinge.elliptical_slice import LogFactor, elliptical_step
from bayesvm.inference.hinge.proposal import Proposal, proposal_factor, proposals
from bayesvm.linalg import cholesky
from bayesvm.linalg.cholesky_pullback import cholesky_pullback
from bayesvm.typing import Matrix, Vector


def log_nu(f: Matrix, C: float) -> Matrix:
    r"""Return :math:`\ln \nu(f)`; :math:`\nu \le 1`, with equality for :math:`|f| = 1`."""
    a = np.abs(f)
    gap = np.maximum(1.0 - a, 0.0)
    return np.asarray(-C * gap + np.log1p(np.exp(-C * (1.0 + a - gap))) - np.log1p(np.exp(-2.0 * C)))


def rejection(f: Matrix, C: float) -> Matrix:
    r"""Return :math:`1 - \nu(f)`, the probability of no decision."""
    return np.asarray(np.maximum(-np.expm1(log_nu(f, C)), 0.0))


@dataclasses.dataclass(frozen=True)
class NormalizerEstimate:
    r"""Estimate of :math:`\ln \overline{N^n}`."""

    #: The estimate and its Monte Carlo standard error.
    value: float
    error: float
    ess: float  #: Effective number of draws.
    dK: Matrix  #: Derivative in the Gram matrix of the nodes; shape (m, m).
    dC: float  #: Derivative in ln C.


@dataclasses.dataclass(frozen=True)
class Normalizer:
    r"""Monte Carlo estimate of :math:`\ln \overline{N^n}`.

    Parameters
    ----------
    weights : array, shape (m,)
        :math:`\omega_j`, summing to one.
    count : float
        n, the number of training samples (the sum of their weights).
    annealing : Annealing
        Draws, and temperatures if n is large.
    seed : int
        Of the common random numbers.
    """

    weights: Vector
    count: float
    annealing: Annealing = dataclasses.field(default_factory=Annealing)
    seed: int = 0

    def estimate(self, K: Matrix, C: float, *, gradient: bool = True) -> NormalizerEstimate:
        """Return the estimate for the Gram matrix of the nodes and C."""
        factor = cholesky(with_nugget(K), jitter=True, what="the Gram matrix of the normaliser's nodes")
        L = factor.lower()
        result = self._sampled(L, C)
        if not gradient:
            return NormalizerEstimate(result.log_mean, result.error, result.ess, np.zeros_like(K), 0.0)
        pull, dC = self._slopes(result.f, C)
        z = factor.half_solve(np.asfortranarray(result.f))
        dK = cholesky_pullback(factor, (pull * result.weights) @ z.T)
        dK[np.diag_indices_from(dK)] += NUGGET * float(np.trace(dK)) / dK.shape[0]
        return NormalizerEstimate(result.log_mean, result.error, result.ess, dK, float(dC @ result.weights))

    def _sampled(self, L: Matrix, C: float) -> AnnealedEstimate:
        """Return draws of the prior, or paths from proposals in independent groups whose scatter tells the error."""
        rng = np.random.default_rng(self.seed)
        if self.annealing.resample == 0.0:
            return self.annealing.run(L, self.log_factor(C), rng)
        chosen = proposals(L, C, self.count, self.weights)
        log_factor = proposal_factor(self.log_factor(C), chosen)
        part = dataclasses.replace(self.annealing, paths=self.annealing.paths // len(chosen))
        runs = [_paths_from(proposal, part, log_factor, own) for proposal, own in zip(chosen, rng.spawn(len(chosen)))]
        return pooled([combined(group) for group in zip(*runs)])

    def log_factor(self, C: float) -> LogFactor:
        r"""Return :math:`n \ln N` of draws in columns."""
        floor = float(np.exp(-2.0 * C))
        log_kappa = -float(np.log1p(floor))

        def log_factor(f: Matrix) -> Vector:
            a = np.abs(f)
            inside = a < 1.0
            a -= 1.0
            np.abs(a, out=a)
            a *= -C
            E = np.exp(a, out=a)  # one exponential serves both labels, inside the gap and outside
            with np.errstate(divide="ignore", over="ignore"):  # far outside E is zero, and not divided by
                nu = np.where(inside, E + floor / E, 1.0 + floor * E)
            return np.asarray(self.count * (np.log(self.weights @ nu) + log_kappa))

        return log_factor

    def _slopes(self, f: Matrix, C: float) -> tuple[Matrix, Vector]:
        """Return the derivatives of n ln N in f and in ln C, column by column."""
        a = np.abs(f)
        gap = np.maximum(1.0 - a, 0.0)
        near, far = np.exp(-C * gap), np.exp(-C * (1.0 + a))
        scale = self.count / (self.weights @ (near + far))
        pull = self.weights[:, None] * (np.sign(f) * C * (np.where(gap > 0.0, near, 0.0) - far)) * scale
        dC = -C * (self.weights @ (gap * near + (1.0 + a) * far)) * scale
        # far is the other label: its hinge is 1 + |f| everywhere
        return pull, dC + self.count * 2.0 * C / (1.0 + np.exp(2.0 * C))


def _paths_from(
    proposal: Proposal, plan: Annealing, log_factor: LogFactor, rng: np.random.Generator
) -> list[AnnealedEstimate]:
    """Run groups of paths that begin at a Gaussian, and return their states as functions."""
    mean = proposal.mean[:, None]
    runs = plan.run_groups(proposal.root, lambda g: log_factor(g + mean), rng, GROUPS)
    return [dataclasses.replace(run, f=run.f + mean) for run in runs]


#: Independent groups of paths.
GROUPS = 4
#: Paths from the proposals for a search, and for a final estimate.
SEARCH, FINAL = Annealing(400, 8, 2, 2.0, 0.5), Annealing(1600, 16, 2, 2.0, 0.5)
#: Numbers of plain draws of the prior that :func:`planned` tries first.
PLAIN = (1000, 4000)
#: Least effective number of draws that is trusted.
TRUSTED = 50.0


def planned(normalizer: Normalizer, K: Matrix, C: float, tol: float, *, final: bool = False) -> Normalizer:
    """Return the normaliser with the cheapest plan whose error is within ``tol`` nats at K and C, else the last plan.

    Draws of the prior that agree may all have missed what counts: they are used only if the proposals find no more.
    """
    proposed = dataclasses.replace(normalizer, annealing=SEARCH)
    found = proposed.estimate(K, C, gradient=False)
    for paths in PLAIN:
        plain = dataclasses.replace(normalizer, annealing=Annealing(paths))
        estimate = plain.estimate(K, C, gradient=False)
        missed = found.value - estimate.value > 3.0 * np.hypot(found.error, estimate.error) + tol
        if estimate.error <= tol and estimate.ess >= TRUSTED and not missed:
            return plain
    enough = found.error <= tol and found.ess >= TRUSTED
    return dataclasses.replace(normalizer, annealing=FINAL) if final and not enough else proposed


#: Values of C at which a path is checked against the proposals, and the difference in nats that it may have.
CHECKS, APART = 4, 0.5


def normalizer_path(
    normalizer: Normalizer, K: Matrix, C0: float, C: Vector, *, paths: int = 600, moves: int = 2
) -> tuple[Vector, Vector]:
    r"""Return :math:`\ln \overline{N^n}` and its error for increasing C at a fixed product of C and the kernel.

    One population of draws :math:`\theta = (C_0/C)^{1/2} L z` is led along all C, from the smallest, where the latent
    function is large and plain averaging suffices, to the largest; values at neighbouring C share their errors, so the
    curve is smooth. With many samples the population falls behind its target: where estimates from the proposals at a
    few values of C differ from it, they replace it.

    Parameters
    ----------
    normalizer : Normalizer
        Weights, count and seed.
    K : array, shape (m, m)
        Gram matrix of the nodes at ``C0``.
    C0 : float
        Where the kernel is given.
    C : array
        Increasing.
    paths, moves : int
        Draws, and slice sampling moves per value of C.
    """
    L = cholesky(with_nugget(K), jitter=True, what="the Gram matrix of the normaliser's nodes").lower()
    streams = np.random.default_rng([normalizer.seed, 3]).spawn(GROUPS)
    groups = np.array([_one_path(normalizer, L, C0, C, paths // GROUPS, moves, rng) for rng in streams])
    values, errors = np.asarray(logsumexp(groups, axis=0) - np.log(GROUPS)), scatter_of_logs(groups)
    proposed = dataclasses.replace(normalizer, annealing=SEARCH)
    at = np.unique(np.linspace(0, C.size - 1, CHECKS).astype(int))
    checks, check_errors = _pointwise(proposed, K, C0, C[at])
    if np.all(np.abs(checks - values[at]) <= APART + 3.0 * np.hypot(check_errors, errors[at])) and np.max(errors) < 1.0:
        return values, errors
    return _pointwise(proposed, K, C0, C)


def _pointwise(normalizer: Normalizer, K: Matrix, C0: float, C: Vector) -> tuple[Vector, Vector]:
    """Return estimates and errors for every C by itself."""
    found = [normalizer.estimate((C0 / c) * K, float(c), gradient=False) for c in C]
    return np.array([e.value for e in found]), np.array([e.error for e in found])


def _one_path(
    normalizer: Normalizer, L: Matrix, C0: float, C: Vector, paths: int, moves: int, rng: np.random.Generator
) -> Vector:
    """Return the estimates of one population, first led from the prior to the smallest C."""
    scales, out = np.sqrt(C0 / C), np.empty_like(C)
    start = Annealing(paths, 16, moves, 3.0, 0.5)
    first = start.run(scales[0] * L, normalizer.log_factor(float(C[0])), rng)
    g, log_w, log_mean = first.f / scales[0], np.log(first.weights), first.log_mean
    factors = [_scaled(normalizer.log_factor(float(c)), float(scale)) for c, scale in zip(C, scales)]
    for k, here in enumerate(factors):
        if k > 0:
            log_w = log_w + here(g) - factors[k - 1](g)
            log_mean += float(logsumexp(log_w))
        out[k] = log_mean
        g = g[:, systematic(log_w, rng.uniform())]
        value = here(g)
        for _ in range(moves):
            g, value = elliptical_step(g, value, L @ rng.standard_normal(g.shape), here, 1.0, rng)
        log_w = np.full(paths, -np.log(paths))
    return out


def _scaled(log_factor: LogFactor, scale: float) -> LogFactor:
    return lambda g: log_factor(scale * g)


__all__ = ["Normalizer", "NormalizerEstimate", "log_nu", "normalizer_path", "planned", "rejection"]
