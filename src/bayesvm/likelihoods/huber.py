"""Huber's loss."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from bayesvm.likelihoods.base import Traits
from bayesvm.likelihoods.soft_insensitive import QuadraticTransition


@dataclasses.dataclass(frozen=True)
class Huber(QuadraticTransition):
    r"""Huber's loss: quadratic, then linear. Thesis (2.26).

    .. math:: \ell(t) = \ln Z + C \cdot \begin{cases}
        t^2/(4\epsilon) & |t| \le 2\epsilon \\ |t| - \epsilon & |t| > 2\epsilon \end{cases}

    Parameters
    ----------
    C : float
        Slope of the linear part, learnt.
    epsilon : float
        Half the length of the quadratic part, learnt.

    Notes
    -----
    Domain: the real line; convex; not sparse; the second derivative jumps at :math:`\pm 2\epsilon`. The case beta = 1
    of :class:`SoftInsensitive`, with which it shares its code. For large :math:`C\epsilon` it is Gaussian noise of
    variance :math:`2\epsilon/C`.
    """

    traits = Traits(smoothness=1, convex=True, normalized=True, sparse=False)
    beta: ClassVar[float] = 1.0


__all__ = ["Huber"]
