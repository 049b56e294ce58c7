r"""The predictive finish with many rows: variance, common length scale and form by leave-one-out predictions.

Four kernels predict together: the one that the evidence chose, and the same with another one in the place of every
smooth stationary part, whose length scales have the same ratios:

- *exponential*: the Ornstein-Uhlenbeck kernel :math:`e^{-r}`;
- *laplacian* and *laplacian, power 1/2*: :math:`e^{-s}` and :math:`e^{-\sqrt s}` of the Manhattan distance s
  (:class:`~bayesvm.kernels.Laplacian`), for features that act one by one, by thresholds or counts. Both are left out
  for sparse inputs, and for one feature, where the first is the exponential kernel.

The exponential kernel falls to one half at the same distance: with :math:`r_{1/2}` the half width at length scale one,
length scales are multiplied by :math:`r_{1/2} / \ln 2`. The Laplacian kernels have its value at typical distances: if
differences are normal with variance two, as of independent standardised features,
:math:`\bar r^2 = 2 \sum_l \ell_l^{-2}` and :math:`\bar s = 2 \pi^{-1/2} \sum_l \ell_l^{-1}`, so length scales are
multiplied by :math:`\bar s / \bar r^{1/p}`.

Each form has the lattice of variances and common length scales of :mod:`bayesvm.models.places`, searched on a part of
the rows; the best place of each is computed on all rows and recalibrated. The weights are those of
:mod:`bayesvm.models.stacking`.

The evidence prefers smooth functions where the likelihood cannot follow the size of the latent values: a rough function
shrinks the log odds of all rows alike, which costs evidence and which a slope repairs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Gaussian, Laplacian, Matern32, Matern52, OrnsteinUhlenbeck
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.tree import map_leaves
from bayesvm.models.base import Candidate, TrainingData
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.lattice import ORIGIN, shifts
from bayesvm.models.places import OF_ROWS, PART, moved_to, recalibrated, searched
from bayesvm.models.predictor import Predictor
from bayesvm.models.stacking import stacked_weights
from bayesvm.typing import Vector

#: Kernels in the place of which others are put.
Smooth = Gaussian | Matern32 | Matern52
#: Rows beyond which other forms are compared.
MANY = 3000
#: Distances at which the correlations of smooth kernels of length scale one are one half.
HALF_WIDTHS = {Gaussian: float(np.sqrt(2.0 * np.log(2.0))), Matern32: 0.968994, Matern52: 1.042122}
#: Powers of the Manhattan distance, and what the kernels are called.
LAPLACIAN = "laplacian"
POWERS = {LAPLACIAN: 1.0, f"{LAPLACIAN}, power 1/2": 0.5}


def other_forms(kernel: Kernel, X: Inputs) -> dict[str, Kernel]:
    """Return the kernel with others in the place of its smooth stationary parts, by name; none if it has none."""
    if not any(type(leaf) in HALF_WIDTHS for leaf in kernel.leaves()):
        return {}
    changes: dict[str, Callable[[Smooth], Kernel]] = {"exponential": _exponential}
    if X.n_features > 1 and not X.is_sparse:
        changes |= {name: functools.partial(_laplacian, X.n_features, power) for name, power in POWERS.items()}
    return {name: map_leaves(kernel, functools.partial(_in_place, of)) for name, of in changes.items()}


def _in_place(of: Callable[[Smooth], Kernel], leaf: Kernel) -> Kernel:
    """Return what stands in the place of a leaf."""
    return of(leaf) if isinstance(leaf, Smooth) else leaf


def _exponential(leaf: Smooth) -> OrnsteinUhlenbeck:
    """Return the Ornstein-Uhlenbeck kernel of the same half width."""
    wider = _wider(leaf.lengthscale, HALF_WIDTHS[type(leaf)] / np.log(2.0))
    return OrnsteinUhlenbeck(leaf.variance, wider, ard=leaf.ard, features=leaf.features)


def _laplacian(n_features: int, power: float, leaf: Smooth) -> Laplacian:
    """Return the Laplacian kernel that is worth as much as the exponential one at typical distances."""
    rough = _exponential(leaf)
    inverse = 1.0 / np.broadcast_to(np.asarray(rough.lengthscale, dtype=float), n_features)
    euclidean, manhattan = np.sqrt(2.0 * np.sum(inverse**2)), 2.0 / np.sqrt(np.pi) * np.sum(inverse)
    wider = _wider(rough.lengthscale, float(manhattan / euclidean ** (1.0 / power)))
    return Laplacian(leaf.variance, wider, power=power, ard=leaf.ard, features=leaf.features)


def _wider(lengthscale: float | Sequence[float], factor: float) -> float | tuple[float, ...]:
    """Return the product, of the same shape."""
    wider = np.asarray(lengthscale, dtype=float) * factor
    return tuple(wider.tolist()) if wider.ndim else float(wider)


def with_kernel(model: GaussianProcessModel, kernel: Kernel) -> GaussianProcessModel:
    """Return the model with another kernel and its hyperparameters, to be moved; its posteriors are not those."""
    theta = np.concatenate([kernel.theta, model.likelihood.plain.theta])
    low, high = np.concatenate([kernel.bounds, model.objective.bounds[len(model.kernel.theta) :]]).T
    return dataclasses.replace(
        model,
        objective=dataclasses.replace(model.objective, kernel=kernel),
        maximum=dataclasses.replace(model.maximum, theta=np.clip(theta, low, high)),
    )


def finished_forms(model: GaussianProcessModel, data: TrainingData) -> list[tuple[str, float, Predictor]]:
    """Return names, shares and calibrated predictors of all forms that count; the name of the chosen one is empty.

    Parameters
    ----------
    model : GaussianProcessModel
        At the maximum of its evidence, with marginals at the training rows.
    data : TrainingData
        On which it was fitted.
    """
    origin = dataclasses.replace(model.predictor(), calibrations=())
    references = np.average(np.abs(origin.loo_log_odds()), axis=0, weights=data.counts)
    forms: Mapping[str, Kernel] = {"": model.kernel, **other_forms(model.kernel, data.X)}
    members = {
        name: member
        for name, kernel in forms.items()
        if (member := _finished(model, kernel, data, origin, references)) is not None
    }
    likelihoods = [-np.logaddexp(0.0, -data.y * member.loo_log_odds()).ravel() for member in members.values()]
    weights = stacked_weights(np.stack(likelihoods), np.repeat(data.counts, data.n_outputs))
    found = zip(members, weights.tolist(), members.values(), strict=True)
    return sorted((part for part in found if part[1] > 0.0), key=lambda part: -part[1])


def _finished(
    model: GaussianProcessModel, kernel: Kernel, data: TrainingData, origin: Predictor, references: Vector
) -> Predictor | None:
    """Return the calibrated predictor at the best place of a kernel; None if none can be computed on all rows."""
    y, counts, determined = data.y, data.counts, model.determined
    rows = spread_rows(y[:, 0], max(PART, data.n_rows // OF_ROWS))
    count = float(counts.sum() / counts[rows].sum())
    here = with_kernel(model, kernel)
    part = dataclasses.replace(here, objective=here.objective.part(rows))
    begin, place = moved_to(part, *shifts(ORIGIN)), ORIGIN
    if begin is not None:
        _, places = searched(part, begin, y[rows], counts[rows], count, determined)
        place = places[0].lattice
    own = kernel is model.kernel
    member = origin if own and place == ORIGIN else moved_to(here, *shifts(place))
    if member is None and own:  # computed on a part of the rows, and not on all
        member = origin
    if member is None:
        return None
    calibrations = recalibrated(member.loo_log_odds(), y, counts, determined / data.n_outputs, references)
    return dataclasses.replace(member, calibrations=calibrations)


def split_row(row: Candidate, shares: Mapping[str, float]) -> tuple[Candidate, ...]:
    """Return the listed candidate and the other forms of its kernel that predict, each with its share of the weight.

    ``shares`` are those of :func:`finished_forms`; that of the candidate itself has no name.
    """
    own = shares.get("", 0.0)
    others = (
        Candidate(f"{row.kernel}, {name}", np.nan, True, row.output, weight=row.weight * share)
        for name, share in shares.items()
        if name
    )
    return dataclasses.replace(row, kept=own > 0.0, weight=row.weight * own), *others


__all__ = ["LAPLACIAN", "MANY", "finished_forms", "other_forms", "split_row"]
