r"""Level 2: regularisation and noise from a problem in one number, :math:`\gamma = \zeta/\mu`.

With :math:`p_i = 1/(1 + \gamma\lambda_i)`, :math:`c_i` the targets in the basis of eigenvectors, F = N - 1 (N without
bias) and q outputs that share :math:`\mu` and :math:`\zeta`, the cost :math:`\mathcal J_4` of VanGestel2002 (4.8) is,
up to a constant, :math:`-2/q` times

.. math::

    L_2(\ln\gamma) = -\tfrac q2 F \ln R - \tfrac q2 \sum_i \ln(1 + \gamma\lambda_i), \qquad
    R = \sum_i c_i^2 p_i + c_\perp^2,

because :math:`E_W + \gamma E_D = \tfrac12 \gamma R` (4.13). Here :math:`c_\perp^2` is the part of the targets whose
eigenvalues count as zero. With :math:`u = \sum_i c_i^2 p_i (1 - p_i)` and
:math:`d = \sum_i (1 - p_i) = \gamma_{\mathrm{eff}} - 1`, (4.9) becomes

.. math:: L_2' = \tfrac q2 (F u / R - d).

The maximum need not be unique (VanGestel2002 section 4.2): the derivative is evaluated on a grid that covers the whole
range, every change of its sign is refined, and the best end is kept.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import brentq

from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.spectrum import Spectrum
from bayesvm.typing import Vector

#: Least value of gamma times the sum of the eigenvalues: below it there is not a hundredth of a parameter in use.
LEAST = 1e-2
#: Points of the grid.
GRID = 81


@dataclasses.dataclass(frozen=True)
class LevelTwo:
    r"""Most probable hyperparameters at a given kernel."""

    #: :math:`\gamma_{\mathrm{MP}}`, :math:`\mu_{\mathrm{MP}}` from (4.7), and :math:`\zeta = \gamma\mu`.
    gamma: float
    mu: float
    zeta: float
    gamma_eff: float  #: Effective number of parameters, (4.4); without bias the 1 is missing.
    #: (4.12) and (4.11), summed over outputs.
    E_W: float
    E_D: float
    value: float  #: :math:`L_2` at the optimum.
    #: Its first two derivatives in :math:`\ln\gamma`.
    slope: float
    curvature: float
    #: Whether the optimum lies inside the range; if not, the data show no signal, or no noise, at this kernel.
    inside: bool
    starts: int  #: Number of local maxima that were compared.


def gamma_range(design: Design, trace: float, whole: float) -> tuple[float, float]:
    """Return the range of the logarithm of gamma; it moves with the trace of the centred Gram matrix.

    Where that is zero the kernel is constant over the rows and gamma has no meaning. It moves with the trace before
    centring then, so that its least value leaves the function to the bias.
    """
    trace = trace or whole or 1.0
    low, high = np.log(LEAST / trace), np.log(design.freedom / (design.least_noise * trace))
    return float(low), float(high)


def level2_terms(spectrum: Spectrum, log_gamma: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the value of L2 and its first two derivatives at every entry of ``log_gamma``."""
    gamma = np.exp(np.atleast_1d(log_gamma))[:, None]
    x = gamma * spectrum.values
    p = 1.0 / (1.0 + x)
    mixed = p * (1.0 - p)
    F, q, power = spectrum.design.freedom, spectrum.outputs, spectrum.power
    R = np.maximum(p @ power + spectrum.rest, VANISHING)
    u = mixed @ power
    du = -(mixed * (1.0 - 2.0 * p)) @ power
    value = -0.5 * q * (F * np.log(R) + np.log1p(x).sum(axis=1))
    slope = 0.5 * q * (F * u / R - (1.0 - p).sum(axis=1))
    curvature = 0.5 * q * (F * (du / R + (u / R) ** 2) - mixed.sum(axis=1))
    return value, slope, curvature


def level2(spectrum: Spectrum) -> LevelTwo:
    """Solve (4.8): every local maximum on the range of gamma is refined, and the highest is kept."""
    low, high = gamma_range(spectrum.design, spectrum.trace, spectrum.whole)
    grid = np.linspace(low, high, GRID)
    slopes = level2_terms(spectrum, grid)[1]

    found = [low] if slopes[0] <= 0.0 else []
    found += [
        _root(spectrum, float(grid[i]), float(grid[i + 1]))
        for i in np.flatnonzero((slopes[:-1] > 0.0) & (slopes[1:] <= 0.0))
    ]
    if slopes[-1] > 0.0:
        found.append(high)
    values = level2_terms(spectrum, np.asarray(found))[0]
    best = found[int(np.argmax(values))]
    return level2_at(spectrum, best, inside=low < best < high, starts=len(found))


def _root(spectrum: Spectrum, low: float, high: float) -> float:
    """Return where the slope changes its sign; where it is rounding noise all along, the lower end."""

    def slope(log_gamma: float) -> float:
        return float(level2_terms(spectrum, np.array([log_gamma]))[1][0])

    if not slope(low) > 0.0 > slope(high):
        return low
    return float(brentq(slope, low, high, xtol=1e-13, rtol=1e-14))


def level2_at(spectrum: Spectrum, log_gamma: float, *, inside: bool = True, starts: int = 1) -> LevelTwo:
    """Return mu, zeta and the rest at a given gamma."""
    gamma = float(np.exp(log_gamma))
    p = 1.0 / (1.0 + gamma * spectrum.values)
    power, design = spectrum.power, spectrum.design
    value, slope, curvature = (float(v[0]) for v in level2_terms(spectrum, np.array([log_gamma])))
    E_W = 0.5 * gamma * float((p * (1.0 - p)) @ power)  # (4.12)
    E_D = 0.5 * (float((p * p) @ power) + spectrum.rest)  # (4.11), completed
    energy = max(E_W + gamma * E_D, VANISHING)
    mu = spectrum.outputs * design.freedom / (2.0 * energy)  # (4.7)
    gamma_eff = float(design.bias) + float(np.sum(1.0 - p))  # (4.4)
    return LevelTwo(gamma, mu, gamma * mu, gamma_eff, E_W, E_D, value, slope, curvature, inside, starts)


__all__ = ["LevelTwo", "gamma_range", "level2", "level2_at", "level2_terms"]
