r"""The evidence of a model with its hyperparameters integrated out (the third level of inference).

.. math:: \ln P(D|M) = \ln \int P(D|\theta)\, P(\theta|M)\, d\theta
          \approx v(\hat\theta) + \tfrac k2 \ln 2\pi - \tfrac12 \ln\det A , \qquad A = -\nabla\nabla v(\hat\theta) ,

with :math:`v = \ln P(D|\theta) + \ln P(\theta|M)` and its maximum :math:`\hat\theta`. A further hyperparameter raises
the maximum of v, and pays for it by its share of the determinant and by the density of its prior: models of different
size can be compared. The hyperprior must be proper; a flat one leaves a constant open, which differs from model to
model.

*Curvature.* A comes from differences of the exact gradient, two evaluations for each entry of :math:`\theta`, all begun
from the latent values at the optimum.

*Shape.* Along every principal axis of A the value is looked at :math:`\sqrt 3` standard deviations to both sides. With
:math:`\rho_\pm = v(\hat\theta) - v_\pm - \tfrac32`, which is zero for a Gaussian, the three-point rule of Gauss and
Hermite gives the factor by which the integral along the axis differs from the Gaussian's,

.. math:: c = \ln\big(\tfrac23 + \tfrac16 e^{-\rho_+} + \tfrac16 e^{-\rho_-}\big).

The sum of the c is added to the value. Half the sizes of what the two outer points add or take away, :math:`\tfrac1{12}
(|e^{-\rho_+} - 1| + |e^{-\rho_-} - 1|)`, count as the error of the axis, since the rule knows nothing beyond them;
errors of axes add up as independent ones.

*Axes without curvature.* Where A has an eigenvalue that is not positive, or so small that three standard deviations
reach beyond the bounds, no Gaussian fits. There :math:`\ln\int e^{v} dt` is computed along the axis by Simpson's rule
between the bounds. The result names the number of such axes.

*Bounds.* An entry that ends at a bound with a gradient g that points outward contributes
:math:`\ln\int_0^r e^{-|g| t - \frac12 a t^2} dt`, with a its own curvature and r the width of the bounds.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np
from scipy.integrate import simpson
from scipy.special import log_ndtr, logsumexp

from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix, Vector

#: Step of the differences, in units of theta. Values that vary by a factor of e have little to say about curvature;
#: rounding and the tolerance of the inference say little about differences of a tenth.
STEP = 0.1
#: Distance of the outer points of the three-point rule, in standard deviations.
OUTER = float(np.sqrt(3.0))
#: Points of Simpson's rule along an axis without curvature.
POINTS = 17
#: Error of an axis that was integrated numerically (what the other axes do along it is not seen), and of one whose
#: shape was not looked at, in nats.
NUMERIC = 0.5
UNSEEN = 0.1
#: An entry nearer than this to a bound is at the bound.
NEAR = 1e-6


class Evaluated(Protocol):
    """What is read of an evaluation."""

    @property
    def value(self) -> float:
        """The logarithm of the density."""

    @property
    def gradient(self) -> Vector:
        """Its gradient."""


class Density(Protocol):
    """A function of theta with its gradient, within bounds."""

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta, one row (low, high) per entry."""

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluated:
        """Return value and gradient at ``theta``."""


@dataclasses.dataclass(frozen=True)
class ModelEvidence:
    r"""Evidence of a model, and the Gaussian about the optimum from which it follows.

    Attributes
    ----------
    value : float
        :math:`\ln P(D|M)`.
    error : float
        Estimated error of ``value`` in nats.
    theta : array, shape (k,)
        The optimum.
    axes : array, shape (k, m)
        Principal axes of the free entries, one column each, of a length of one standard deviation.
    shape : array, shape (m, 2)
        :math:`\rho_-, \rho_+` of every axis: how far the value lies below the Gaussian's at :math:`\mp\sqrt3` standard
        deviations; zero where the shape was not looked at.
    bound : array of bool, shape (k,)
        Entries at a bound.
    numeric : int
        Axes along which the integral was computed numerically, because no Gaussian fits.
    evaluations : int
        Evaluations spent.
    """

    value: float
    error: float
    theta: Vector
    axes: Matrix
    shape: Matrix
    bound: Vector
    numeric: int
    evaluations: int


def model_evidence(
    objective: Density, theta: Vector, latent: Vector | None = None, *, step: float = STEP, shape: bool = True
) -> ModelEvidence:
    """Return the evidence with theta integrated out.

    Parameters
    ----------
    objective : Density
        Log evidence plus log hyperprior (proper).
    theta : array, shape (k,)
        Its maximum.
    latent : array, optional
        Warm start of all evaluations: that of an evaluation at ``theta``.
    step : float
        Step of the differences.
    shape : bool
        Whether the value is looked at along the principal axes. Without, it costs half as many evaluations, and the
        error is that of a typical model (a tenth of a nat for each entry).
    """
    theta = np.asarray(theta, dtype=float)
    low, high = objective.bounds.T
    here = objective.evaluate(theta, latent)
    bound = ((theta - low < NEAR) & (here.gradient < 0.0)) | ((high - theta < NEAR) & (here.gradient > 0.0))
    curvature, spent = _curvature(objective, theta, latent, here, step)
    value = here.value + sum(
        _half_line(float(abs(here.gradient[i])), float(curvature[i, i]), float(high[i] - low[i]))
        for i in np.flatnonzero(bound)
    )
    free = np.flatnonzero(~bound)
    weights, vectors = symmetric_eigen(curvature[np.ix_(free, free)])
    axes, rho = np.zeros((theta.size, free.size)), np.zeros((free.size, 2))
    numeric, errors = 0, list[float]()
    for j, weight in enumerate(weights):
        direction = np.zeros(theta.size)
        direction[free] = vectors[:, j]
        back, forth = _reach(theta, direction, low, high)
        if weight <= 0.0 or 3.0 / np.sqrt(weight) > max(back, forth):
            along, width = _integral(objective, theta, latent, here.value, direction, back, forth)
            axes[:, j] = width * direction
            value, spent, numeric = value + along, spent + POINTS - 1, numeric + 1
            errors.append(NUMERIC)
            continue
        axes[:, j] = direction / np.sqrt(weight)
        value += 0.5 * np.log(2.0 * np.pi / weight)
        if shape:
            ends = [np.clip(theta + sign * OUTER * axes[:, j], low, high) for sign in (-1.0, 1.0)]
            rho[j] = [here.value - objective.evaluate(end, latent).value - 0.5 * OUTER**2 for end in ends]
            value += float(logsumexp([0.0, -rho[j, 0], -rho[j, 1]], b=[2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]))
            errors.append(float(np.sum(np.abs(np.expm1(-rho[j])))) / 12.0)
            spent += 2
        else:
            errors.append(UNSEEN)
    error = float(np.sqrt(np.sum(np.square(errors))))
    return ModelEvidence(float(value), error, theta, axes, rho, bound, numeric, spent + 1)


def _curvature(
    objective: Density, theta: Vector, latent: Vector | None, here: Evaluated, step: float
) -> tuple[Matrix, int]:
    """Return minus the Hessian from differences of the gradient (one-sided at a bound), and the evaluations."""
    low, high = objective.bounds.T
    rows, spent = [], 0
    for i in range(theta.size):
        ends, slopes = [], []
        for end in (max(theta[i] - step, low[i]), min(theta[i] + step, high[i])):
            moved = theta.copy()
            moved[i] = end
            ends.append(end)
            if end == theta[i]:
                slopes.append(here.gradient)
            else:
                slopes.append(objective.evaluate(moved, latent).gradient)
                spent += 1
        rows.append((slopes[0] - slopes[1]) / (ends[1] - ends[0]))
    H = np.array(rows).reshape(theta.size, theta.size)
    return 0.5 * (H + H.T), spent


def _reach(theta: Vector, direction: Vector, low: Vector, high: Vector) -> tuple[float, float]:
    """Return how far one can go from theta against and along the direction without leaving the bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (low - theta) / direction, (high - theta) / direction
    moving = direction != 0.0
    forth = np.min(np.where(direction > 0.0, to_high, to_low)[moving])
    back = np.min(np.where(direction > 0.0, -to_low, -to_high)[moving])
    return float(back), float(forth)


def _integral(
    objective: Density, theta: Vector, latent: Vector | None, top: float, direction: Vector, back: float, forth: float
) -> tuple[float, float]:
    """Return the logarithm of the integral along an axis, relative to the value, and the standard deviation there."""
    places = np.linspace(-back, forth, POINTS)
    values = np.array([objective.evaluate(theta + t * direction, latent).value for t in places])
    density = np.exp(values - max(top, values.max()))
    total = float(simpson(density, x=places))
    mean = float(simpson(places * density, x=places)) / total
    spread = float(simpson((places - mean) ** 2 * density, x=places)) / total
    return float(np.log(total) + max(top, values.max()) - top), float(np.sqrt(spread))


def _half_line(slope: float, curvature: float, width: float) -> float:
    r"""Return :math:`\ln\int_0^r e^{-g t - a t^2/2} dt`; a negative curvature counts as none."""
    if curvature <= 1e-12 * max(1.0, slope**2):
        return float(np.log(-np.expm1(-slope * width) / slope)) if slope > 0.0 else float(np.log(width))
    root = np.sqrt(curvature)
    start, end = slope / root, slope / root + root * width
    tails = logsumexp([log_ndtr(-start), log_ndtr(-end)], b=[1.0, -1.0])
    return float(0.5 * start**2 + 0.5 * np.log(2.0 * np.pi / curvature) + tails)


__all__ = ["ModelEvidence", "model_evidence"]
