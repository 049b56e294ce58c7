r"""The best Gaussian in the sense of Kullback and Leibler: a lower bound on the evidence (Seeger1999 section 2).

For any Gaussian :math:`q = \mathcal N(m, V)` of the latent values, Seeger1999 (5),

.. math:: -\ln P(D|\theta) \le F = \sum_i E_q\, \ell_i(f_i) + \mathrm{KL}\bigl(q \,\|\, \mathcal N(0, K)\bigr).

The minimum over all Gaussians has :math:`V = (K^{-1} + D)^{-1}` with D diagonal (Sollich1999, end of section 4), so
that 2n numbers parameterise it, and

.. math:: F = \sum_i E\ell_i + \tfrac12 \alpha^\top m - \tfrac12 \sum_i D_i v_i + \tfrac12 \ln |I + K D|, \qquad
          m = K \alpha,

.. math:: \text{stationary where} \quad D_i = \partial_m^2 E\ell_i, \qquad \alpha_i = -\partial_m E\ell_i .

The expectations (:mod:`bayesvm.likelihoods.expectations`) are smooth in m and v even where the loss has kinks, and so
is the bound as a function of :math:`\theta`.

*Steps.* In the natural parameters D and :math:`\nu = \alpha + D m` the fixed-point step to :math:`D = E\ell''`,
:math:`\nu = D m - E\ell'` is a natural-gradient step of length one; shorter steps along it decrease F if they are short
enough, so the step is halved while F would rise. Near the optimum, where these steps merely contract, Newton steps
(:mod:`bayesvm.inference.free_energy`) are tried first, and taken only if F falls too. So F never rises.

*Negative precisions.* Where the loss is concave :math:`E\ell''` can be negative: the normalised hinge loss has a
concave kink at margin -1. Such points have :math:`D_i < 0` at the optimum, which
:class:`~bayesvm.linalg.signed_factor.SignedFactor` handles; setting them to zero instead would loosen the bound and
make its gradient wrong. F can then have several minima: if a cold call ends with a negative precision, it is repeated
from the optimum of the machine's convex loss and from labels pulled to either side, and the lowest minimum is kept.

*Gradient.* F is stationary in m and V, so only its explicit derivatives remain:

.. math:: \frac{\partial (-F)}{\partial K} = \tfrac12 \alpha\alpha^\top - \tfrac12 R, \quad R = (K + D^{-1})^{-1}, \quad
          \frac{\partial (-F)}{\partial \phi} = -\sum_i E\, \partial_\phi \ell_i .
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.base import Evidence, Inference, Posterior, gram_cotangent
from bayesvm.inference.free_energy import VariationalGaussian
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.expectations import require_finite
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

#: Residual below which Newton steps are tried.
CLOSE = 0.5
#: Shortest step.
SHORTEST = 1e-6
#: Rise of the free energy, relative to its size, that is put down to rounding.
ROUNDING = 1e-12
#: Residual below which a step fails to lower the free energy for rounding only; the bound is then right to its square.
ROUNDED = 1e-4
#: Bounds that differ by less, in nats, belong to the same optimum.
SAME = 1e-3
#: Residual to which a further start is followed before it is compared with the first.
ROUGH = 1e-2


@dataclasses.dataclass(frozen=True)
class VariationalEvidence(Evidence):
    """The bound, with what the inner starts found.

    Attributes
    ----------
    bounds : tuple of float
        The bound that each inner start led to, in the order tried (roughly converged but for the one that was kept).
    """

    bounds: tuple[float, ...] = ()

    @property
    def multimodal(self) -> bool:
        """Whether inner starts ended at different optima."""
        return max(self.bounds) - min(self.bounds) > SAME


@dataclasses.dataclass(frozen=True)
class Variational(Inference):
    """The optimal Gaussian, with any covariance.

    Parameters
    ----------
    tol : float
        Violation of the stationarity conditions, in posterior standard deviations, at which the optimum counts as
        found; where rounding permits no better, 1e-4 will do.
    max_iter : int
        Largest number of factorisations per start.
    starts : int
        Largest number of starts of a cold call (one, if the loss is convex or no precision is negative).
    """

    tol: float = 1e-9
    max_iter: int = 200
    starts: int = 2

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses that are infinite somewhere: so is their expectation under every Gaussian."""
        require_finite(likelihood)

    def infer(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, VariationalEvidence]:
        """Return posterior and bound; ``warm_start``, shape (2, n), holds D and nu of an earlier call."""
        self.check(likelihood)
        cold = warm_start is None or warm_start.shape != (2, y.size)
        begin = np.zeros((2, y.size)) if cold or warm_start is None else warm_start
        q, status, n_iter = self._descend(K, y, likelihood, begin, self.tol)
        bounds = [-q.energy]
        if cold and not likelihood.traits.convex and np.any(q.natural[0] < 0.0):
            for start in self._others(K, y, likelihood):
                other, _, spent = self._descend(K, y, likelihood, start, ROUGH)
                n_iter += spent
                bounds.append(-other.energy)
                if other.energy < q.energy - SAME:
                    q, status, spent = self._descend(K, y, likelihood, other.natural, self.tol)
                    n_iter += spent
                    bounds[-1] = -q.energy
        return _result(y, likelihood, q, status, n_iter, tuple(bounds))

    def _others(self, K: Matrix, y: Vector, likelihood: Likelihood) -> list[Matrix]:
        """Return further starts: the optimum of the machine's convex loss, then labels pulled hard to either side."""
        convex, _, _ = self._descend(K, y, likelihood.margin_loss, np.zeros((2, y.size)), ROUGH)
        pull = -likelihood.derivatives(y, np.zeros_like(y)).gradient
        far = [np.stack([np.full_like(y, 0.1), size * pull]) for size in (10.0, 0.1, 100.0, 1.0)]
        return [convex.natural, *far][: max(0, self.starts - 1)]

    def _descend(
        self, K: Matrix, y: Vector, likelihood: Likelihood, natural: Matrix, tol: float
    ) -> tuple[VariationalGaussian, Status, int]:
        """Lower the free energy until it is stationary; return the Gaussian, status and number of factorisations."""
        q = _first(K, y, likelihood, natural)
        step, n_iter = 1.0, 1
        near = 0.3 * np.cbrt(tol)  # expected losses are moved with errors of the third order
        while q.residual > tol:
            if n_iter >= self.max_iter:
                return q, Status.MAX_ITER, n_iter
            new = None
            if q.residual < CLOSE:
                new = _lower(K, y, likelihood, q, q.newton(K, convex=likelihood.traits.convex, tol=tol), near)
                n_iter += 1
            if new is None:
                new = _lower(K, y, likelihood, q, q.natural + step * (q.image - q.natural), near)
                n_iter += 1
                step = min(1.0, 2.0 * step) if new is not None else 0.5 * step
            if new is not None:
                q = new
            elif step < SHORTEST or q.residual < ROUNDED:
                return q, Status.CONVERGED if q.residual < ROUNDED else Status.STALLED, n_iter
        return q, Status.CONVERGED, n_iter


def _first(K: Matrix, y: Vector, likelihood: Likelihood, natural: Matrix) -> VariationalGaussian:
    """Return the Gaussian to start from; negative precisions that the Gram matrix does not bear are set to zero."""
    try:
        return VariationalGaussian.of(K, y, likelihood, natural)
    except NotPositiveDefiniteError:
        if np.all(natural[0] >= 0.0):
            raise
        return VariationalGaussian.of(K, y, likelihood, np.stack([np.maximum(natural[0], 0.0), natural[1]]))


def _lower(
    K: Matrix, y: Vector, likelihood: Likelihood, q: VariationalGaussian, natural: Matrix, near: float
) -> VariationalGaussian | None:
    """Return the Gaussian with the given parameters if its free energy is not higher, up to rounding."""
    try:
        new = VariationalGaussian.of(K, y, likelihood, natural, q, near)
    except NotPositiveDefiniteError:
        if np.all(natural[0] >= 0.0):
            raise
        return None
    rounding = ROUNDING * (1.0 + abs(q.energy))
    if new.residual < q.residual:
        return new if new.energy <= q.energy + rounding else None
    return new if new.energy < q.energy - rounding else None


def _result(
    y: Vector, likelihood: Likelihood, q: VariationalGaussian, status: Status, n_iter: int, bounds: tuple[float, ...]
) -> tuple[Posterior, VariationalEvidence]:
    """Return posterior and bound with its cotangents."""
    terms, rows = q.terms, np.arange(y.size)
    dK = gram_cotangent(q.alpha, q.R.T.copy(), q.factor.support, rows)  # R is symmetric, in Fortran order
    dphi = -np.sum(likelihood.expected_theta(y, q.mean, q.var), axis=1)
    evidence = VariationalEvidence(sum(terms.values()), terms, rows, dK, dphi, status, q.natural, n_iter, bounds)
    return Posterior.of(q.alpha.copy(), q.factor), evidence


__all__ = ["Variational", "VariationalEvidence"]
