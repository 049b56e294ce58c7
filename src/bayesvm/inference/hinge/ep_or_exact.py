r"""Better estimates of the naive evidence: marginal points integrated exactly, or with their couplings kept.

Sollich1999 (8) discards the couplings between marginal points, and takes every other point for safely on its side of the kink. Both
are coarse: for one point with K = 2, C = 3 the integral is 0.322 and (8) gives 0.527 (0.437 with ``I +``). Here a point is *in doubt*
if its kink lies within ``doubt`` posterior standard deviations of its mode.

* Up to three points in doubt, A: the others are replaced by their tangents, a constant or :math:`e^{c y f}`, which is exact up to the
  mass on their other side, and the integral over A is done exactly (:mod:`bayesvm.inference.hinge.exact_integral`). With up to three
  training points nothing is approximated.
* More: expectation propagation, a Gaussian that keeps all couplings and treats every kink by its exact one-dimensional moments. It
  does not settle with sample weights that differ by many orders of magnitude. Beyond the ratio :data:`SPREAD` Sollich1999 (8) with
  ``I +`` takes its place, and the terms of the evidence have the names of :class:`~bayesvm.inference.hinge.naive_evidence.NaiveHinge`. The choice
  depends on the weights alone: (8) is too large by tens of nats where many points are marginal, and a search that changed over to it
  wherever expectation propagation fails would be drawn there.

Either way :math:`\partial \ln Q/\partial K = \tfrac12 \alpha\alpha^\top - \tfrac12 R` with the posterior mean :math:`K\alpha` and covariance
:math:`K - K R K` of the estimate.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.base import Evidence, Factor, Inference, Posterior
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

    def infer(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, Evidence]:
        """Return posterior and evidence.

        The posterior has the mode of the machine (its decisions are those of the support vector machine) and the precisions of
        the estimate. ``warm_start`` is the ``latent`` of an earlier evidence: shares of the bounds, then sites.
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
    var = np.maximum(np.diagonal(K) - factor.explained(K[factor.support]), 0.0)
    near = np.abs(y * mode.f - 1.0) <= doubt * np.sqrt(var)
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
    dK = np.outer(a[rows], 0.5 * a[rows])
    at = np.searchsorted(rows, A)
    dK[np.ix_(at, at)] -= 0.5 * (s[:, None] * moments.precision * s)
    terms = {
        "tangents": float(0.5 * (a[B] @ f[B]) - np.sum(mode.bound[B])),
        "patterns": moments.log_z,
    }
    mean = K @ a
    dC = float(a[B] @ mean[B] - np.sum(mode.bound[B])) - moments.loss
    W = np.zeros_like(y)
    W[A] = _diagonal_precision(K, A, s, moments.precision)
    evidence = Evidence(
        sum(terms.values()), terms, rows, dK, np.full(likelihood.theta.size, dC), mode.status, mode.f, mode.n_iter
    )
    return SupportFactor.of(K, W), evidence


def _diagonal_precision(K: Matrix, A: Indices, s: Vector, precision: Matrix) -> Vector:
    """Return the site precisions that give each point in A its exact variance if the others were away: W = r/(1 - k r)."""
    r = np.clip(np.diagonal(precision), 0.0, None)
    k = np.diagonal(K)[A]
    return np.asarray(r / np.maximum(1.0 - k * r, 1e-3))


__all__ = ["HingeExactOrEP"]
