"""The probit likelihood."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.likelihoods.normal_tails import hazard, log_ndtr
from bayesvm.likelihoods.tilted import Tilted, log_normalizer, tilted
from bayesvm.typing import Vector

#: Margins below -TAIL use the continued fraction, which has converged to the last bit after DEPTH terms there.
TAIL = 2.0
DEPTH = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class Probit(Classification):
    r"""The cumulative normal likelihood.

    .. math:: p(y|f) = \Phi(t), \quad t = y f.

    Notes
    -----
    Domain: the real line; convex; infinitely smooth; not sparse; no parameters. With the hazard :math:`r = \phi/\Phi`,

    .. math:: \ell' = -r, \qquad \ell'' = r (t + r), \qquad \ell''' = r\,[1 - (t + r)(t + 2r)].

    For t < -2 these sums cancel; there :math:`t + r` comes from the continued fraction of the Mills ratio, :math:`r =
    a + 1/(a + 2/(a + 3/(a + \dots)))` with a = -t, and the brackets are rearranged so that every factor is formed
    without loss. Gaussian integrals are closed forms: :math:`\int \Phi(t)\, \mathcal N(t; m, v)\, dt =
    \Phi(m/\sqrt{1+v})`. The knots are no kinks: they are the ends of the zones in which one quadrature rule resolves
    the bend at zero.
    """

    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False, levels_off=True)
    knots = (-10.0, -3.0, 3.0, 10.0)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        r = hazard(t)
        near = np.maximum(t, -TAIL)
        r_near = np.where(t > -TAIL, r, 0.0)
        curvature = r_near * (near + r_near)
        third = r_near * (1.0 - (near + r_near) * (near + 2.0 * r_near))
        tail = t <= -TAIL
        if np.any(tail):
            curvature[tail], third[tail] = _tail(-t[tail])
        return Derivatives(-log_ndtr(t), -r, curvature, third)


@log_normalizer.register
def _(likelihood: Probit, t: Vector, var: Vector) -> Vector:
    return log_ndtr(t / np.sqrt(1.0 + var))


@tilted.register
def _(likelihood: Probit, t: Vector, var: Vector) -> Tilted:
    scale = np.sqrt(1.0 + var)
    p = likelihood.profile(t / scale)
    return Tilted(-p.loss, -p.gradient / scale, -p.curvature / scale**2)


def _tail(a: Vector) -> tuple[Vector, Vector]:
    r"""Return the curvature and the third derivative at t = -a, for large a.

    With :math:`\delta = 1/(a+e_1)`, :math:`e_k = (k+1)/(a + e_{k+1})`: :math:`r = a + \delta`, :math:`\ell'' =
    r\delta`, :math:`\ell''' = r \delta^2 e_1 (e_1 - e_2)`, and :math:`e_1 - e_2 = (2e_3 - 3e_2 - a)/((a+e_2)(a+e_3))`.
    """
    e3 = np.zeros_like(a)
    for k in range(DEPTH, 2, -1):
        e3 = (k + 1.0) / (a + e3)
    e2 = 3.0 / (a + e3)
    e1 = 2.0 / (a + e2)
    delta = 1.0 / (a + e1)
    r = a + delta
    third = r * delta * delta * e1 * ((2.0 * e3 - 3.0 * e2 - a) / (a + e2) / (a + e3))
    return r * delta, third


__all__ = ["Probit"]
