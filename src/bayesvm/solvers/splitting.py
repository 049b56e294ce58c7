r"""Latent values near the mode by splitting: one factorisation in place of many.

Newton's method finds the rows of each zone of an insensitive loss step by step, with a factorisation for each of 10 to
25 steps where it begins far from the mode. Douglas and Rachford's splitting (DouglasRachford1956; LionsMercier1979) of

.. math:: S(f) = \tfrac12 f^\top K^{-1} f + \sum_i \ell(y_i - f_i)

treats the two parts in turn: with :math:`z = \mathrm{prox}(v) = \arg\min_z \sum_i \ell(y_i - z_i) +
\tfrac\rho2 |z - v|^2`, row by row,

.. math:: f = K (K + I/\rho)^{-1} (2z - v), \qquad v \leftarrow v + \lambda (f - z),

and f and z have the mode as their limit. A step is two triangular solves. It needs many for the last digits, but tens
bring nearly all rows into the zones where they belong; from there Newton's method takes a few steps.
"""

from __future__ import annotations

import numpy as np

from bayesvm.likelihoods.transition_loss import TransitionLoss
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: Steps at most, and how far each goes.
STEPS, RELAXATION = 20, 1.6
#: Rho in units of the slope of the loss over the standard deviation of the noise.
STIFFNESS = 0.1
#: The iteration ends where f and z differ by this share of the width of a zone.
NEAR = 1e-3
#: Places within a zone at which the slope of the loss is tabulated.
PLACES = np.linspace(0.0, 1.0, 65)


def approached(K: Matrix, y: Vector, likelihood: TransitionLoss, f: Vector) -> Vector:
    """Return latent values that are nearer to the mode than given ones.

    Parameters
    ----------
    K : array, shape (n, n)
        Gram matrix.
    y : array, shape (n,)
        Targets.
    likelihood : TransitionLoss
        The noise model.
    f : array, shape (n,)
        Where to begin.
    """
    rho = STIFFNESS * likelihood.C / np.sqrt(likelihood.noise_variance)
    proximal = Proximal(likelihood, rho)
    shifted = K.copy()
    shifted.flat[:: y.size + 1] += 1.0 / rho
    factor = cholesky(shifted, jitter=True, overwrite=True, what="K + I/rho")
    v = f + likelihood.derivatives(y, f).gradient / rho
    for _ in range(STEPS):
        z = y - proximal(y - v)
        target = 2.0 * z - v
        f = target - factor.solve(target) / rho
        if np.max(np.abs(f - z)) <= NEAR * proximal.width:
            break
        v += RELAXATION * (f - z)
    return f


class Proximal:
    r"""The minimiser of :math:`\ell(r) + \tfrac\rho2 (r - v)^2`: the solution of :math:`r + \ell'(r)/\rho = v`.

    Its sign is that of v. Up to the zone r = v, beyond it :math:`r = v - C/\rho`; within it the slope S of the loss is
    tabulated: with p the part of the zone and :math:`\kappa = C/(\rho w)` for a width w, :math:`p + \kappa S(p)` rises.
    """

    def __init__(self, likelihood: TransitionLoss, rho: float) -> None:
        self.width = 2.0 * likelihood.beta * likelihood.epsilon
        self._begin = (1.0 - likelihood.beta) * likelihood.epsilon
        self._pull = likelihood.C / rho
        self._rising = PLACES + self._pull / self.width * likelihood.slopes(PLACES)[0]

    def __call__(self, v: Vector) -> Vector:
        """Return the minimisers for a vector."""
        size = np.abs(v)
        part = (size - self._begin) / self.width
        within = self._begin + self.width * np.interp(part, self._rising, PLACES)
        beyond = np.where(part > self._rising[-1], size - self._pull, within)
        return np.copysign(np.where(part <= 0.0, size, beyond), v)


__all__ = ["Proximal", "approached"]
