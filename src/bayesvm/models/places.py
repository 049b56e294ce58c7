r"""The predictive finish: variance and common length scale weighted by recalibrated leave-one-out predictions.

The evidence finds many hyperparameters well, and the overall scale of the latent function badly where the likelihood is
not that of the data. So the model that the evidence chose is compared with a few others that differ from it in two
numbers only: the variances of all parts of the kernel are multiplied by :math:`e^{a}`, all length scales by
:math:`e^{l}`. Each gets its own posterior and, for every output, its own recalibration
(:mod:`bayesvm.models.calibration`), and the weight

.. math:: \ln w(a, l) = \sum_k \ln E_k(a, l) - \frac{a^2}{2 \sigma_a^2} - \frac{l^2}{2 \sigma_l^2} + \text{const} ,

so that the evidence's own values are kept unless the gain in leave-one-out likelihood pays for the way. The places form
a lattice. It is searched from the origin: the four neighbours of the best place so far are looked at until none of them
is new and better. Places with a small weight are left out; predictions are averaged over the others.

*Many rows.* The posteriors on the lattice are those of a part of the rows, of which each then stands for several. The
places that count there, and the origin, are computed on all rows, whose leave-one-out predictions give the weights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from scipy.special import logsumexp

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.subsample import spread_rows
from bayesvm.models.base import TrainingData
from bayesvm.models.calibration import Calibration, calibrate_odds
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.lattice import ORIGIN, LatticePlace, climb, log_prior, shifted, shifts
from bayesvm.models.predictor import Predictor
from bayesvm.typing import Matrix, Vector

Key = TypeVar("Key", bound=tuple[Any, ...])

#: Places whose weight is below this share of the largest are left out.
SHARE = 0.3
#: Rows beyond which the lattice is searched on a part of the rows, how many these are at least, and one in how many.
MANY, PART, OF_ROWS = 700, 500, 3


@dataclasses.dataclass(frozen=True)
class Place:
    """A model near the one that the evidence chose.

    Attributes
    ----------
    lattice : LatticePlace
        Its steps in variance and length scale.
    calibrations : tuple of Calibration
        Of its leave-one-out predictions, one per output.
    weight : float
        Its share in the predictions.
    """

    lattice: LatticePlace
    calibrations: tuple[Calibration, ...]
    weight: float

    @property
    def variance(self) -> float:
        """What is added to the logarithms of all variances of the kernel."""
        return shifts(self.lattice)[0]

    @property
    def lengthscale(self) -> float:
        """What is added to the logarithms of all length scales."""
        return shifts(self.lattice)[1]


def weighted_places(
    log_odds: Callable[[float, float], Matrix | None],
    y: Matrix,
    weights: Vector,
    *,
    determined: float,
    count: float = 1.0,
) -> tuple[Place, ...]:
    r"""Search the lattice and return the places that count, the heaviest first.

    Parameters
    ----------
    log_odds : callable
        Given what is added to the logarithms of variance and length scale, returns the leave-one-out log odds of the
        training rows, one column per output, or None where the posterior cannot be computed. Called once for every
        place looked at, first with zeros, where it must succeed.
    y : array, shape (n, q)
        Labels -1/+1, one column per output.
    weights : array, shape (n,)
        Weights of the rows.
    determined : float
        How many hyperparameters the data determine.
    count : float
        For how many rows each row stands, if the places are judged on some of the rows.
    """
    origin = log_odds(0.0, 0.0)
    if origin is None:
        raise ValueError("weighted_places: expected log odds at the model that the evidence chose, found None")
    references = np.average(np.abs(origin), axis=0, weights=weights)
    share = determined / y.shape[1]  # the outputs determined the hyperparameters together
    found: dict[LatticePlace, tuple[Calibration, ...]] = {}

    def look(place: LatticePlace) -> float | None:
        odds = origin if place == ORIGIN else log_odds(*shifts(place))
        if odds is None:
            return None
        found[place] = recalibrated(odds, y, weights, share, references)
        return count * sum(fit.log_evidence for fit in found[place]) + log_prior(place)

    return _heaviest(climb(look), found)


def recalibrated(
    odds: Matrix, y: Matrix, weights: Vector, determined: float, references: Vector
) -> tuple[Calibration, ...]:
    """Return the calibration of the leave-one-out log odds of every output; see :func:`calibrate_odds`."""
    return tuple(
        calibrate_odds(odds[:, k], y[:, k], weights, determined=determined, reference=float(references[k]))
        for k in range(y.shape[1])
    )


def _heaviest(
    scores: dict[LatticePlace, float], found: dict[LatticePlace, tuple[Calibration, ...]]
) -> tuple[Place, ...]:
    """Return the places with enough weight, normalised."""
    return tuple(Place(p, found[p], weight) for p, weight in heaviest(scores))


def heaviest(scores: Mapping[Key, float]) -> list[tuple[Key, float]]:
    """Return what has enough weight, given its logarithms up to a constant, with normalised weights in their order."""
    top = max(scores.values())
    kept = sorted((p for p in scores if scores[p] >= top + np.log(SHARE)), key=lambda p: (-scores[p], p))
    total = float(logsumexp([scores[p] for p in kept]))
    return [(p, float(np.exp(scores[p] - total))) for p in kept]


def finished(model: GaussianProcessModel, data: TrainingData) -> list[tuple[float, Predictor]]:
    """Return what predicts in place of a model of labels: calibrated predictors at the places that count, with shares.

    Parameters
    ----------
    model : GaussianProcessModel
        At the maximum of its evidence, with marginals at the training rows.
    data : TrainingData
        On which it was fitted.
    """
    if data.n_rows <= MANY:
        looked, places = searched(model, _uncorrected(model), data.y, data.counts, 1.0, model.determined)
        return [
            (p.weight, dataclasses.replace(looked[p.variance, p.lengthscale], calibrations=p.calibrations))
            for p in places
        ]
    rows = spread_rows(data.y[:, 0], max(PART, data.n_rows // OF_ROWS))
    part = dataclasses.replace(model, objective=model.objective.part(rows))
    count = float(data.counts.sum() / data.counts[rows].sum())
    _, places = searched(part, part.moved(model.theta), data.y[rows], data.counts[rows], count, model.determined)
    return _on_all_rows(model, data, places)


def _on_all_rows(
    model: GaussianProcessModel, data: TrainingData, places: tuple[Place, ...]
) -> list[tuple[float, Predictor]]:
    """Return calibrated predictors at places that a part of the rows has found, and at the origin, by all rows.

    The best variance depends on the number of rows, so the weights of the part are not those of all rows.
    """
    origin = _uncorrected(model)
    references = np.average(np.abs(origin.loo_log_odds()), axis=0, weights=data.counts)
    share = model.determined / data.n_outputs
    members: dict[LatticePlace, Predictor] = {}
    found: dict[LatticePlace, tuple[Calibration, ...]] = {}
    scores: dict[LatticePlace, float] = {}
    for place in dict.fromkeys([ORIGIN, *(p.lattice for p in places)]):
        member = origin if place == ORIGIN else moved_to(model, *shifts(place))
        if member is None:  # computed on a part of the rows, and not on all
            continue
        odds = member.loo_log_odds()
        found[place] = recalibrated(odds, data.y, data.counts, share, references)
        members[place], scores[place] = member, sum(fit.log_evidence for fit in found[place]) + log_prior(place)
    return [
        (p.weight, dataclasses.replace(members[p.lattice], calibrations=p.calibrations))
        for p in _heaviest(scores, found)
    ]


def searched(
    model: GaussianProcessModel, origin: Predictor, y: Matrix, weights: Vector, count: float, determined: float
) -> tuple[dict[tuple[float, float], Predictor], tuple[Place, ...]]:
    """Return the predictors of all places looked at, and the places that count."""
    looked: dict[tuple[float, float], Predictor] = {}

    def log_odds(variance: float, lengthscale: float) -> Matrix | None:
        here = origin if variance == lengthscale == 0.0 else moved_to(model, variance, lengthscale)
        if here is None:
            return None
        looked[variance, lengthscale] = here
        return here.loo_log_odds()

    return looked, weighted_places(log_odds, y, weights, determined=determined, count=count)


def _uncorrected(model: GaussianProcessModel) -> Predictor:
    """Return the predictor of a model without its calibration."""
    return dataclasses.replace(model.predictor(), calibrations=())


def moved_to(model: GaussianProcessModel, variance: float, lengthscale: float) -> Predictor | None:
    """Return the predictor at a place, None where its posterior cannot be computed."""
    objective = model.objective
    try:
        return model.moved(shifted(model.theta, objective.names, objective.bounds, variance, lengthscale))
    except NotPositiveDefiniteError:
        return None


__all__ = ["Place", "finished", "heaviest", "moved_to", "recalibrated", "searched", "weighted_places"]
