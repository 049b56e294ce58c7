r"""Class probabilities of a least-squares machine.

*Moderated output.* Each class has a Gaussian density along the discriminant, centred at its projected mean and widened
by the uncertainty of w: with :math:`e_\bullet = w^\top(\varphi(x) - \hat m_\bullet)`, mean :math:`m_{e\bullet}` (3.9)
and variance :math:`\sigma^2_{e\bullet}` (3.11) of VanGestel2002,

.. math:: p(x \mid \bullet) = \mathcal N(m_{e\bullet}; 0, \zeta_*^{-1} + \sigma^2_{e\bullet}), \qquad
          \zeta_*^{-1} = \frac{1}{N - \gamma_{\mathrm{eff}}} \sum_\bullet \sum_{i \in \bullet} v_i e_{i\bullet}^2

((3.16), section 4.1), and Bayes' rule (3.17) gives the odds.

*Softmax.* The logistic function of the latent value averaged over its posterior by MacKay's formula,
:math:`\ln \tfrac{p}{1-p} = f / \sqrt{1 + \pi \sigma_f^2 / 8}` (section 3.2). Its sign is that of (2.22).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Moderator:
    r"""Class densities along the discriminant of every output, which separates one group of rows from the rest."""

    #: Mean latent value over the group, and over the rest; shape (q,) each.
    inside: Vector
    outside: Vector
    noise: Vector  #: :math:`\zeta_*^{-1}`; shape (q,).
    log_odds_prior: Vector  #: :math:`\ln P(+)/P(-)` of the training rows; shape (q,).
    mixtures: Matrix  #: Mixtures of class centres: the group of each output, then the rest of each; shape (C, 2 q).

    @classmethod
    def of(cls, latent: Matrix, groups: Matrix, counts: Vector, positive: Matrix, gamma_eff: float) -> Moderator:
        """Learn the densities from the training rows.

        ``latent`` holds their latent values, shape (n, q), ``counts`` their weights; ``positive``, shape (C, q), is one
        where a class is the positive one of an output, else zero; ``gamma_eff`` is the effective number of parameters.
        """
        totals = counts @ groups
        plus, minus = totals @ positive, totals @ (1.0 - positive)
        mixtures = np.hstack([totals[:, None] * positive / plus, totals[:, None] * (1.0 - positive) / minus])
        is_plus = groups @ positive
        v = counts[:, None]
        inside = np.sum(v * is_plus * latent, axis=0) / plus
        outside = np.sum(v * (1.0 - is_plus) * latent, axis=0) / minus
        error = latent - np.where(is_plus > 0.0, inside, outside)
        freedom = max(float(counts.sum()) - gamma_eff, np.finfo(float).eps)
        noise = np.sum(v * error**2, axis=0) / freedom
        least = np.finfo(float).eps * np.maximum(np.max(latent**2, axis=0), np.finfo(float).eps)  # rounding of latent
        return cls(inside, outside, np.maximum(noise, least), np.log(plus / minus), mixtures)

    def log_odds(self, mean: Matrix, spreads: Matrix) -> Matrix:
        """Return the log odds of (3.17) with the class frequencies of the training rows, one column per output.

        ``spreads`` are the variances for the columns of ``mixtures``.
        """
        q = self.inside.size
        densities = [
            -0.5 * np.log(var) - 0.5 * (mean - centre) ** 2 / var
            for centre, var in (
                (self.inside, self.noise + spreads[:, :q]),
                (self.outside, self.noise + spreads[:, q:]),
            )
        ]
        return np.asarray(self.log_odds_prior + densities[0] - densities[1])


def softmax_log_odds(mean: Matrix, var: Vector) -> Matrix:
    """Return the log odds of the softmax output, averaged over the posterior; see the module."""
    return np.asarray(mean / np.sqrt(1.0 + 0.125 * np.pi * var)[:, None])


__all__ = ["Moderator", "softmax_log_odds"]
