r"""Level 2 as a function of the Gram matrix and of gamma together, by one Cholesky factorisation.

:math:`L_2(K, \ln\gamma)` of :mod:`~bayesvm.inference.ls_svm.level2`, maximised over kernel and gamma at once, needs no
eigenvalues: with G the Gram matrix in the complement of s, c the targets there and :math:`A = (G + I/\gamma)^{-1}`,

.. math:: \gamma R = \operatorname{tr} c^\top A c, \qquad \sum_i \ln(1 + \gamma\lambda_i) = \ln |I + \gamma G|, \qquad
          d = n - 1 - \operatorname{tr} A / \gamma .

Its maximum lies close to that of the evidence of level 3, from which only the slowly varying Occam factor is missing;
the search begins here, at a fraction of the cost per step. Gamma is given relative to the matrix,
:math:`g = \ln(\gamma \operatorname{tr} G / F)`, so that one range serves kernels of every scale.

No basis of the complement is needed. With s of unit length and :math:`H = I - s s^\top` the matrix
:math:`C = H S K S H + \tau s s^\top + I/\gamma` has s as an eigenvector, with the eigenvalue :math:`\tau + 1/\gamma`,
and is :math:`G + I/\gamma` beside it. It differs from :math:`S K S + I/\gamma` by a symmetric matrix of rank two, its
inverse from A by :math:`s s^\top / (\tau + 1/\gamma)`, and its determinant by that eigenvalue. For :math:`\tau` the
mean eigenvalue of G is taken, which leaves the condition as it is.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.base import Evidence
from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.spectrum import beyond_rounding
from bayesvm.linalg.cholesky import Cholesky, cholesky, scaled_plus_products
from bayesvm.linalg.eigen import triangle_less_both
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix

#: Least logarithm of gamma relative to the mean eigenvalue.
LOWEST = -12.0


def relative_range(design: Design) -> tuple[float, float]:
    """Return the range of the logarithm of gamma relative to the mean eigenvalue."""
    return LOWEST, -float(np.log(design.least_noise))


def relative_gamma(K: Matrix, design: Design, log_gamma: float) -> float:
    """Return the logarithm of gamma relative to the mean eigenvalue of a centred Gram matrix that is not constant."""
    counts = design.counts
    trace = float(counts @ np.diagonal(K))
    if design.bias:
        trace -= float(counts @ (K @ counts)) / design.total
    return log_gamma + float(np.log(trace / design.freedom))


@dataclasses.dataclass(frozen=True)
class Joint:
    r"""The matrix C of the module, factored, and the terms of level 2."""

    design: Design
    factor: Cholesky
    c: Matrix  #: Centred targets.
    trace: float  #: Of G; zero for a kernel that is constant over the rows.
    gamma: float
    along: float  #: Eigenvalue of C along s.

    @classmethod
    def of(cls, K: Matrix, y: Matrix, design: Design, relative: float) -> Joint:
        """Centre and factor; K is overwritten."""
        C, whole = np.ascontiguousarray(design.scaled_gram(K)), float(design.counts @ np.diagonal(K))
        s = design.root / np.sqrt(design.total)
        Ks = C @ s if design.bias else np.zeros(design.n)
        trace = beyond_rounding(float(np.trace(C)) - float(s @ Ks), whole)
        mean = (trace or whole or 1.0) / design.freedom
        gamma = float(np.exp(relative)) / mean
        if design.bias:
            triangle_less_both(C, s, Ks - 0.5 * (float(s @ Ks) + mean) * s)
        C[np.diag_indices(design.n)] += 1.0 / gamma
        factor = cholesky(C, overwrite=True, what="K + I/gamma (is the kernel positive definite?)")
        return cls(design, factor, design.centred(design.scaled(y)), trace, gamma, mean + 1.0 / gamma)

    def value(self) -> float:
        """Return the value of :meth:`evidence` alone, at a third of its cost."""
        half = self.factor.half_solve(np.asfortranarray(self.c))
        return sum(self._terms(max(float(np.vdot(half, half)), VANISHING)).values())

    def _terms(self, quadratic: float) -> dict[str, float]:
        """Return the two terms of level 2, given gamma R."""
        q, m, F = self.c.shape[1], self.design.size, self.design.freedom
        log_det = self.factor.log_det() - (float(np.log(self.along)) if self.design.bias else 0.0)
        fit = 0.5 * q * F * float(np.log(q * F * self.gamma) - np.log(quadratic))
        return {"fit": fit, "determinant": -0.5 * q * (m * float(np.log(self.gamma)) + log_det)}

    def evidence(self) -> Evidence:
        r"""Return :math:`L_2 + \tfrac q2 F \ln qF` with ``dK``, and ``dphi`` the derivative in ``relative``, g.

        ``latent`` holds :math:`\ln\gamma` and the effective number of parameters, (4.4).
        """
        design, gamma, c = self.design, self.gamma, self.c
        q, m, F = c.shape[1], design.size, design.freedom
        A = self.factor.inverse()
        a = A @ c
        quadratic = max(float(np.vdot(c, a)), VANISHING)  # gamma R
        d = m - (float(np.trace(A)) - float(design.bias) / self.along) / gamma
        slope = 0.5 * q * (F * (1.0 - float(np.vdot(a, a)) / (gamma * quadratic)) - d)
        # d ln gamma = -d trace / trace at fixed relative gamma, and the trace of G is that of (I - s s') S K S
        moved = slope / self.trace if self.trace > 0.0 else 0.0
        columns, factors = a, np.full(q, 0.5 * q * F / quadratic)
        if design.bias:
            columns = np.column_stack([a, design.root / np.sqrt(design.total)])
            factors = np.append(factors, 0.5 * q / self.along + moved)
        A = scaled_plus_products(A, -0.5 * q, columns, factors)
        A[np.diag_indices(design.n)] -= moved
        terms, latent = self._terms(quadratic), np.array([np.log(gamma), d + float(design.bias)])
        dphi, rows = np.array([slope]), np.arange(design.n)
        return Evidence(sum(terms.values()), terms, rows, design.scaled_gram(A), dphi, Status.CONVERGED, latent, 1)


__all__ = ["Joint", "relative_gamma", "relative_range"]
