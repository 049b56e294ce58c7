r"""The best Gaussian in the sense of Kullback and Leibler: a lower bound on the evidence (Seeger1999 section 2).

For any Gaussian :math:`q = \mathcal N(m, V)` of the latent values, Seeger1999 (5),

.. math:: -\ln P(D|\theta) \le F = \sum_i E_q\, \ell_i(f_i) + \mathrm{KL}\bigl(q \,\|\, \mathcal N(0, K)\bigr).

The minimum over all Gaussians has :math:`V = (K^{-1} + D)^{-1}` with D diagonal (Sollich1999, end of section 4), so that 2n numbers
parameterise it, and

.. math:: F = \sum_i E\ell_i + \tfrac12 \alpha^\top m - \tfrac12 \sum_i D_i v_i + \tfrac12 \ln |I + K D|, \qquad m = K \alpha,

.. math:: \text{stationary where} \quad D_i = \partial_m^2 E\ell_i, \qquad \alpha_i = -\partial_m E\ell_i .

The expectations are those of :mod:`bayesvm.likelihoods.expectations`; they are smooth in m and v even where the loss has kinks, and so is the
bound as a function of :math:`\theta`.

*Steps.* With the natural parameters D and :math:`\nu = \alpha + D m`, the fixed-point step to :math:`D = E\ell''`,
:math:`\nu = D m - E\ell'` is a natural-gradient step of length one; shorter steps along it decrease F if they are short enough, so the
step is halved while F would rise. Once the steps contract they are mixed (:mod:`bayesvm.inference.mixing`), and a mixed step is taken only if F
falls too.

*Negative precisions.* Where the loss is concave :math:`E\ell''` can be negative: the normalised hinge loss has a concave kink at margin -1.
Such points have :math:`D_i < 0` at the optimum, which :class:`~bayesvm.linalg.signed.SignedFactor` handles; setting them to zero instead would
loosen the bound and bend its gradient. F can then have several minima; a cold call tries several starts and keeps the lowest.

*Gradient.* F is stationary in m and V, so only its explicit derivatives remain:

.. math:: \frac{\partial (-F)}{\partial K} = \tfrac12 \alpha\alpha^\top - \tfrac12 R, \qquad R = (K + D^{-1})^{-1}, \qquad
          \frac{\partial (-F)}{\partial \phi} = -\sum_i E\, \partial_\phi \ell_i .
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.base import Evidence, Factor, Inference, Posterior
from bayesvm.inference.cavities import Marginals
from bayesvm.inference.mixing import AndersonMixer
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.expectations import Expected, require_finite
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import times
from bayesvm.typing import Matrix, Vector

#: Residual below which steps are mixed, and how many earlier steps count.
CONTRACTING = 0.5
DEPTH = 4
#: Shortest step.
SHORTEST = 1e-6
#: Rise of the free energy, relative to its size, that is put down to rounding.
ROUNDING = 1e-13
#: Bounds of two starts that differ by less, in nats, belong to the same optimum.
SAME = 1e-3
#: Tolerance of a start before its free energy is compared with that of others.
ROUGH = 1e-3


@dataclasses.dataclass(frozen=True)
class VariationalEvidence(Evidence):
    """The bound, with what the inner starts found.

    Attributes
    ----------
    bounds : tuple of float
        The bound that each inner start led to, roughly converged, in the order tried; a single entry after a warm start.
    """

    bounds: tuple[float, ...] = ()

    @property
    def multimodal(self) -> bool:
        """Whether two inner starts ended at different optima."""
        return max(self.bounds) - min(self.bounds) > SAME if self.bounds else False


@dataclasses.dataclass(frozen=True)
class _State:
    """Everything that follows from given natural parameters.

    Attributes
    ----------
    natural : array, shape (2, n)
        D and nu.
    factor, marginals, expected : Factor, Marginals, Expected
        The Gaussian, and the expected losses under it.
    energy : float
        F.
    image : array, shape (2, n)
        Where a full step leads.
    residual : float
        Largest violation of the stationarity conditions, in units of the standard deviations.
    """

    natural: Matrix
    factor: Factor
    marginals: Marginals
    expected: Expected
    energy: float
    image: Matrix
    residual: float


@dataclasses.dataclass(frozen=True)
class Variational(Inference):
    """The optimal Gaussian, with any covariance.

    Parameters
    ----------
    tol : float
        Violation of the stationarity conditions at which the optimum counts as found.
    max_iter : int
        Largest number of factorisations per start.
    starts : int
        Starts of a cold call if the loss is not convex (otherwise the optimum is unique and one start is made).
    """

    tol: float = 1e-7
    max_iter: int = 100
    starts: int = 2

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses that are infinite somewhere: so is their expectation under every Gaussian."""
        require_finite(likelihood)

    def infer(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, VariationalEvidence]:
        """Return posterior and bound; ``warm_start`` (2, n) holds D and nu of an earlier call."""
        self.check(likelihood)
        state, spent, bounds = self._begin(K, y, likelihood, warm_start)
        state, status, n_iter = self._descend(K, y, likelihood, state, self.tol)
        q, M = state.marginals, state.factor.support
        terms = _terms(state)
        R = state.factor.matrix()
        R *= 0.5
        dK = np.outer(q.alpha, 0.5 * q.alpha)
        if M.size == y.size:
            dK -= R
        else:
            dK[np.ix_(M, M)] -= R
        dphi = -np.sum(likelihood.expected_theta(y, q.mean, q.var), axis=1)
        posterior = Posterior.of(q.alpha.copy(), state.factor)
        rows, n_iter = np.arange(y.size), n_iter + spent
        value = sum(terms.values())
        latent = state.natural
        bounds = bounds or (value,)
        return posterior, VariationalEvidence(value, terms, rows, dK, dphi, status, latent, n_iter, bounds)

    # -- starts -------------------------------------------------------------------------------------------------------
    def _begin(
        self, K: Matrix, y: Vector, likelihood: Likelihood, warm_start: Vector | None
    ) -> tuple[_State, int, tuple[float, ...]]:
        """Return the state to descend from, the factorisations spent on finding it, and the bounds compared."""
        zero = np.zeros((2, y.size))
        if warm_start is not None and warm_start.shape == zero.shape:
            try:
                return _state(K, y, likelihood, warm_start), 0, ()
            except NotPositiveDefiniteError:  # negative precisions that the new Gram matrix does not bear
                return _state(K, y, likelihood, np.maximum(warm_start, [[0.0], [-np.inf]])), 1, ()
        if likelihood.traits.convex or self.starts == 1:
            return _state(K, y, likelihood, zero), 0, ()
        found, spent = [], 0
        for start in _starts(zero, y, likelihood)[: self.starts]:
            for loss in (likelihood.machine, likelihood):
                state, _, n_iter = self._descend(K, y, loss, _state(K, y, loss, start), ROUGH)
                start = state.natural
                spent += n_iter
            found.append(state)
        best = min(found, key=lambda state: state.energy)
        return best, spent, tuple(-state.energy for state in found)

    # -- steps --------------------------------------------------------------------------------------------------------
    def _descend(
        self, K: Matrix, y: Vector, likelihood: Likelihood, state: _State, tol: float
    ) -> tuple[_State, Status, int]:
        """Take steps that lower the free energy until it is stationary; return the state, how it ended, and the cost."""
        mixer, step, n_iter = AndersonMixer(DEPTH), 1.0, 1
        scale = np.stack([state.marginals.var, np.sqrt(state.marginals.var)])
        while state.residual > tol:
            if n_iter >= self.max_iter:
                return state, Status.MAX_ITER, n_iter
            new = None
            if state.residual < CONTRACTING and step == 1.0:
                mixed = mixer.next((scale * state.natural).ravel(), (scale * state.image).ravel(), 1.0)
                new = _lower(K, y, likelihood, state, mixed.reshape(2, -1) / scale)
                n_iter += 1
            if new is None:
                mixer.forget()
                new = _lower(K, y, likelihood, state, state.natural + step * (state.image - state.natural))
                n_iter += 1
                step = min(1.0, 2.0 * step) if new is not None else 0.5 * step
            if new is not None:
                state = new
            elif step < SHORTEST:
                return state, Status.STALLED, n_iter
        return state, Status.CONVERGED, n_iter


def _starts(zero: Matrix, y: Vector, likelihood: Likelihood) -> list[Matrix]:
    return [zero]


def _lower(K: Matrix, y: Vector, likelihood: Likelihood, state: _State, natural: Matrix) -> _State | None:
    """Return the state with the given parameters if its free energy is not higher, up to rounding."""
    try:
        new = _state(K, y, likelihood, natural)
    except NotPositiveDefiniteError:
        if np.all(natural[0] >= 0.0):
            raise
        return None
    allowed = ROUNDING * (1.0 + abs(state.energy)) * (100.0 if new.residual < state.residual else 1.0)
    return new if new.energy <= state.energy + allowed else None


def _state(K: Matrix, y: Vector, likelihood: Likelihood, natural: Matrix) -> _State:
    """Compute the Gaussian with the given natural parameters, and what its free energy and next step need."""
    D, nu = natural
    factor: Factor = SupportFactor.of(K, D) if np.all(D >= 0.0) else SignedFactor.of(K, D)
    M = factor.support
    alpha = nu.copy()
    alpha[M] -= factor.apply(times(K, nu)[M])
    q = Marginals.of(K, alpha, factor)
    e = likelihood.expected(y, q.mean, q.var)
    energy = float(
        np.sum(e.loss) + 0.5 * (alpha @ q.mean) - 0.5 * np.sum(1.0 - q.rest) + 0.5 * factor.log_det()
    )
    image = np.stack([e.curvature, e.curvature * q.mean - e.gradient])
    apart = np.abs(e.gradient + alpha) * np.sqrt(q.var)
    wider = np.abs(e.curvature - D) * q.var
    residual = float(np.max(np.maximum(apart, wider), initial=0.0))
    return _State(natural, factor, q, e, energy, image, residual)


def _terms(state: _State) -> dict[str, float]:
    """Return the summands of the bound."""
    q = state.marginals
    return {
        "loss": -float(np.sum(state.expected.loss)),
        "mean": -0.5 * float(q.alpha @ q.mean),
        "spread": 0.5 * float(np.sum(1.0 - q.rest)),
        "determinant": -0.5 * state.factor.log_det(),
    }


__all__ = ["Variational", "VariationalEvidence"]
