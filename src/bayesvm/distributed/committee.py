r"""Combining the predictions of members that saw different rows.

Member b predicts the latent value at x with mean :math:`m_b` and variance :math:`v_b`; before any data its variance is
:math:`v_0` and its mean zero. Its weight is the information that it has gained about x,
:math:`\beta_b = \tfrac12 \ln (v_0 / v_b)`.

*Robust Bayesian committee machine* (Deisenroth2015), tempered:

.. math:: \frac1v = \frac1{v_0} + t \sum_b \beta_b \Big(\frac1{v_b} - \frac1{v_0}\Big), \qquad
          \frac mv = t \sum_b \beta_b \frac{m_b}{v_b} .

*Generalised product of experts* (Cao2014), with weights that sum to one:

.. math:: \frac1v = \sum_b \frac{\beta_b}{\sum_c \beta_c} \frac1{v_b}, \qquad
          \frac mv = \sum_b \frac{\beta_b}{\sum_c \beta_c} \frac{m_b}{v_b} .

Far from all data every :math:`\beta_b` is zero, and both return the prior. The committee machine takes the errors of
its members as independent; they share the hyperparameters and, with few rows each, the shrinkage towards the prior, so
its variance is too small as a rule. The temper t (one number; 1 is the committee machine as published, 1/B about the
product of experts) is set by the likelihood of rows that are predicted without themselves
(:mod:`bayesvm.distributed.held_out`). A committee of one is its member.

All that is needed of the members is three sums, which can be added up in any grouping.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Names of the ways to combine predictions.
COMMITTEES = ("rbcm", "gpoe")


def member_sums(mean: Vector, var: Vector, prior: Vector) -> Matrix:
    r"""Return the terms of one member, rows :math:`\beta`, :math:`\beta / v`, :math:`\beta m / v`, shape (3, n).

    A variance that is zero up to rounding counts as a small share of the prior variance.
    """
    var = np.maximum(var, 1e-12 * prior)
    beta = np.maximum(0.5 * (np.log(prior) - np.log(var)), 0.0)
    return np.stack([beta, beta / var, beta * mean / var])


@dataclasses.dataclass(frozen=True)
class CommitteeRule:
    """How the predictions of a committee are combined.

    Parameters
    ----------
    name : {"rbcm", "gpoe"}
        Robust Bayesian committee machine or generalised product of experts.
    size : int
        Number of members.
    temper : float
        t of the committee machine.
    """

    name: str
    size: int
    temper: float = 1.0

    @property
    def tempered(self) -> bool:
        """Whether the temper plays a part."""
        return self.name == "rbcm" and self.size > 1

    def combine(self, sums: Matrix, prior: Vector) -> tuple[Vector, Vector]:
        """Return mean and variance from the sums over all members; the prior where no member knows anything."""
        weight, precision, pull = sums
        if self.tempered:
            total = 1.0 / prior + self.temper * (precision - weight / prior)
            return self.temper * pull / total, 1.0 / total
        known = weight > 0.0
        share = np.where(known, weight, 1.0)
        var = np.where(known, share / np.where(known, precision, 1.0), prior)
        return np.where(known, pull / share, 0.0) * var, var


__all__ = ["COMMITTEES", "CommitteeRule", "member_sums"]
