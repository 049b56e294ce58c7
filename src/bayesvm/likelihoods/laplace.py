"""Laplacian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from bayesvm.likelihoods.base import Traits
from bayesvm.likelihoods.epsilon_insensitive import TubeLoss
from bayesvm.parameters import Bounds


@dataclasses.dataclass(frozen=True)
class Laplace(TubeLoss):
    r"""Laplacian noise, the absolute loss. Thesis (2.24).

    .. math:: \ell(t) = C |t| - \ln(C/2), \quad t = y - f.

    Parameters
    ----------
    C : float
        Inverse scale; the noise variance is :math:`2/C^2`.

    Notes
    -----
    Domain: the real line; convex; not sparse; a kink at zero, where the derivative returned is 0. The case epsilon = 0
    of :class:`EpsilonInsensitive`, with which it shares its code. Gaussian integrals are closed forms: two exponential
    tails.
    """

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-2, 1e5)}
    powers: ClassVar[dict[str, int]] = {"C": -1}
    traits = Traits(smoothness=0, convex=True, normalized=True, sparse=False)
    epsilon: ClassVar[float] = 0.0


__all__ = ["Laplace"]
