r"""The predictive finish with many rows: variance, common length scale and roughness by leave-one-out predictions.

Two kernels are compared: the one that the evidence chose, and the same with an Ornstein-Uhlenbeck kernel in the place
of every smooth stationary part, whose length scales have the same ratios. At its beginning the correlation falls to one
half at the same distance: with :math:`r_{1/2}` the half width at length scale one, length scales are multiplied by
:math:`r_{1/2} / \ln 2`. Each has the lattice of variances and common length scales of :mod:`bayesvm.models.places`,
searched on a part of the rows; the best place of each is computed on all rows, and weighed by its recalibrated
leave-one-out predictions.

The evidence prefers smooth functions where the likelihood cannot follow the size of the latent values: a rough function
shrinks the log odds of all rows alike, which costs evidence and which a slope repairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Gaussian, Matern32, OrnsteinUhlenbeck
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.tree import map_leaves
from bayesvm.models.base import Candidate, TrainingData
from bayesvm.models.calibration import calibrate_odds
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.lattice import ORIGIN, LatticePlace, log_prior, shifts
from bayesvm.models.places import OF_ROWS, PART, heaviest, moved_to, searched
from bayesvm.models.predictor import Predictor

#: Rows beyond which both kernels are compared.
MANY = 3000
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


def finished_roughness(model: GaussianProcessModel, data: TrainingData) -> list[tuple[float, Predictor]]:
    """Return calibrated predictors, with shares, at the best places of both kernels.

    Parameters
    ----------
    model : GaussianProcessModel
        At the maximum of its evidence, with marginals at the training rows.
    data : TrainingData
        On which it was fitted.
    """
    y, counts, determined = data.y, data.counts, model.determined
    rows = spread_rows(y[:, 0], max(PART, data.n_rows // OF_ROWS))
    count = float(counts.sum() / counts[rows].sum())
    origin = dataclasses.replace(model.predictor(), calibrations=())
    references = np.average(np.abs(origin.loo_log_odds()), axis=0, weights=counts)
    members: dict[tuple[int, LatticePlace], Predictor] = {}
    scores: dict[tuple[int, LatticePlace], float] = {}
    for form, kernel in enumerate(k for k in (model.kernel, rougher(model.kernel)) if k is not None):
        here = with_kernel(model, kernel)
        part = dataclasses.replace(here, objective=here.objective.part(rows))
        _, places = searched(part, part.moved(here.theta), y[rows], counts[rows], count, determined)
        place = places[0].lattice
        member = moved_to(here, *shifts(place))
        if member is None and kernel is model.kernel:
            place, member = ORIGIN, origin
        if member is None:  # computed on a part of the rows, and not on all
            continue
        odds = member.loo_log_odds()
        found = tuple(
            calibrate_odds(
                odds[:, k], y[:, k], counts, determined=determined / data.n_outputs, reference=float(references[k])
            )
            for k in range(data.n_outputs)
        )
        members[form, place] = dataclasses.replace(member, calibrations=found)
        scores[form, place] = sum(fit.log_evidence for fit in found) + log_prior(place)
    return [(weight, members[key]) for key, weight in heaviest(scores)]


def split_row(row: Candidate, kernel: Kernel, members: Sequence[tuple[float, Predictor]]) -> tuple[Candidate, ...]:
    """Return the listed candidate, and with its share of the weight the rougher form of its kernel if that predicts."""
    own = [type(leaf) for leaf in kernel.leaves()]
    share = sum(weight for weight, member in members if [type(leaf) for leaf in member.kernel.leaves()] != own)
    if share == 0.0:
        return (row,)
    rough = Candidate(f"{row.kernel}, rougher", np.nan, True, row.output, weight=row.weight * share)
    return dataclasses.replace(row, kept=share < 1.0, weight=row.weight * (1.0 - share)), rough


__all__ = ["MANY", "finished_roughness", "rougher", "split_row"]
