r"""The predictive finish: variance and common length scale weighted by recalibrated leave-one-out predictions.

The evidence finds many hyperparameters well, and the overall scale of the latent function badly, where the likelihood
is not that of the data. So the machine that the evidence chose is compared with a few others that differ from it in two
numbers only: the variances of all parts of the kernel are multiplied by :math:`e^{a}`, all length scales by
:math:`e^{l}`. Each gets its own posterior and its own recalibration (:mod:`bayesvm.hyper.recalibration`), and the
weight

.. math:: \ln w(a, l) = \ln E(a, l) - \frac{a^2}{2 \sigma_a^2} - \frac{l^2}{2 \sigma_l^2} + \text{const} ,

so that the evidence's own values are kept unless the gain in leave-one-out likelihood pays for the way. The places form
a lattice. It is searched from the origin: the four neighbours of the best place so far are looked at until none of them
is new and better. Places with a small weight are left out; predictions are averaged over the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import logsumexp

from bayesvm.hyper.recalibration import Recalibration, recalibrate
from bayesvm.typing import Matrix, Vector

#: Steps of the lattice in the logarithms of variance and length scale, and the standard deviations of their prior.
VARIANCE_STEP, LENGTHSCALE_STEP = 2.0, 0.7
VARIANCE_SPREAD, LENGTHSCALE_SPREAD = 5.0, 0.7
#: The lattice ends after so many steps in each direction.
FARTHEST = 3
#: Places whose weight is below this share of the largest are left out.
SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Place:
    """A machine near the one that the evidence chose.

    Attributes
    ----------
    variance, lengthscale : float
        What is added to the logarithms of all variances of the kernel and of all length scales.
    recalibration : Recalibration
        Of its leave-one-out predictions.
    weight : float
        Its share in the predictions.
    """

    variance: float
    lengthscale: float
    recalibration: Recalibration
    weight: float


def weighted_places(
    log_odds: Callable[[float, float], Vector | None], y: Vector, weights: Vector, *, determined: float
) -> tuple[Place, ...]:
    """Search the lattice and return the places that count, the heaviest first.

    Parameters
    ----------
    log_odds : callable
        Given what is added to the logarithms of variance and length scale, returns the leave-one-out log odds of the
        training rows, or None where the posterior cannot be computed. Called once for every place looked at, first with
        zeros, where it must succeed.
    y, weights : arrays, shape (n,)
        Labels -1/+1 and weights of the rows.
    determined : float
        How many hyperparameters the data determine.
    """
    origin = log_odds(0.0, 0.0)
    if origin is None:
        raise ValueError("weighted_places: expected log odds at the machine that the evidence chose, found None")
    reference = float(np.average(np.abs(origin), weights=weights))
    found: dict[tuple[int, int], tuple[float, Recalibration]] = {}

    def look(place: tuple[int, int]) -> None:
        a, length = VARIANCE_STEP * place[0], LENGTHSCALE_STEP * place[1]
        odds = origin if place == (0, 0) else log_odds(a, length)
        if odds is not None:
            fit = recalibrate(odds, y, weights, determined=determined, reference=reference)
            prior = -0.5 * (a / VARIANCE_SPREAD) ** 2 - 0.5 * (length / LENGTHSCALE_SPREAD) ** 2
            found[place] = (fit.log_evidence + prior, fit)

    look((0, 0))
    seen = {(0, 0)}
    while True:
        i, j = max(found, key=lambda place: (found[place][0], -abs(place[0]) - abs(place[1]), place))
        around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        fresh = [place for place in around if place not in seen and max(map(abs, place)) <= FARTHEST]
        if not fresh:
            break
        seen.update(fresh)
        for place in fresh:
            look(place)
    return _heaviest(found)


def _heaviest(found: dict[tuple[int, int], tuple[float, Recalibration]]) -> tuple[Place, ...]:
    """Return the places with enough weight, normalised."""
    scores = {place: score for place, (score, _) in found.items()}
    top = max(scores.values())
    kept = sorted((p for p in scores if scores[p] >= top + np.log(SHARE)), key=lambda p: (-scores[p], p))
    total = float(logsumexp([scores[p] for p in kept]))
    return tuple(
        Place(VARIANCE_STEP * p[0], LENGTHSCALE_STEP * p[1], found[p][1], float(np.exp(scores[p] - total)))
        for p in kept
    )


def shifted(theta: Vector, names: Sequence[str], bounds: Matrix, variance: float, lengthscale: float) -> Vector:
    """Return theta with the logarithms of the kernel's variances and length scales shifted, within the bounds."""
    kernel = np.array([not name.startswith("likelihood.") for name in names])
    scale = np.array(["lengthscale" in name for name in names])
    size = np.array(["variance" in name for name in names])
    moved = theta + np.where(kernel & scale, lengthscale, 0.0) + np.where(kernel & size, variance, 0.0)
    return np.clip(moved, bounds[:, 0], bounds[:, 1])


__all__ = ["Place", "shifted", "weighted_places"]
