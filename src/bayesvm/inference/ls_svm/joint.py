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

import numpy as np

from bayesvm.inference.base import Evidence
from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.spectrum import CONSTANT
from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.eigen import Complement
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix

#: Least logarithm of gamma relative to the mean eigenvalue.
LOWEST = -12.0


def relative_range(design: Design) -> tuple[float, float]:
    """Return the range of the logarithm of gamma relative to the mean eigenvalue."""
    return LOWEST, -float(np.log(design.least_noise))


def joint_evidence(K: Matrix, y: Matrix, design: Design, relative: float) -> Evidence:
    r"""Return :math:`L_2 + \tfrac q2 F \ln qF` with ``dK``, and ``dphi`` the derivative in ``relative``, which is g."""
    q, F, m = y.shape[1], design.freedom, design.size
    complement = Complement.of(design.root) if design.bias else None
    C, c = np.array(design.scaled_gram(K)), design.scaled(y)
    if complement is not None:
        C, c = np.array(complement.compress(C)), complement.project(c)
    trace, whole = float(np.trace(C)), float(design.counts @ np.diagonal(K))
    varies = trace > CONSTANT * whole
    gamma = float(np.exp(relative)) * F / (trace if varies else max(whole, np.finfo(float).tiny))
    C[np.diag_indices(m)] += 1.0 / gamma
    factor = cholesky(C, overwrite=True, what="K + I/gamma (is the kernel positive definite?)")
    A = factor.inverse()
    a = A @ c
    quadratic = max(float(np.einsum("ij,ij->", c, a)), VANISHING)  # gamma R
    log_terms = m * float(np.log(gamma)) + factor.log_det()
    fit = 0.5 * q * F * float(np.log(q * F * gamma) - np.log(quadratic))
    d = m - float(np.trace(A)) / gamma
    slope = 0.5 * q * (F * (1.0 - float(np.einsum("ij,ij->", a, a)) / (gamma * quadratic)) - d)

    A *= -0.5 * q
    A += (0.5 * q * F / quadratic) * (a @ a.T)
    if varies:  # d ln gamma = -d trace / trace at fixed relative gamma
        A[np.diag_indices(m)] -= slope / trace
    dG = A if complement is None else complement.embed(A)
    terms, rows = {"fit": fit, "determinant": -0.5 * q * log_terms}, np.arange(design.n)
    dK, latent = design.scaled_gram(dG), np.array([np.log(gamma)])
    return Evidence(sum(terms.values()), terms, rows, dK, np.array([slope]), Status.CONVERGED, latent, 1)


__all__ = ["joint_evidence", "relative_range"]
