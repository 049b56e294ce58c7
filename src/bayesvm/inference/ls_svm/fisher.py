r"""The regularised kernel Fisher discriminant, for two or more classes (VanGestel2002 section 2.4).

Directions w in feature space maximise between-class scatter against regularised within-class scatter, (2.27) and
(2.28): :math:`w^\top S_B w / w^\top (S_W + \gamma^{-1} I) w`. Write the centred class means as
:math:`\Upsilon S \tilde E`, with columns :math:`\sqrt{N_c}\,(s \circ 1_c / N_c - s / N)`; then
:math:`S_B = \Upsilon S \tilde E \tilde E^\top S \Upsilon^\top`. Since :math:`S_B + S_W` is the centred total scatter,
the maximum lies at

.. math:: w = \Upsilon S A \tilde E v, \qquad C v = \rho v, \qquad C = \tilde E^\top (I - A/\gamma) \tilde E,

with A the inverse of :math:`\tilde K + I/\gamma` in the complement of s: the coefficients of a least-squares machine
whose targets are the (scaled) class indicators. For two classes :math:`\tilde E` has rank one and spans the centred
labels, so the direction is that of the least-squares machine up to its length. On unit v,
:math:`w^\top (S_W + \gamma^{-1} I) w = \rho (1 - \rho)`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.ls_svm.design import Design
from bayesvm.inference.ls_svm.level1 import solve_direct
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class FisherDirections:
    r"""Discriminant directions, scaled to unit regularised variance within classes."""

    alpha: Matrix  #: Coefficients: the projection of x is :math:`k(x)^\top\alpha - \text{offset}`; shape (n, k).
    offset: Vector  #: Mean projection of the training rows; shape (k,).
    centres: Matrix  #: Projected class means; shape (C, k).
    #: Share of the regularised total scatter that lies between classes, :math:`\rho`, largest first; shape (k,).
    ratio: Vector
    residual: float  #: Relative residual of the linear system.


def fisher_directions(K: Matrix, groups: Matrix, weights: Vector | None, gamma: float, k: int) -> FisherDirections:
    """Return the k leading directions (at most one fewer than classes) for the inverse regularisation gamma."""
    design = Design(K.shape[0], True, weights)
    totals = design.counts @ groups
    targets = np.sqrt(totals) * (groups / totals - 1.0 / design.total)
    first = solve_direct(K, targets, design, gamma)
    s = design.root[:, None]
    E, a = s * targets, first.alpha / s
    C = E.T @ (E - a / gamma)
    ratio, v = symmetric_eigen(0.5 * (C + C.T))
    ratio, v = np.clip(ratio[:k], 0.0, 1.0), v[:, :k]
    within = np.maximum(ratio * (1.0 - ratio), np.finfo(float).eps)
    freedom = max(design.total - totals.size, 1.0)
    v = v * np.sqrt(freedom / within)
    alpha = first.alpha @ v
    projected = K @ alpha
    offset = (design.counts @ projected) / design.total
    centres = (groups * design.counts[:, None]).T @ projected / totals[:, None] - offset
    return FisherDirections(alpha, offset, centres, ratio, first.residual)


__all__ = ["FisherDirections", "fisher_directions"]
