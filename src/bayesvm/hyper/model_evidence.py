r"""The evidence of a model with its hyperparameters integrated out (the third level of inference).

.. math:: \ln P(D|M) = \ln \int P(D|\theta)\, P(\theta|M)\, d\theta
          \approx v(\hat\theta) + \tfrac k2 \ln 2\pi - \tfrac12 \ln\det A + c , \qquad A = -\nabla\nabla v(\hat\theta) ,

with :math:`v = \ln P(D|\theta) + \ln P(\theta|M)` and its maximum :math:`\hat\theta`: Laplace's method in the k
hyperparameters, with a correction c for the shape of v. A further hyperparameter raises the maximum of v, and pays for
it by its share of the determinant and by the density of its prior: models of different size can be compared. The
hyperprior must be proper; a flat one leaves a constant open, which differs from model to model.

*Curvature.* A comes from differences of the exact gradient, two evaluations for each entry of :math:`\theta`, all begun
from the latent values at the optimum.

*Shape.* Along every principal axis of A the value is looked at :math:`\sqrt 3` standard deviations to both sides, two
evaluations for each axis. With :math:`\rho_\pm = v(\hat\theta) - v_\pm - \tfrac32`, which is zero for a Gaussian, the
three-point rule of Gauss and Hermite gives the factor by which the integral along the axis differs from the Gaussian's,

.. math:: c_j = \ln\big(\tfrac23 + \tfrac16 e^{-\rho_+} + \tfrac16 e^{-\rho_-}\big), \qquad c = \sum_j c_j .

*Error.* What the two outer points of an axis add and take away may cancel in :math:`c_j` by chance, and nothing is
known of the shape between the axes. So all of it counts, and axes add up as if they erred in the same direction:

.. math:: \sum_j \tfrac16 \big(|e^{-\rho_+} - 1| + |e^{-\rho_-} - 1|\big) .

Where the evidence jumps (see :mod:`bayesvm.hyper.surrogate`), the gradient does not know the jumps, and the values do:
c corrects for them as far as it can, and the error grows. The axes themselves are less certain then, so it is doubled.

*Axes without curvature.* Where A has an eigenvalue that is not positive, or so small that three standard deviations
reach beyond the bounds, or where the evidence cannot be computed at an outer point, no Gaussian fits. There
:math:`\ln\int e^{v} dt` is computed along the axis by Simpson's rule between the bounds. What the other axes do along
it is not seen: such an axis adds ``NUMERIC`` nats to the error, and the result names the number of such axes.

*Bounds.* An entry that ends at a bound with a gradient g that points outward contributes
:math:`\ln\int_0^r e^{-|g| t - \frac12 a t^2} dt`, with a its own curvature and r the width of the bounds.

*What the error does not know:* other maxima, far away from :math:`\hat\theta`, with a share of the integral.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import simpson
from scipy.special import log_ndtr, logsumexp

from bayesvm.hyper.bfgs import Point
from bayesvm.hyper.multistart import Maximizer, Maximum, Objective, evaluate_point
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.surrogate import maximize_through_surrogates
from bayesvm.inference import Laplace
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix, Vector

#: Step of the differences, in units of theta. Values that vary by a factor of e have little to say about curvature;
#: rounding and the tolerance of the inference say little about differences of a tenth.
STEP = 0.1
#: Distance of the outer points of the three-point rule, in standard deviations.
OUTER = float(np.sqrt(3.0))
#: Points of Simpson's rule along an axis without curvature.
POINTS = 17
#: A density that is lower than its maximum by this factor (logarithm) does not count.
NOTHING = 10.0
#: Error of an axis that was integrated numerically, in nats.
NUMERIC = 2.0
#: Evaluations of a search for the maximum of evidence and hyperprior, which begins near it.
SEARCH = 50
#: An entry nearer than this to a bound is at the bound.
NEAR = 1e-6


@dataclasses.dataclass(frozen=True)
class ModelEvidence:
    r"""Evidence of a model, and the Gaussian about the optimum from which it follows.

    Attributes
    ----------
    value : float
        :math:`\ln P(D|M)`; NaN if the evidence cannot be computed next to the optimum.
    error : float
        Estimated bound of the error of ``value``, in nats.
    theta : array, shape (k,)
        The optimum.
    axes : array, shape (k, m)
        Principal axes of the free entries, one column each, of a length of one standard deviation.
    shape : array, shape (m, 2)
        :math:`\rho_-, \rho_+` of every axis: how far the value lies below the Gaussian's at :math:`\mp\sqrt3` standard
        deviations; zero where the integral was computed numerically.
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


def has_jumps(objective: EvidenceObjective) -> bool:
    """Whether the evidence jumps along theta: that of Laplace's method does, if the curvature of the loss jumps."""
    return isinstance(objective.inference, Laplace) and objective.likelihood.smoothed is not objective.likelihood


def nearby_maximum(objective: EvidenceObjective, theta: Vector, latent: Vector | None = None) -> Maximum:
    """Return the maximum of evidence and hyperprior reached from a theta that was learnt with another hyperprior.

    Where the evidence jumps, a second search goes through the surrogates of :mod:`bayesvm.hyper.surrogate`, and the
    better of the two ends counts.

    Parameters
    ----------
    objective : EvidenceObjective
        Log evidence plus log hyperprior.
    theta : array, shape (k,)
        Where the search begins.
    latent : array, optional
        Warm start: that of an evaluation at ``theta``.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts: half a search is of no use here.
    """
    search = Maximizer(max_evaluations=SEARCH)
    if not theta.size:
        return Maximum.at(theta, objective.evaluate(theta, latent).value, latent)
    found = [search.maximize(objective, [theta], latent=latent)]
    if has_jumps(objective) and not found[0].interrupted:
        found.append(maximize_through_surrogates(search, objective, [theta]))
    if found[-1].interrupted:
        raise KeyboardInterrupt
    best = max(found, key=lambda maximum: maximum.value)
    return dataclasses.replace(best, history=tuple(record for maximum in found for record in maximum.history))


def integrated_evidence(
    objective: Objective, theta: Vector, latent: Vector | None = None, *, jumps: bool = False
) -> ModelEvidence:
    """Return the evidence with theta integrated out, by 4 k + 1 evaluations where a Gaussian fits.

    Parameters
    ----------
    objective : Objective
        Log evidence plus log hyperprior (proper).
    theta : array, shape (k,)
        Its maximum.
    latent : array, optional
        Warm start of all evaluations: that of an evaluation at ``theta``.
    jumps : bool
        Whether the value is known to jump along theta; the error is then twice as large.
    """
    look = _Look(objective, latent)
    here = look(np.asarray(theta, dtype=float))
    theta, (low, high) = here.theta, objective.bounds.T
    bound = ((theta - low < NEAR) & (here.gradient < 0.0)) | ((high - theta < NEAR) & (here.gradient > 0.0))
    free = np.flatnonzero(~bound)
    axes, rho = np.zeros((theta.size, free.size)), np.zeros((free.size, 2))
    curvature = _curvature(look, here, low, high) if np.isfinite(here.value) else np.full((theta.size,) * 2, np.nan)
    if not np.all(np.isfinite(curvature)):
        return ModelEvidence(np.nan, np.inf, theta, axes, rho, bound, 0, look.spent)
    value = here.value + sum(
        _half_line(float(abs(here.gradient[i])), float(curvature[i, i]), float(high[i] - low[i]))
        for i in np.flatnonzero(bound)
    )
    weights, vectors = symmetric_eigen(curvature[np.ix_(free, free)])
    numeric, error = 0, 0.0
    for j, weight in enumerate(weights):
        direction = np.zeros(theta.size)
        direction[free] = vectors[:, j]
        reach = _reach(theta, direction, low, high)
        ends = _outer_values(look, here, direction, reach, float(weight))
        if ends is None:
            along, width = _integral(look, here, direction, reach)
            value, error, numeric = value + along, error + NUMERIC, numeric + 1
        else:
            width, rho[j] = 1.0 / np.sqrt(weight), here.value - ends - 0.5 * OUTER**2
            value += 0.5 * np.log(2.0 * np.pi / weight)
            value += float(logsumexp([0.0, -rho[j, 0], -rho[j, 1]], b=[2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]))
            error += float(np.sum(np.abs(np.expm1(-rho[j])))) / 6.0
        axes[:, j] = width * direction
    error *= 2.0 if jumps else 1.0
    return ModelEvidence(float(value), error, theta, axes, rho, bound, numeric, look.spent)


class _Look:
    """Evaluates the objective with one warm start, and counts; a value that cannot be computed is minus infinity."""

    def __init__(self, objective: Objective, latent: Vector | None) -> None:
        self._objective, self._latent = objective, latent
        self.spent = 0

    def __call__(self, theta: Vector) -> Point:
        self.spent += 1
        return evaluate_point(self._objective, theta, self._latent)


def _curvature(look: _Look, here: Point, low: Vector, high: Vector) -> Matrix:
    """Return minus the Hessian from differences of the gradient.

    They are one-sided at a bound, and where the evidence cannot be computed on one side; NaN if on neither.
    """
    rows = []
    for i, at in enumerate(here.theta):
        ends = [here]
        for end in (max(at - STEP, low[i]), min(at + STEP, high[i])):
            if end != at:
                moved = here.theta.copy()
                moved[i] = end
                ends.append(look(moved))
        known = sorted((end for end in ends if np.isfinite(end.value)), key=lambda end: float(end.theta[i]))
        first, last = known[0], known[-1]
        with np.errstate(invalid="ignore"):
            rows.append((first.gradient - last.gradient) / (last.theta[i] - first.theta[i]))
    H: Matrix = np.array(rows).reshape(here.theta.size, here.theta.size)
    return np.asarray(0.5 * (H + H.T))


def _reach(theta: Vector, direction: Vector, low: Vector, high: Vector) -> tuple[float, float]:
    """Return how far one can go from theta against and along the direction without leaving the bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (low - theta) / direction, (high - theta) / direction
    moving = direction != 0.0
    forth = np.min(np.where(direction > 0.0, to_high, to_low)[moving])
    back = np.min(np.where(direction > 0.0, -to_low, -to_high)[moving])
    return float(back), float(forth)


def _outer_values(
    look: _Look, here: Point, direction: Vector, reach: tuple[float, float], weight: float
) -> Vector | None:
    """Return the values at the two outer points of an axis with the given curvature; None if no Gaussian fits."""
    if weight <= 0.0 or 3.0 / np.sqrt(weight) > max(reach):
        return None
    far = OUTER / np.sqrt(weight)
    values = np.array([look(here.theta + t * direction).value for t in (-min(far, reach[0]), min(far, reach[1]))])
    return values if np.all(np.isfinite(values)) else None


def _integral(look: _Look, here: Point, direction: Vector, reach: tuple[float, float]) -> tuple[float, float]:
    """Return the logarithm of the integral along an axis, relative to the value, and the standard deviation there.

    A first row of points finds where the density lies, a second one integrates there.
    """
    low, high = -reach[0], reach[1]
    for _ in range(2):
        places = np.linspace(low, high, POINTS)
        values = np.array([look(here.theta + t * direction).value for t in places])
        top = max(here.value, float(values.max()))
        seen = np.append(places[values > top - NOTHING], 0.0)
        gap = places[1] - places[0]
        low, high = max(low, seen.min() - gap), min(high, seen.max() + gap)
    density = np.exp(values - top)
    total = float(simpson(density, x=places))
    mean = float(simpson(places * density, x=places)) / total
    spread = float(simpson((places - mean) ** 2 * density, x=places)) / total
    return float(np.log(total) + top - here.value), float(np.sqrt(spread))


def _half_line(slope: float, curvature: float, width: float) -> float:
    r"""Return :math:`\ln\int_0^r e^{-g t - a t^2/2} dt`; a negative curvature counts as none."""
    if curvature <= 1e-12 * max(1.0, slope**2):
        return float(np.log(-np.expm1(-slope * width) / slope)) if slope > 0.0 else float(np.log(width))
    root = np.sqrt(curvature)
    start, end = slope / root, slope / root + root * width
    tails = logsumexp([log_ndtr(-start), log_ndtr(-end)], b=[1.0, -1.0])
    return float(0.5 * start**2 + 0.5 * np.log(2.0 * np.pi / curvature) + tails)


__all__ = ["ModelEvidence", "has_jumps", "integrated_evidence", "nearby_maximum"]
