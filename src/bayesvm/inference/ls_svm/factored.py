r"""Level 2 at a given kernel by Cholesky factors, from a gamma that is nearly right.

With many rows the eigenpairs of the centred Gram matrix G cost ten times as much as the inverse factor :math:`W =
L^{-1}` of :math:`G + I/\gamma = L L^\top`. Where gamma is known but for a little, as after a search over kernel and
gamma together, factors are enough: in the letters of :mod:`~bayesvm.inference.ls_svm.level2`, with
:math:`A = W^\top W` and :math:`a = A c` per output,

.. math::

    \sum_i p_i = \tfrac1\gamma |W|_F^2, \quad \sum_i p_i^2 = \tfrac1{\gamma^2} \operatorname{tr} A^2, \quad
    \sum_i c_i^2 p_i = \tfrac1\gamma c^\top a, \quad \sum_i c_i^2 p_i^2 = \tfrac1{\gamma^2} a^\top a, \quad
    \sum_i c_i^2 p_i^3 = \tfrac1{\gamma^3} a^\top A a ,

which give :math:`L_2` and its two derivatives in :math:`\ln\gamma`, and Newton's steps to the maximum near by. The
trace of :math:`A^2`, which only the second derivative needs, is estimated from products with a few random signs z, the
mean of :math:`|A z|^2`: an error of some per cent in the curvature leaves as little of a small step. The posterior
needs no eigenvectors: the columns of :math:`P W^\top` are coordinates in which it is diagonal.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.ls_svm.design import VANISHING, Design
from bayesvm.inference.ls_svm.level2 import LevelTwo, gamma_range
from bayesvm.inference.ls_svm.spectrum import beyond_rounding
from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.eigen import Complement
from bayesvm.typing import Matrix

#: Gain in nats that the next step of Newton's method would bring at which gamma has settled, the longest step, and the
#: largest number of steps.
SETTLED = 1e-6
LONGEST = 0.5
STEPS = 50
#: Vectors of random signs, and their seed.
PROBES = 30
SEED = 0
#: Distance of the logarithm of gamma from the end of its range that is rounding.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Factored:
    r"""Level 2 with what the posterior needs, in scaled space; the curvature is an estimate."""

    found: LevelTwo  #: Hyperparameters.
    solution: Matrix  #: Coefficients of level 1, :math:`P A c`; shape (n, q).
    basis: Matrix  #: :math:`P W^\top`; shape (n, n - 1), or (n, n) without bias.


def factored(K: Matrix, y: Matrix, design: Design, log_gamma: float) -> Factored:
    """Return the local maximum of level 2 to which Newton's steps lead from ``log_gamma``.

    Raises
    ------
    NotPositiveDefiniteError
        If the kernel is not positive definite.
    """
    complement = Complement.of(design.root) if design.bias else None
    G, c = design.scaled_gram(K), design.scaled(y)
    whole = float(np.trace(G))
    if complement is not None:
        G, c = complement.compress(G), complement.project(c)
    low, high = gamma_range(design, beyond_rounding(float(np.trace(G)), whole), whole)
    at = float(np.clip(log_gamma, low, high))
    for _ in range(STEPS):
        lowest, highest = at <= low + ROUNDING, at >= high - ROUNDING
        W, a, found = _level2(G, c, design, at, inside=not (lowest or highest))
        outwards = (lowest and found.slope <= 0.0) or (highest and found.slope >= 0.0)
        bent = found.curvature < 0.0
        if outwards or (bent and found.slope**2 <= -2.0 * SETTLED * found.curvature):
            break
        step = -found.slope / found.curvature if bent else float(np.copysign(LONGEST, found.slope))
        at = float(np.clip(at + np.clip(step, -LONGEST, LONGEST), low, high))
    return Factored(found, *((a, W.T) if complement is None else (complement.expand(a), complement.expand(W.T))))


def _level2(G: Matrix, c: Matrix, design: Design, log_gamma: float, *, inside: bool) -> tuple[Matrix, Matrix, LevelTwo]:
    """Return W, A c, and level 2 with two derivatives at a given gamma."""
    (m, q), F, gamma = c.shape, design.freedom, float(np.exp(log_gamma))
    C = np.array(G)
    C[np.diag_indices(m)] += 1.0 / gamma
    factor = cholesky(C, overwrite=True, what="K + I/gamma (is the kernel positive definite?)")
    W = factor.inverse_factor()
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(m, PROBES))
    probed, a = np.split(W.T @ (W @ np.hstack([signs, c])), [PROBES], axis=1)
    Wa = W @ a
    p1, p2 = _square(W) / gamma, _square(probed) / (PROBES * gamma**2)
    s1, s2, s3 = float(np.vdot(c, a)) / gamma, _square(a) / gamma**2, _square(Wa) / gamma**3
    R, u, du = max(s1, VANISHING), s1 - s2, -(s1 - 3.0 * s2 + 2.0 * s3)
    value = -0.5 * q * (F * float(np.log(R)) + m * log_gamma + factor.log_det())
    slope = 0.5 * q * (F * u / R - (m - p1))
    curvature = 0.5 * q * (F * (du / R + (u / R) ** 2) - (p1 - p2))
    E_W, E_D = 0.5 * gamma * u, 0.5 * s2  # (4.12), (4.11)
    mu = q * F / (2.0 * max(E_W + gamma * E_D, VANISHING))  # (4.7)
    gamma_eff = float(design.bias) + m - p1  # (4.4)
    return W, a, LevelTwo(gamma, mu, gamma * mu, gamma_eff, E_W, E_D, value, slope, curvature, inside, 1)


def _square(B: Matrix) -> float:
    """Return the sum of squares of all entries."""
    flat = B.ravel(order="K")
    return float(flat @ flat)


__all__ = ["Factored", "factored"]
