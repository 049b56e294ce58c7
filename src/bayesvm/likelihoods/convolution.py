r"""What is known about a target when the latent value is Gaussian: noise plus :math:`\mathcal N(0, v)`.

The sum :math:`T` of noise and latent error is symmetric and log-concave, but Gaussian only if the noise is. Its tail,

.. math:: P(T > t) = \int \bar F(s)\, \mathcal N(s; t, v)\, ds, \qquad \bar F(s) = P(\text{noise} > s),

is an integral of the kind that :mod:`~bayesvm.likelihoods.quadrature` computes, with the convex loss
:math:`-\ln \bar F`.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import ndtri

from bayesvm.likelihoods.base import Derivatives, Regression
from bayesvm.likelihoods.noise import NoiseDistribution, upper_quantile
from bayesvm.likelihoods.quadrature import log_gaussian_integral
from bayesvm.typing import Indices, Vector

#: Cuts on the side where the tail nears one, in standard deviations of the noise: far closer than a wide Gaussian is.
LAYERS = (2.0, 7.0, 18.0, 40.0)


@functools.singledispatch
def log_tail(likelihood: Regression, t: Vector, var: Vector) -> Vector:
    r"""Return :math:`\ln P(T > t)` for :math:`T = \text{noise} + \mathcal N(0, v)`, entry by entry.

    By quadrature, unless the likelihood has registered a closed form.
    """
    noise = NoiseDistribution(likelihood)

    def profile(s: Vector) -> Derivatives:
        p = likelihood.profile(s)
        tail = noise.logsf(s)
        hazard = np.exp(-p.loss - tail)
        curvature = np.maximum(hazard * (hazard - p.gradient), 0.0)
        return Derivatives(-tail, hazard, curvature, np.zeros_like(tail))

    t, var = np.broadcast_arrays(np.asarray(t, dtype=float), np.asarray(var, dtype=float))
    layers = (-noise.std() * layer for layer in LAYERS)
    return log_gaussian_integral(profile, sorted({*likelihood.knots, *layers}), likelihood.domain, t, var)


def half_width(likelihood: Regression, var: Vector, confidence: float) -> Vector:
    r"""Return h with :math:`P(|T| \le h)` equal to ``confidence``, for each variance v of the latent value."""
    var = np.asarray(var, dtype=float)
    log_half = np.full(var.shape, np.log(0.5 * (1.0 - confidence)))
    start = np.sqrt(var + likelihood.noise_variance) * -float(ndtri(0.5 * (1.0 - confidence)))

    def curve(t: Vector, rows: Indices) -> tuple[Vector, Vector]:
        density = likelihood.log_predictive(t, np.zeros_like(t), var[rows])
        return log_tail(likelihood, t, var[rows]), density

    return upper_quantile(curve, log_half, start)


__all__ = ["half_width", "log_tail"]
