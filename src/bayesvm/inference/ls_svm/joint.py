r"""Level 2 as a function of the Gram matrix and of gamma together, by one Cholesky factorisation.

:math:`L_2(K, \ln\gamma)` of :mod:`~bayesvm.inference.ls_svm.level2`, maximised over kernel and gamma at once, needs no
eigenvalues: with G the Gram matrix in the complement of s, c the targets there and :math:`A = (G + I/\gamma)^{-1}`,

.. math:: \gamma R = \operatorname{tr} c^\top A c, \qquad \sum_i \ln(1 + \gamma\lambda_i) = \ln |I + \gamma G|, \qquad
          d = n - 1 - \operatorname{tr} A / \gamma .

Its maximum lies close to that of the evidence of level 3, from which only the slowly varying Occam factor is missing;
the search begins here, at a fraction of the cost per step. Gamma is given relative to the matrix,
:math:`g = \ln(\gamma \operatorname{tr} G / F)`, so that one range serves kernels of every scale.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.base import Evidence
from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.spectrum import CONSTANT
from bayesvm.linalg.cholesky import Cholesky, cholesky, scaled_plus_products
from bayesvm.linalg.eigen import Complement
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
class _Joint:
    """The matrix C = G + I/gamma in the complement, factored, and the terms of level 2."""

    complement: Complement | None
    factor: Cholesky
    c: Matrix
    trace: float  #: Of G; zero for a kernel that is constant over the rows.
    gamma: float

    @classmethod
    def of(cls, K: Matrix, y: Matrix, design: Design, relative: float) -> _Joint:
        """Centre and factor."""
        complement = Complement.of(design.root) if design.bias else None
        C, c = design.scaled_gram(K), design.scaled(y)
        C, c = (np.array(C), c) if complement is None else (complement.compress(C), complement.project(c))
        trace, whole = float(np.trace(C)), float(design.counts @ np.diagonal(K))
        trace = trace if trace > CONSTANT * whole else 0.0
        gamma = float(np.exp(relative)) * design.freedom / (trace or max(whole, np.finfo(float).tiny))
        C[np.diag_indices(design.size)] += 1.0 / gamma
        factor = cholesky(C, overwrite=True, what="K + I/gamma (is the kernel positive definite?)")
        return cls(complement, factor, c, trace, gamma)

    def terms(self, quadratic: float, design: Design) -> dict[str, float]:
        """Return the two terms of level 2, given gamma R."""
        (m, q), F = self.c.shape, design.freedom
        log_terms = m * float(np.log(self.gamma)) + self.factor.log_det()
        fit = 0.5 * q * F * float(np.log(q * F * self.gamma) - np.log(quadratic))
        return {"fit": fit, "determinant": -0.5 * q * log_terms}


def joint_value(K: Matrix, y: Matrix, design: Design, relative: float) -> float:
    """Return the value of :func:`joint_evidence` alone, at a third of its cost."""
    joint = _Joint.of(K, y, design, relative)
    half = joint.factor.half_solve(np.asfortranarray(joint.c))
    return sum(joint.terms(max(float(np.vdot(half, half)), VANISHING), design).values())


def joint_evidence(K: Matrix, y: Matrix, design: Design, relative: float) -> Evidence:
    r"""Return :math:`L_2 + \tfrac q2 F \ln qF` with ``dK``, and ``dphi`` the derivative in ``relative``, which is g.

    ``latent`` holds :math:`\ln\gamma` and the effective number of parameters, (4.4).
    """
    joint = _Joint.of(K, y, design, relative)
    (m, q), F, c, gamma = joint.c.shape, design.freedom, joint.c, joint.gamma
    A = joint.factor.inverse()
    a = A @ c
    quadratic = max(float(np.vdot(c, a)), VANISHING)  # gamma R
    d = m - float(np.trace(A)) / gamma
    slope = 0.5 * q * (F * (1.0 - float(np.vdot(a, a)) / (gamma * quadratic)) - d)

    A = scaled_plus_products(A, -0.5 * q, a, 0.5 * q * F / quadratic)
    if joint.trace > 0.0:  # d ln gamma = -d trace / trace at fixed relative gamma
        A[np.diag_indices(m)] -= slope / joint.trace
    dG = A if joint.complement is None else joint.complement.embed(A)
    terms, rows = joint.terms(quadratic, design), np.arange(design.n)
    dK, latent = design.scaled_gram(dG), np.array([np.log(gamma), d + float(design.bias)])
    return Evidence(sum(terms.values()), terms, rows, dK, np.array([slope]), Status.CONVERGED, latent, 1)


__all__ = ["joint_evidence", "joint_value", "relative_gamma", "relative_range"]
