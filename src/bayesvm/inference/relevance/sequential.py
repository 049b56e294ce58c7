r"""Sequential maximisation of the evidence of a relevance vector machine: add, re-estimate, delete.

Seen from one basis function :math:`\varphi`, with all others as they are, the evidence as a function of its precision a is

.. math:: \tfrac12 \Bigl[ \ln \frac{a}{a + s} + \frac{q^2}{a + s} \Bigr], \qquad
          s = \varphi^\top C^{-1} \varphi, \quad q = \varphi^\top C^{-1} \hat t,

C without :math:`\varphi` (Tipping and Faul 2003). If :math:`q^2 > s` it has its maximum at :math:`a = s^2/(q^2 - s)`, otherwise at
infinity: the function drops out. In the coordinates of :mod:`~bayesvm.inference.relevance.level1` an active function is to be
deleted if :math:`v_i^2 \le \Sigma_{ii} (1 - \Sigma_{ii})`.

Problem: maximise :math:`\ln Z` over all precisions, infinity included, and over the parameters of the likelihood.
Method: from the empty model (or a given one), add the function with the largest gain; re-estimate all active precisions and the
noise together by quasi-Newton steps with the exact gradient; delete what should be infinite; repeat. Every change is kept only if
the evidence rises, so that the approximation of the gains for a loss that is not quadratic can mislead the order, not the end.
Stop: no addition promises more than ``tol`` nats, and the active precisions have converged.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.relevance.level1 import WeightPosterior, weight_posterior
from bayesvm.inference.relevance.level2 import active_evidence, basis_cotangent
from bayesvm.likelihoods.base import Likelihood
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Logarithms of precisions stay within this distance of zero.
WIDEST = 60.0
#: A function whose norm lies in the span of the active ones up to this share adds nothing but rounding errors.
INSIDE = 1e-10
#: Quasi-Newton steps after an addition, and at the end.
FEW, MANY = 4, 200


@dataclasses.dataclass(frozen=True)
class RelevanceStart:
    """From where to begin: active functions, logarithms of their precisions, logarithms of the likelihood's parameters."""

    active: Indices
    log_precision: Vector
    phi: Vector


@dataclasses.dataclass(frozen=True)
class Relevance:
    r"""A relevance vector machine at an optimum of its evidence.

    Attributes
    ----------
    active : array of int, shape (m,)
        Columns of the basis with a finite precision, increasing.
    precision : array, shape (m,)
        Their precisions (the papers' :math:`\alpha_i`, the thesis' :math:`A_i`).
    weights : array, shape (m,)
        Posterior means of their weights.
    covariance : array, shape (m, m)
        Posterior covariance of the weights.
    likelihood : Likelihood
        With its learnt parameters.
    log_evidence : float
        :math:`\ln P(D | a, \phi)`.
    cotangent : array, shape (n, m)
        Its derivative in the active columns of the basis.
    status : Status
        Whether the search ended by its own rule.
    n_iter : int
        Additions that were tried.
    """

    active: Indices
    precision: Vector
    weights: Vector
    covariance: Matrix
    likelihood: Likelihood
    log_evidence: float
    cotangent: Matrix
    status: Status
    n_iter: int

    @property
    def start(self) -> RelevanceStart:
        """From where a later search at neighbouring basis functions may begin."""
        return RelevanceStart(self.active, np.log(self.precision), self.likelihood.theta)


@dataclasses.dataclass(frozen=True)
class _Model:
    """Active columns with their precisions and the posterior there."""

    active: Indices
    log_precision: Vector
    likelihood: Likelihood
    post: WeightPosterior

    @property
    def value(self) -> float:
        return self.post.log_evidence

    @property
    def weights(self) -> Vector:
        return self.post.v * np.exp(-0.5 * self.log_precision)


@dataclasses.dataclass(frozen=True)
class SequentialRelevance:
    """Options of the sequential maximisation.

    Parameters
    ----------
    tol : float
        Gain in nats that an addition must promise, and by which the evidence must rise to keep it.
    max_iter : int
        Largest number of additions that are tried.
    """

    tol: float = 1e-3
    max_iter: int = 1000

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses without a second derivative everywhere."""
        if not (likelihood.traits.convex and likelihood.traits.smoothness >= 2):
            raise IncompatibleError(
                f"a relevance vector machine cannot treat {type(likelihood).__name__}: it needs a convex loss with a "
                "continuous second derivative"
            )

    def maximize(
        self, basis: Matrix, y: Vector, likelihood: Likelihood, start: RelevanceStart | None = None
    ) -> Relevance:
        """Maximise the evidence over precisions and the likelihood's parameters.

        Parameters
        ----------
        basis : array, shape (n, k)
            All basis functions at the training inputs, one per column.
        y : array, shape (n,)
            Labels -1/+1 or targets.
        likelihood : Likelihood
            Its free parameters are learnt.
        start : RelevanceStart, optional
            The optimum for a similar basis. The evidence has many local optima in the precisions: the start decides which
            of them is followed.
        """
        self.check(likelihood)
        squares = np.square(basis)
        model = self._begin(basis, y, likelihood, start)
        tried = np.zeros(basis.shape[1], dtype=bool)
        rounds, settled = 0, model.active.size == 0
        status = Status.MAX_ITER
        while rounds < self.max_iter:
            gain, precision = _additions(basis, squares, model)
            gain[tried] = 0.0
            best = int(np.argmax(gain))
            if gain[best] <= self.tol:
                if settled:
                    status = Status.CONVERGED
                    break
                model, settled = self._pruned(basis, y, self._settled(basis, y, model, MANY)), True
                continue
            rounds += 1
            grown = self._with(basis, y, model, best, float(np.log(precision[best])))
            grown = self._pruned(basis, y, self._settled(basis, y, grown, FEW))
            if grown.value > model.value + 0.1 * self.tol:
                model, settled = grown, False
                tried[:] = False
            else:
                tried[best] = True
        return self._result(model, y, status, rounds)

    # -- models -------------------------------------------------------------------------------------------------------
    def _begin(self, basis: Matrix, y: Vector, likelihood: Likelihood, start: RelevanceStart | None) -> _Model:
        if start is None:
            none = np.empty(0, dtype=np.intp)
            return self._model(basis, y, none, np.empty(0), likelihood, None)
        given = likelihood.with_theta(start.phi)
        first = self._model(basis, y, start.active, start.log_precision, given, None)
        return self._pruned(basis, y, self._settled(basis, y, first, FEW))

    @staticmethod
    def _model(
        basis: Matrix, y: Vector, active: Indices, log_precision: Vector, likelihood: Likelihood, weights: Vector | None
    ) -> _Model:
        post = weight_posterior(basis[:, active], y, likelihood, np.exp(log_precision), weights)
        return _Model(active, log_precision, likelihood, post)

    def _with(self, basis: Matrix, y: Vector, model: _Model, column: int, log_precision: float) -> _Model:
        """Return the model with one more function."""
        active = np.append(model.active, column)
        logs = np.append(model.log_precision, np.clip(log_precision, -WIDEST, WIDEST))
        return self._model(basis, y, active, logs, model.likelihood, np.append(model.weights, 0.0))

    def _pruned(self, basis: Matrix, y: Vector, model: _Model) -> _Model:
        """Return the model without the functions whose precision has its optimum at infinity."""
        while model.active.size:
            Sigma = np.diagonal(model.post.factor.inverse())
            surplus = model.post.v**2 - Sigma * (1.0 - Sigma)
            worst = int(np.argmin(surplus))
            if surplus[worst] > 0.0 and model.log_precision[worst] < WIDEST:
                break
            keep = np.arange(model.active.size) != worst
            smaller = self._model(
                basis, y, model.active[keep], model.log_precision[keep], model.likelihood, model.weights[keep]
            )
            if smaller.value < model.value - 1e-9 * (1.0 + abs(model.value)):
                break
            model = smaller
        return model

    def _settled(self, basis: Matrix, y: Vector, model: _Model, steps: int) -> _Model:
        """Return the model after some quasi-Newton steps in all active precisions and the likelihood's parameters."""
        m = model.active.size
        phi = basis[:, model.active]
        if m + model.likelihood.theta.size == 0:
            return model
        low, high = np.full(m, -WIDEST), np.full(m, WIDEST)
        bounds = np.concatenate([np.column_stack([low, high]), model.likelihood.bounds.reshape(-1, 2)])
        weights = model.weights

        def cost(x: Vector) -> tuple[float, Vector]:
            nonlocal weights
            likelihood = model.likelihood.with_theta(x[m:])
            post = weight_posterior(phi, y, likelihood, np.exp(x[:m]), weights)
            weights = post.v * np.exp(-0.5 * x[:m])
            found = active_evidence(post, y, likelihood)
            return -found.value, -found.gradient

        x0 = np.concatenate([model.log_precision, model.likelihood.theta])
        result = minimize(
            cost, x0, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps, "ftol": 1e-10, "gtol": 1e-5}
        )
        x = np.asarray(result.x)
        new = self._model(basis, y, model.active, x[:m], model.likelihood.with_theta(x[m:]), weights)
        return new if new.value > model.value else model

    @staticmethod
    def _result(model: _Model, y: Vector, status: Status, rounds: int) -> Relevance:
        order = np.argsort(model.active, kind="stable")
        root = np.exp(0.5 * model.log_precision)
        found = active_evidence(model.post, y, model.likelihood)
        cotangent = basis_cotangent(model.post, found.covariance, root)
        covariance = found.covariance / root[:, None] / root
        return Relevance(
            model.active[order],
            np.exp(model.log_precision[order]),
            model.weights[order],
            covariance[np.ix_(order, order)],
            model.likelihood,
            found.value,
            cotangent[:, order],
            model.post.status if not model.post.status.ok and status.ok and model.active.size else status,
            rounds,
        )


def _additions(basis: Matrix, squares: Matrix, model: _Model) -> tuple[Vector, Vector]:
    """Return the gain in nats that each inactive function promises, and the precision at which it is reached."""
    d = model.post.derivatives
    norm = d.curvature @ squares
    V = model.post.factor.half_solve((model.post.psi * d.curvature[:, None]).T @ basis)
    s = norm - np.einsum("mk,mk->k", V, V)
    q = -(d.gradient @ basis)
    usable = (s > INSIDE * norm) & (q * q > s)
    usable[model.active] = False
    s, square = np.where(usable, s, 1.0), np.where(usable, q * q, 2.0)
    gain = np.where(usable, 0.5 * ((square - s) / s + np.log(s / square)), 0.0)
    return gain, np.where(usable, s * s / (square - s), np.inf)


__all__ = ["Relevance", "RelevanceStart", "SequentialRelevance"]
