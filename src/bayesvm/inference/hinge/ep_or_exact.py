r"""Better estimates of the naive evidence: marginal points integrated exactly, or with their couplings kept.

Sollich1999 (8) discards the couplings between marginal points and takes every other point to be on its side of the kink
for certain. Both are coarse: for one point with K = 2, C = 3 the integral is 0.322 and (8) gives 0.527 (0.437 with
``I +``). Here a point is *in doubt* if its kink lies within ``doubt`` posterior standard deviations of its mode.

* Up to three points in doubt, A: the others are replaced by their tangents, a constant or :math:`e^{c y f}`, which is
  exact up to the mass on their other side, and the integral over A is done exactly
  (:mod:`bayesvm.inference.hinge.exact_integral`). With up to three training points nothing is approximated.
* More: expectation propagation, a Gaussian that keeps all couplings and treats every kink by its exact one-dimensional
  moments. It does not converge with sample weights that differ by many orders of magnitude. Beyond the ratio
  :data:`SPREAD` Sollich1999 (8) with ``I +`` takes its place, and the terms of the evidence have the names of
  :class:`~bayesvm.inference.hinge.naive_evidence.NaiveHinge`. The choice depends on the weights alone: (8) is too large
  by tens of nats where many points are marginal, and would attract a search that changed to it wherever expectation
  propagation fails.

Either way :math:`\partial \ln Q/\partial K = \tfrac12 \alpha\alpha^\top - \tfrac12 R` with the posterior mean
:math:`K\alpha` and covariance :math:`K - K R K` of the estimate.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.base import Evidence, Factor, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.inference.ep import EP
from bayesvm.inference.hinge.exact_integral import LARGEST, integrate_hinges
from bayesvm.inference.hinge.mode import HingeMode, hinge_bounds, hinge_mode
from bayesvm.inference.hinge.naive_evidence import NaiveHinge, kappa_slope, log_kappa, marginal_precision
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor
from bayesvm.typing import Indices, Matrix, Vector

#: Ratio of sample weights beyond which expectation propagation is not tried.
SPREAD = 1e4


@dataclasses.dataclass(frozen=True)
class HingeExactOrEP(Inference):
    """Exact integration over up to three points in doubt, expectation propagation otherwise.

    Parameters
    ----------
    exact_up_to : int
        Largest number of points in doubt that are integrated exactly, at most 3; with 0 the Gaussian is always used.
    doubt : float
        Distance from the kink, in posterior standard deviations, up to which a point is in doubt.
    gaussian : EP
        What keeps the couplings of more points.
    """

    exact_up_to: int = LARGEST
    doubt: float = 5.0
    gaussian: EP = dataclasses.field(default_factory=EP)

    def __post_init__(self) -> None:
        if not 0 <= self.exact_up_to <= LARGEST:
            raise ValueError(f"HingeExactOrEP.exact_up_to: expected 0 to {LARGEST}, found {self.exact_up_to}")

    def check(self, likelihood: Likelihood) -> None:
        """Refuse every likelihood but the hinge loss."""
        hinge_bounds(np.ones(1), likelihood.plain)

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; ``warm_start`` is an earlier ``latent``: shares of the bounds, then sites.

        The posterior has the mode, and so the decisions, of the support vector machine, and the estimate's precisions.
        """
        C, bound = hinge_bounds(y, likelihood)
        n = y.size
        share = None if warm_start is None else warm_start[:n]
        mode = hinge_mode(K, y, bound, warm_start=share)
        doubtful = _in_doubt(K, y, mode, self.doubt)
        if doubtful.size > self.exact_up_to and np.max(bound) > SPREAD * np.min(bound):
            return NaiveHinge().infer(K, y, likelihood, warm_start=mode.share)
        factor: Factor
        if doubtful.size <= self.exact_up_to:
            factor, evidence = _exact(K, y, likelihood, mode, doubtful)
        else:
            # not from the mode: how it shares coefficients out among equal rows is arbitrary
            sites = None if warm_start is None or warm_start.size != 3 * n else warm_start[n:].reshape(2, n)
            q, evidence = self.gaussian.infer(K, y, likelihood, warm_start=sites)
            factor = q.factor
        latent = np.concatenate([mode.share, np.ravel(evidence.latent)])
        terms = {**evidence.terms, "kappa": log_kappa(C, bound)}
        dphi = evidence.dphi + kappa_slope(C, bound)
        evidence = dataclasses.replace(evidence, value=sum(terms.values()), terms=terms, dphi=dphi, latent=latent)
        if not mode.status.ok:
            evidence = dataclasses.replace(evidence, status=mode.status)
        return Posterior.of(mode.alpha, factor), evidence


def _in_doubt(K: Matrix, y: Vector, mode: HingeMode, doubt: float) -> Indices:
    """Return the points whose kink is within reach of their fluctuations; all of them if there are few anyway."""
    if y.size <= LARGEST:
        return np.arange(y.size)
    factor = SupportFactor.of(K, marginal_precision(mode))
    near = np.abs(y * mode.f - 1.0) <= doubt * np.sqrt(factor.marginals(K)[0])
    near[mode.marginal] = True
    return np.flatnonzero(near)


def _exact(K: Matrix, y: Vector, likelihood: Likelihood, mode: HingeMode, A: Indices) -> tuple[SupportFactor, Evidence]:
    """Integrate exactly over the points in A, the bounded others being replaced by their tangents."""
    B = np.setdiff1d(mode.bounded, A)
    a = np.zeros_like(y)
    a[B] = mode.bound[B] * y[B]
    f = K @ a
    s = y[A]
    moments = integrate_hinges(s * f[A], s[:, None] * K[np.ix_(A, A)] * s, mode.bound[A])
    a[A] = s * moments.slope
    rows = np.flatnonzero(a) if A.size == 0 else np.union1d(A, B)
    dK = gram_cotangent(a, s[:, None] * moments.precision * s, A, rows)
    terms = {"tangents": float(0.5 * (a[B] @ f[B]) - np.sum(mode.bound[B])), "integral": moments.log_z}
    dC = float(a[B] @ (K @ a)[B] - np.sum(mode.bound[B])) - moments.loss
    dphi = np.full(likelihood.theta.size, dC)
    W, r = np.zeros_like(y), np.maximum(np.diagonal(moments.precision), 0.0)
    W[A] = r / np.maximum(1.0 - np.diagonal(K)[A] * r, 1e-3)  # each point's exact variance, were the others not there
    evidence = Evidence(sum(terms.values()), terms, rows, dK, dphi, mode.status, mode.f, mode.n_iter)
    return SupportFactor.of(K, W), evidence


__all__ = ["HingeExactOrEP"]
