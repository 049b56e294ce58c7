r"""The hyperprior of models that are compared: weak, proper, and scaled to standardised data.

An evidence in which the hyperparameters are integrated out depends on their prior, so the prior has to say what is
plausible before the data are seen and nothing more. For inputs (and, in regression, targets) of unit variance:

====================  ===================  =========================================================================
logarithm of          Gaussian             reason
====================  ===================  =========================================================================
length scale          mean ln sqrt(d)      two rows are about sqrt(2 d) apart
  common level        deviation 1.5        a factor of 20 either way is within two deviations
  own deviation       deviation s          the strength of ARD: with 0.5 features differ by a factor of 3 at most
variance              mean 1, dev. 2       latent values of a few units decide a label (classification)
variance              mean 0, dev. 1.5     the targets have variance one (regression)
variance, linear      the same - ln d      d independent slopes add up
constant              mean -2, dev. 3      an offset is welcome and not expected
noise, scale          mean -1.5, dev. 1.5  standard deviation: between a hundredth of the targets' and all of it
noise, flat zone      mean -2.5, dev. 2    from none to that of uniform noise
anything else         mean 0, dev. 3       parameters without a scale
====================  ===================  =========================================================================

The deviations are wide enough that the prior hardly moves an optimum that the data determine, and its densities are
what a further hyperparameter pays with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.priors import ByName, Hyperprior, LogNormal
from bayesvm.typing import Vector

#: Mean and standard deviation of the logarithms, as in the table above.
CLASSIFICATION = (1.0, 2.0)
REGRESSION = (0.0, 1.5)
LEVEL = 1.5
CONSTANT = (-2.0, 3.0)
NOISE_STD = (-1.5, 1.5)
FLAT_ZONE = (-2.5, 2.0)
OTHER = (0.0, 3.0)


@dataclasses.dataclass(frozen=True)
class CommonLevel(Hyperprior):
    r"""Jointly Gaussian logarithms that share a level and vary around it.

    .. math:: \theta_i = c + \delta_i, \qquad c \sim \mathcal N(\mu, t^2), \quad \delta_i \sim \mathcal N(0, s^2) ,

    with the level c integrated out: covariance :math:`t^2 \mathbf 1 \mathbf 1^\top + s^2 I`. A single entry has no
    deviation of its own: it is the level, :math:`\mathcal N(\mu, t^2)`.

    Parameters
    ----------
    mean : float
        :math:`\mu`.
    common : float
        t, the standard deviation of the level.
    own : float
        s, that of the entries around it.
    """

    mean: float = 0.0
    common: float = LEVEL
    own: float = 1.0

    def __post_init__(self) -> None:
        if not (self.common > 0.0 and self.own > 0.0):
            raise ValueError(f"CommonLevel: expected common > 0 and own > 0, found {self.common} and {self.own}")

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return the logarithm of the joint density and its gradient, in O(k): the level and the rest are apart."""
        k = theta.size
        if k == 0:
            return 0.0, np.zeros(0)
        away = theta - self.mean
        own = self.own**2 if k > 1 else 0.0
        level = own + k * self.common**2  # variance of the sum over sqrt(k)
        average = float(np.mean(away))
        if k == 1:
            pull, log_det = away / level, np.log(level)
        else:
            pull = (away - average) / own + average / level
            log_det = (k - 1) * np.log(own) + np.log(level)
        value = -0.5 * (float(away @ pull) + log_det + k * np.log(2.0 * np.pi))
        return float(value), -pull


def default_prior(n_features: int, *, strength: float = 1.0, regression: bool = False) -> ByName:
    """Return the default hyperprior of standardised data.

    Parameters
    ----------
    n_features : int
        Number of inputs d.
    strength : float
        s, by how much the length scales of features may differ (standard deviation of the logarithm); of no effect with
        one length scale.
    regression : bool
        Whether targets are real, of variance one.
    """
    mean, deviation = REGRESSION if regression else CLASSIFICATION
    return ByName(
        {
            "likelihood.variance": LogNormal(2.0 * NOISE_STD[0], 2.0 * NOISE_STD[1]),
            "likelihood.C": LogNormal(-NOISE_STD[0], NOISE_STD[1]),
            "likelihood.epsilon": LogNormal(*FLAT_ZONE),
            "likelihood.*": LogNormal(*OTHER),
            "*lengthscale*": CommonLevel(0.5 * float(np.log(n_features)), LEVEL, strength),
            "constant*.variance": LogNormal(*CONSTANT),
            "linear*.variance[*]": CommonLevel(mean - float(np.log(n_features)), deviation, strength),
            "linear*.variance": LogNormal(mean - float(np.log(n_features)), deviation),
            "*variance": LogNormal(mean, deviation),
            "*": LogNormal(*OTHER),
        }
    )


__all__ = ["CommonLevel", "default_prior"]
