r"""Level 3: the evidence of a kernel, with its exact derivative in the Gram matrix.

VanGestel2002 (5.3), constants left out as there:

.. math::

    \ln p(D \mid \mathcal H) = \tfrac q2 F \ln\zeta - \tfrac q2 \sum_i \ln(1 + \gamma\lambda_i) - \tfrac12 \ln q d -
    \tfrac12 \ln q (F - d),

with :math:`d = \gamma_{\mathrm{eff}} - 1`; it does not change when the kernel is multiplied by a number. In the letters
of :mod:`~bayesvm.inference.ls_svm.level2` the first two terms are :math:`L_2 + \tfrac q2 F \ln qF`. Let
:math:`\rho = \partial \ln p / \partial d = -\tfrac1{2d} + \tfrac1{2(F - d)}` and
:math:`d_1 = \partial d / \partial\ln\gamma`. Since :math:`L_2' = 0`, gamma moves with the kernel as
:math:`d\ln\gamma = -dL_2' / L_2''`, which multiplies the derivative of :math:`L_2'` in the matrix by
:math:`\kappa = -\rho d_1 / L_2''`. Collecting terms in the basis of eigenvectors, with :math:`e = V (p c)` and
:math:`h = V (p^2 c)` per output,

.. math::

    \frac{\partial \ln p}{\partial G} = V \operatorname{diag}\bigl[-\tfrac q2 \gamma p
    + (\rho - \tfrac q2 \kappa)\, \gamma p^2\bigr] V^\top + \tfrac q2 \tfrac{F\gamma}{R}
    \bigl[1 - \kappa (1 - \tfrac uR)\bigr]\, e e^\top + q \kappa \tfrac{F\gamma}{R} \operatorname{sym}(h e^\top).
"""

from __future__ import annotations

import numpy as np

from bayesvm.inference.base import Evidence
from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.level2 import LEAST, LevelTwo, level2
from bayesvm.inference.ls_svm.spectrum import Spectrum, complete_spectrum
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix

#: Below this curvature of level 2, relative to its number of terms, gamma is undetermined and taken as fixed.
FLAT = 1e-12


def _shares(design: Design, gamma_eff: float) -> tuple[float, float]:
    """Return d and F - d, both positive: parameters in use, and what is left to the noise.

    The limits matter for a kernel that is constant over the rows, and for a machine without noise.
    """
    F = design.freedom
    d = max(gamma_eff - float(design.bias), 0.1 * LEAST)
    return d, max(F - d, np.finfo(float).eps * F)


def occam(design: Design, outputs: int, gamma_eff: float) -> float:
    """Return the logarithm of the Occam factor of (5.2), constants left out."""
    used, unused = _shares(design, gamma_eff)
    return float(-0.5 * np.log(outputs * used) - 0.5 * np.log(outputs * unused))


def log_evidence(design: Design, outputs: int, found: LevelTwo) -> float:
    """Return (5.3) at the optimum of level 2; exact if level 2 rests on all eigenvalues."""
    qF = outputs * design.freedom
    return found.value + 0.5 * qF * float(np.log(qF)) + occam(design, outputs, found.gamma_eff)


def level3(K: Matrix, y: Matrix, design: Design) -> tuple[Spectrum, LevelTwo, Evidence]:
    """Return spectrum, hyperparameters and evidence with ``dK`` for a positive semidefinite Gram matrix."""
    spectrum = complete_spectrum(K, y, design)
    found = level2(spectrum)
    q = y.shape[1]
    factor, value = occam(design, q, found.gamma_eff), log_evidence(design, q, found)
    terms, rows, latent = {"fit": value - factor, "occam": factor}, np.arange(design.n), np.array([np.log(found.gamma)])
    evidence = Evidence(value, terms, rows, _cotangent(spectrum, found), np.empty(0), Status.CONVERGED, latent, 1)
    return spectrum, found, evidence


def _cotangent(spectrum: Spectrum, found: LevelTwo) -> Matrix:
    """Return the derivative of the evidence in K; see the module."""
    design, q, V = spectrum.design, spectrum.outputs, spectrum.basis
    F, gamma = design.freedom, found.gamma
    p = 1.0 / (1.0 + gamma * spectrum.values)
    d1 = float(np.sum(p * (1.0 - p)))
    power = spectrum.power
    R = max(float(p @ power) + spectrum.rest, VANISHING)
    u = float((p * (1.0 - p)) @ power)
    used, unused = _shares(design, found.gamma_eff)
    rho = -0.5 / used + 0.5 / unused
    determined = found.inside and found.curvature < -FLAT * F
    kappa = -rho * d1 / found.curvature if determined else 0.0

    diagonal = -0.5 * q * gamma * p + (rho - 0.5 * q * kappa) * gamma * p * p
    if not found.inside and spectrum.trace > 0.0:  # gamma tr G is at the end of its range: d ln gamma = -d tr G / tr G
        diagonal -= (found.slope + rho * d1) / spectrum.trace
    weight = q * F * gamma / R
    e = V @ (p[:, None] * spectrum.targets)
    h = V @ ((p * p)[:, None] * spectrum.targets)
    dK = (V * diagonal) @ V.T
    dK += (0.5 * weight * (1.0 - kappa * (1.0 - u / R))) * (e @ e.T)
    if kappa != 0.0:
        half = (0.5 * weight * kappa) * (h @ e.T)
        dK += half
        dK += half.T
    return design.scaled_gram(dK)


__all__ = ["level3", "log_evidence", "occam"]
