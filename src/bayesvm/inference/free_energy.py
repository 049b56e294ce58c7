r"""The free energy of Gaussians with natural parameters D and :math:`\nu`, and Newton steps towards its minimum.

.. math:: q = \mathcal N(m, V), \quad V = (K^{-1} + D)^{-1}, \quad m = V \nu = K\alpha, \quad \alpha = \nu - D m,

.. math:: F = \sum_i E\ell_i + \tfrac12 \alpha^\top m - \tfrac12 \sum_i D_i v_i + \tfrac12 \ln |I + K D| .

F is stationary where :math:`r_1 = \alpha + g = 0` and :math:`r_2 = D - h = 0`, with :math:`g, h, c, k` the first to
fourth derivative of the expected losses in the mean. Since :math:`\partial_v E\ell = \tfrac12 \partial_m^2 E\ell` and
:math:`\delta v = -S\, \delta D`, :math:`S = V \circ V`, the Newton step solves

.. math:: \bigl[I + \tfrac12 (\mathrm{diag}\, k - \mathrm{diag}(c)\, V \mathrm{diag}(c))\, S\bigr] \delta D
          = -r_2 - c \circ V r_1, \qquad \delta m = V \bigl(-r_1 + \tfrac12 c \circ S\, \delta D\bigr) .

*Correction.* In the parameters D and :math:`\alpha` the mean is linear, :math:`m = K\alpha`, so that of second order
only the expected losses remain, and the variances as functions of D. Where the step leads, the losses are expanded to
second order (their derivatives in the mean are known up to the sixth), and the variances are taken as
:math:`1/\hat v_i = 1/v_i - \delta v_i/v_i^2`, which is exact for a change of the point's own precision. The same
equations are solved once more for the residuals there, without a further factorisation.

The step needs V itself, which the factor gives without a further factorisation: on points with :math:`D_i > 0` it is
:math:`D^{-1} - D^{-1} R D^{-1}`. Points with hardly any precision are left out of S and take the fixed-point step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.expectations import Expected
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.linalg.krylov import minimal_residual
from bayesvm.solvers.newton import times
from bayesvm.typing import Indices, Matrix, Vector

#: Points whose precision is a smaller share of their posterior precision are left out of S.
WEAK = 1e-8
#: Share of its posterior precision above which the covariances of a point are taken from R alone.
STRONG = 1e-6
#: Largest relative change of a variance for which a step is corrected.
FARTHEST = 0.5
#: Largest correction that is taken, relative to the step: a larger one says that the step is too long for it.
SHRINKING = 0.3


@dataclasses.dataclass(frozen=True)
class VariationalGaussian:
    r"""A Gaussian with its free energy."""

    natural: Matrix  #: D and nu; shape (2, n).
    factor: SupportFactor | SignedFactor  #: For D.
    R: Matrix  #: :math:`(K + D^{-1})^{-1}` on the support of the factor.
    #: Coefficients and marginals; shape (n,) each.
    alpha: Vector
    mean: Vector
    var: Vector
    trace: float  #: :math:`\sum_i D_i v_i`.
    expected: Expected  #: Expected losses.

    @classmethod
    def of(
        cls,
        K: Matrix,
        y: Vector,
        likelihood: Likelihood,
        natural: Matrix,
        known: VariationalGaussian | None = None,
        near: float = 0.0,
    ) -> VariationalGaussian:
        """Compute it from its natural parameters, or raise NotPositiveDefiniteError if they leave no proper Gaussian.

        If the marginals are within ``near`` standard deviations of those of ``known``, its expected losses are moved
        (:meth:`~bayesvm.likelihoods.expectations.Expected.moved`); otherwise they are computed.
        """
        D, nu = natural
        factor: SignedFactor | SupportFactor
        if np.any(D < 0.0):
            factor, R, known_marginals = SignedFactor.with_inverse(K, D)
            var, _ = factor.marginals(K, *known_marginals)
        else:
            factor = SupportFactor.of(K, D)
            R, inverse_diagonal = factor.inverse()
            var, _ = factor.marginals(K, inverse_diagonal)
        M = factor.support
        alpha = nu.copy()
        alpha[M] -= R @ times(K, nu)[M]
        mean = times(K, alpha)
        expected = None if known is None else known.moved(mean, var, near)
        if expected is None:
            expected = likelihood.expected(y, mean, var)
        return cls(natural, factor, R, alpha, mean, var, float(D @ var), expected)

    @property
    def terms(self) -> dict[str, float]:
        """Summands of the bound, minus the free energy."""
        return {
            "loss": -float(np.sum(self.expected.loss)),
            "mean": -0.5 * float(self.alpha @ self.mean),
            "spread": 0.5 * self.trace,
            "determinant": -0.5 * self.factor.log_det(),
        }

    @property
    def energy(self) -> float:
        """The free energy."""
        return -sum(self.terms.values())

    @property
    def residual(self) -> float:
        """Largest violation of the stationarity conditions, in units of the standard deviations."""
        e = self.expected
        apart = np.abs(e.gradient + self.alpha) * np.sqrt(self.var)
        wider = np.abs(e.curvature - self.natural[0]) * self.var
        return float(np.max(np.maximum(apart, wider), initial=0.0))

    @property
    def image(self) -> Matrix:
        """Where a full fixed-point (natural-gradient) step leads."""
        e = self.expected
        return np.stack([e.curvature, e.curvature * self.mean - e.gradient])

    def moved(self, mean: Vector, var: Vector, near: float) -> Expected | None:
        """Return the expected losses for marginals that are near its own, None if they are not."""
        shift, change = mean - self.mean, var - self.var
        if np.all(np.abs(shift) < near * np.sqrt(self.var)) and np.all(np.abs(change) < near * self.var):
            return self.expected.moved(shift, change)
        return None

    def newton(self, K: Matrix, *, convex: bool, tol: float) -> Matrix:
        """Return where a Newton step leads, accurate enough for a residual of ``tol`` if that is one step away.

        The step is corrected once for what it leaves of second order, at the cost of a few products with R. With a
        convex loss no precision becomes negative.
        """
        e, D = self.expected, self.natural[0]
        equations = _Equations.of(self)
        change, push, move, response = equations.solved(K, self.alpha + e.gradient, D - e.curvature, tol)
        var = self.var / (1.0 - np.minimum(response / self.var, FARTHEST))
        ahead = e.moved(move, var - self.var)
        r1, r2 = self.alpha + push - D * move + ahead.gradient, D + change - ahead.curvature
        more, further, shift, _ = equations.solved(K, r1, r2, tol)
        if np.max(np.abs(more) * self.var) <= SHRINKING * np.max(np.abs(change) * self.var):
            change, push, move = change + more, push + further, move + shift
        new = D + change
        if convex:
            new = np.maximum(new, 0.1 * np.minimum(D, e.curvature))
        return np.stack([new, self.alpha + push - D * move + new * (self.mean + move)])

    def covariance(self, K: Matrix, x: Vector) -> Vector:
        """Return V x."""
        M = self.factor.support
        x = x.copy()
        x[M] -= self.R @ times(K, x)[M]
        return times(K, x)


@dataclasses.dataclass(frozen=True)
class _Equations:
    """The linear equations of a Newton step at a Gaussian, on the points J that have a precision to speak of."""

    q: VariationalGaussian
    J: Indices
    w: Vector  #: 1/D on J.
    R: Matrix  #: On J.
    squares: Matrix  #: Of the entries of R.
    own: Vector  #: What the diagonal of S lacks.
    strong: (
        bool  #: Whether all points have so much precision that :math:`V = D^{-1} - D^{-1} R D^{-1}` loses no digits.
    )

    @classmethod
    def of(cls, q: VariationalGaussian) -> _Equations:
        """Prepare them."""
        D, M = q.natural[0], q.factor.support
        shares = np.abs(D[M]) * q.var[M]
        used = shares > WEAK
        J, R = M[used], q.R if np.all(used) else q.R[np.ix_(used, used)]
        w = 1.0 / D[J]
        squares = R * R
        strong = J.size == D.size and bool(np.min(shares, initial=1.0) > STRONG)
        return cls(q, J, w, R, squares, q.var[J] ** 2 - w**4 * np.diagonal(squares), strong)

    def covariance(self, K: Matrix, x: Vector) -> Vector:
        """Return V x."""
        return self.w * (x - self.R @ (self.w * x)) if self.strong else self.q.covariance(K, x)

    def spread(self, p: Vector) -> Vector:
        """Return S p on J: off the diagonal V is - w R w."""
        return np.asarray(self.w**2 * (self.squares @ (self.w**2 * p)) + self.own * p)

    def solved(self, K: Matrix, r1: Vector, r2: Vector, tol: float) -> tuple[Vector, Vector, Vector, Vector]:
        """Return the changes of D, of alpha before the response of the mean, of the mean, and of the variances."""
        q, J, w = self.q, self.J, self.w
        e, var = q.expected, q.var[J]
        third, fourth = e.third[J], e.fourth[J]

        def product(p: Vector) -> Vector:
            x = self.spread(p / var)
            pushed = w * third * x
            return np.asarray(p + 0.5 * var * (fourth * x - third * (pushed - w * (self.R @ pushed))))

        change = -r2 - e.third * self.covariance(K, r1)
        right = var * change[J]
        size = float(np.sqrt(right @ right))
        push, response = -r1, np.zeros_like(r1)
        if size > 0.0:
            change[J] = minimal_residual(product, right, tol=min(0.1, max(size, 0.1 * tol / size)), max_iter=20) / var
            response[J] = -self.spread(change[J])
            push[J] -= 0.5 * third * response[J]
        return change, push, self.covariance(K, push), response


__all__ = ["VariationalGaussian"]
