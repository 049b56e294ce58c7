r"""The hyperprior of models that are compared: weak, proper, and scaled to the data.

An evidence in which the hyperparameters are integrated out depends on their prior, so the prior has to say what is
plausible before the data are seen and nothing more. Two numbers bring it to the scale of the data: the root mean square
distance r of two rows, :math:`\sqrt{2d}` for d standardised inputs, and the standard deviation t of the targets of a
regression, one if they are standardised. All logarithms are Gaussian:

=====================  ===========================  =================================================================
logarithm of           mean, standard deviation     reason
=====================  ===========================  =================================================================
length scale           :math:`\ln(r/\sqrt2)`        the root mean square distance of a row from the mean of all rows
-- common level        1.5                          a factor of 20 either way is within two deviations
-- own deviation       s                            how much features may differ: with 1, by a factor of 7 (two
                                                    deviations) around the level; of no effect with one length scale
variance, labels       1, 2                         latent values of a few units decide a label
variance, targets      :math:`2\ln t`, 1.5          the function varies about as much as the targets
variance, linear part  the same minus               slopes on all inputs together give that variance
                       :math:`\ln(r^2/2)`
constant               -2 (plus :math:`2\ln t`), 3  an offset is welcome and not expected
noise, deviation       :math:`\ln t - 1.5`, 1.5     between a hundredth of the targets' deviation and all of it
noise, flat zone       :math:`\ln t - 2.5`, 2       from none to that of uniform noise
anything else          0, 3                         parameters without a scale
=====================  ===========================  =================================================================

The slope C of a noise model is the inverse of a deviation, the variance of Gaussian noise its square. The deviations
are wide enough that the prior hardly moves an optimum that the data determine, and its densities are what a further
hyperparameter pays with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.priors import ByName, Hyperprior, LogNormal
from bayesvm.typing import Vector

#: Mean and standard deviation of the logarithms, as in the table above.
LABELS = (1.0, 2.0)
TARGETS = (0.0, 1.5)
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

    def proper(self, names: Sequence[str]) -> bool:
        """Whether the density integrates to one: it does."""
        return True

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


def default_hyperprior(distance: float, *, spread: float | None = None, strength: float = 1.0) -> ByName:
    r"""Return the default hyperprior, on the scale of the data.

    Parameters
    ----------
    distance : float
        r, the root mean square distance of two rows.
    spread : float or None
        t, the standard deviation of the targets of a regression; None for labels.
    strength : float
        s, by how much the length scales of features may differ (standard deviation of the logarithm).
    """
    unit = 0.0 if spread is None else float(np.log(spread))
    mean, deviation = LABELS if spread is None else (TARGETS[0] + 2.0 * unit, TARGETS[1])
    radius = float(np.log(distance)) - 0.5 * float(np.log(2.0))
    noise = {
        "likelihood.variance": LogNormal(2.0 * (NOISE_STD[0] + unit), 2.0 * NOISE_STD[1]),
        "likelihood.C": LogNormal(-(NOISE_STD[0] + unit), NOISE_STD[1]),
        "likelihood.epsilon": LogNormal(FLAT_ZONE[0] + unit, FLAT_ZONE[1]),
    }
    return ByName(
        {
            **({} if spread is None else noise),
            "likelihood.*": LogNormal(*OTHER),
            "*lengthscale*": CommonLevel(radius, LEVEL, strength),
            "constant*.variance": LogNormal(CONSTANT[0] + 2.0 * unit, CONSTANT[1]),
            "linear*.variance[*]": CommonLevel(mean - 2.0 * radius, deviation, strength),
            "linear*.variance": LogNormal(mean - 2.0 * radius, deviation),
            "*variance": LogNormal(mean, deviation),
            "*": LogNormal(*OTHER),
        }
    )


__all__ = ["CommonLevel", "default_hyperprior"]
