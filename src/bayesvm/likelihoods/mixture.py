r"""The soft insensitive noise as a mixture of Gaussians (Thesis section 2.2.2).

The noise can be drawn in three steps: a standard deviation :math:`\sigma` from a Rayleigh density
(:func:`rayleigh_density`), a mean t from a density on the zones and the flat top (:func:`mean_density`), and then
:math:`\delta \sim \mathcal N(t, \sigma^2)`. The Rayleigh mixture of centred Gaussians is the Laplacian density of
rate C, hence

.. math:: p(\delta) = \int \lambda(t)\, \tfrac C2 e^{-C |\delta - t|}\, dt

(Thesis (2.51), here with normalised densities; :func:`mixture_density`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bayesvm.likelihoods.base import Regression
from bayesvm.likelihoods.expectations import slope_jumps
from bayesvm.likelihoods.noise import noise_average
from bayesvm.likelihoods.soft_insensitive import QuadraticTransition
from bayesvm.typing import Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def rayleigh_density(sigma: Vector, C: float) -> Vector:
    r"""Return the density of the standard deviation, Thesis (2.45).

    .. math:: \mu(\sigma) = C^2 \sigma\, e^{-C^2 \sigma^2 / 2}, \qquad \sigma \ge 0.

    It depends on C alone, for the Laplacian, Huber's and all insensitive losses. Zero for negative arguments.
    """
    sigma = np.maximum(np.asarray(sigma, dtype=float), 0.0)
    return np.asarray(C**2 * sigma * np.exp(-0.5 * (C * sigma) ** 2))


def mean_density(t: Vector, likelihood: QuadraticTransition) -> Vector:
    r"""Return the density of the mean, Thesis (2.50) with its misprints corrected.

    .. math:: \lambda(t) = \frac1Z \begin{cases}
        1 & |t| < (1-\beta)\epsilon \\
        \left[1 + \dfrac{1}{2\beta\epsilon C} - p^2\right] e^{-C \beta\epsilon p^2}
        & (1-\beta)\epsilon \le |t| \le (1+\beta)\epsilon \\
        0 & \text{beyond,} \end{cases} \qquad p = \frac{|t| - (1-\beta)\epsilon}{2\beta\epsilon}.

    The thesis prints neither the exponential nor the right square; beta = 1 is its (2.52). With the factor 1/Z the
    density integrates to one.
    """
    t = np.abs(np.asarray(t, dtype=float))
    beta, epsilon, C = likelihood.beta, likelihood.epsilon, likelihood.C
    p = (t - (1.0 - beta) * epsilon) / (2.0 * beta * epsilon)
    inside = np.clip(p, 0.0, 1.0)
    zone = (1.0 + 1.0 / (2.0 * beta * epsilon * C) - inside**2) * np.exp(-C * beta * epsilon * inside**2)
    return np.asarray(np.where(p < 0.0, 1.0, np.where(p <= 1.0, zone, 0.0)) * np.exp(-likelihood.log_mass))


def mixture_density(delta: Vector, likelihood: QuadraticTransition) -> Vector:
    r"""Return the superposition of Laplacian densities, Thesis (2.51), by quadrature.

    It equals the density of the noise, :math:`e^{-\ell(\delta)}`: the identity that defines the mixture.
    """
    delta = np.asarray(delta, dtype=float)
    total = np.zeros(delta.shape)
    for low, high in pairwise(likelihood.knots):
        # the kink of |delta - t| divides the piece
        cut = np.clip(delta, low, high)
        for start, end in ((np.full(delta.shape, low), cut), (cut, np.full(delta.shape, high))):
            half = 0.5 * (end - start)
            t = np.clip(start[..., None] + half[..., None] * (1.0 + _NODES), low, high)
            inner = np.clip(t, np.nextafter(low, high), np.nextafter(high, low))  # on the piece, not beyond its ends
            weight = mean_density(inner, likelihood) * np.exp(-likelihood.C * np.abs(delta[..., None] - t))
            total += half * np.sum(_WEIGHTS * weight, axis=-1)
    return np.asarray(0.5 * likelihood.C * total)


def efficiency(likelihood: Regression, noise: Regression) -> float:
    r"""Return the statistical efficiency of a loss for another noise, Thesis (A.2)-(A.4) corrected.

    The location that minimises the loss has, for many samples with the density q of ``noise``, the variance
    :math:`E_q[\ell'^2] / E_q[\ell'']^2` per sample; the Cramer-Rao bound is one over
    :math:`I = E_q[(\partial \ln q)^2]`:

    .. math:: e = \frac{E_q[\ell''(t)]^2}{I\, E_q[\ell'(t)^2]} \in [0, 1].

    Appendix A prints :math:`t^2` where the slope of the loss, :math:`(|t| - (1-\beta)\epsilon)^2`, belongs ((A.5),
    (A.7), (A.8)). Neither C nor the normaliser of the loss matters. Losses with kinks count by the jumps of their
    slope.

    Examples
    --------
    >>> from bayesvm.likelihoods import GaussianNoise, SoftInsensitive
    >>> round(efficiency(SoftInsensitive(10.0, 0.05, 0.3), GaussianNoise(0.0025)), 3)
    0.848
    """
    slope_squared = noise_average(noise, lambda t: likelihood.profile(t).gradient ** 2, likelihood.knots)
    curvature = noise_average(noise, lambda t: likelihood.profile(t).curvature, likelihood.knots)
    information = noise_average(noise, lambda t: noise.profile(t).gradient ** 2)
    if likelihood.traits.smoothness == 0:
        knots = np.asarray(likelihood.knots)
        curvature += float(slope_jumps(likelihood, knots) @ np.exp(-noise.profile(knots).loss))
    return curvature**2 / (information * slope_squared)


__all__ = ["efficiency", "mean_density", "mixture_density", "rayleigh_density"]
