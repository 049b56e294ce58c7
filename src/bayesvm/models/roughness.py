r"""The predictive finish with rows that did not tune the hyperparameters: scale and roughness by honest predictions.

With many rows the hyperparameters are those of a part of the rows (:mod:`bayesvm.models.choice_on_part`). Given these,
leave-one-out predictions of the other rows, by the posterior of all, are predictions of new rows: nothing is taken off
for tuned hyperparameters. By them, recalibrated, are weighed

* *variance and common length scale*, as in :mod:`bayesvm.models.places`;
* *roughness*: the kernel that the evidence chose, and the same with an Ornstein-Uhlenbeck kernel in the place of every
  smooth stationary part, whose length scales have the same ratios. At its beginning the correlation falls to one half
  at the same distance: with :math:`r_{1/2}` the half width at length scale one, length scales are multiplied by
  :math:`r_{1/2} / \ln 2`.

The evidence prefers smooth functions where the likelihood cannot follow the size of the latent values: a rough function
shrinks the log odds of all rows alike, which costs evidence and which a slope repairs.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Gaussian, Matern32, OrnsteinUhlenbeck
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.tree import map_leaves
from bayesvm.models.base import TrainingData
from bayesvm.models.calibration import Calibration, calibrate_odds
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.lattice import LatticePlace, log_prior, shifts
from bayesvm.models.places import OF_ROWS, PART, heaviest, moved_to, searched
from bayesvm.models.predictor import Predictor

#: Distances at which the correlations of smooth kernels of length scale one are one half.
HALF_WIDTHS = {Gaussian: float(np.sqrt(2.0 * np.log(2.0))), Matern32: 0.968994}


def rougher(kernel: Kernel) -> Kernel | None:
    """Return a kernel with Ornstein-Uhlenbeck in the place of its smooth stationary parts, None if it has none."""
    if not any(type(leaf) in HALF_WIDTHS for leaf in kernel.leaves()):
        return None

    def rough(leaf: Kernel) -> Kernel:
        if not isinstance(leaf, Gaussian | Matern32):
            return leaf
        wider = np.asarray(leaf.lengthscale) * HALF_WIDTHS[type(leaf)] / np.log(2.0)
        lengthscale = tuple(wider) if wider.ndim else float(wider)
        return OrnsteinUhlenbeck(leaf.variance, lengthscale, ard=leaf.ard, features=leaf.features)

    return map_leaves(kernel, rough)


def with_kernel(model: GaussianProcessModel, kernel: Kernel) -> GaussianProcessModel:
    """Return the model with another kernel and its hyperparameters, to be moved; its posteriors are not those."""
    theta = np.concatenate([kernel.theta, model.likelihood.plain.theta])
    low, high = np.concatenate([kernel.bounds, model.objective.bounds[len(model.kernel.theta) :]]).T
    return dataclasses.replace(
        model,
        objective=dataclasses.replace(model.objective, kernel=kernel),
        maximum=dataclasses.replace(model.maximum, theta=np.clip(theta, low, high)),
    )


def finished_apart(model: GaussianProcessModel, data: TrainingData) -> list[tuple[float, Predictor]]:
    """Return calibrated predictors, with shares, at the places of both roughnesses that count.

    The lattices are searched on some of the rows that did not tune theta; the best place of each is computed on all.

    Parameters
    ----------
    model : GaussianProcessModel
        Whose hyperparameters were found on the rows that are not in ``apart``.
    data : TrainingData
        All rows.
    """
    assert model.apart is not None
    y, counts, apart = data.y, data.counts, model.apart
    size = min(apart.size, max(PART, data.n_rows // OF_ROWS))
    rows = apart[spread_rows(y[apart, 0], size)]
    count = float(counts.sum() / counts[rows].sum())
    origin = dataclasses.replace(model.predictor(), calibrations=()).loo_log_odds()[apart]
    references = np.average(np.abs(origin), axis=0, weights=counts[apart])
    members: dict[tuple[int, LatticePlace], Predictor] = {}
    found: dict[tuple[int, LatticePlace], tuple[Calibration, ...]] = {}
    scores: dict[tuple[int, LatticePlace], float] = {}
    for form, kernel in enumerate(k for k in (model.kernel, rougher(model.kernel)) if k is not None):
        here = with_kernel(model, kernel)
        part = dataclasses.replace(here, objective=here.objective.part(rows))
        _, places = searched(part, part.moved(here.theta), y[rows], counts[rows], count, 0.0)
        place = places[0].lattice
        member = moved_to(here, *shifts(place))
        if member is None:  # computed on a part of the rows, and not on all
            continue
        odds, key = member.loo_log_odds()[apart], (form, place)
        found[key] = tuple(
            calibrate_odds(odds[:, k], y[apart, k], counts[apart], determined=0.0, reference=float(references[k]))
            for k in range(data.n_outputs)
        )
        members[key] = member
        scores[key] = sum(fit.log_evidence for fit in found[key]) + log_prior(place)
    return [(weight, dataclasses.replace(members[key], calibrations=found[key])) for key, weight in heaviest(scores)]


__all__ = ["finished_apart", "rougher"]
