r"""The first steps of a search on some of the rows.

A start may be far from its end: at a length scale of one in twenty dimensions no two rows have anything to do with each
other, every row has a place in the factor, and an evaluation costs twenty times as much as near the optimum. Some of
the rows show the way there as well. So with a few hundred rows or more, and few hyperparameters, a start where most
rows are in the support goes ahead on a part of the rows, as far as that part can tell, and searches on all rows from
there, with the curvature that was found, scaled to all rows. (With thousands of rows the search goes all the
way on a part of them: :mod:`bayesvm.hyper.subsample`.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.subsample import drawn_rows
from bayesvm.hyper.surrogate import FEW, joined, maximize_through_surrogates, surrogates
from bayesvm.inference import Laplace
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix, Vector

#: Rows from which on there are scouts, and the share of the rows that they see.
ENOUGH = 600
SHARE = 0.25
#: Share of the rows in the support from which on a start sends one.
DENSE = 0.7
#: Gain per hyperparameter, in nats of their rows, at which they stop, and the most evaluations of each.
COARSE = 0.1
STEPS = 12


@dataclasses.dataclass(frozen=True)
class Scouted:
    """Where a start goes on: theta, what is known of the curvature and the latent values there, and the way to it."""

    theta: Vector
    H: Matrix | None = None
    latent: Vector | None = None
    record: StartRecord | None = None


def maximize_from_scouts(maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise the objective from the given starts, through its surrogates, with the first steps on some rows."""
    few = objective.theta0.size <= FEW and isinstance(objective.inference, Laplace)
    if objective.n_rows < ENOUGH or not few or objective.y.ndim > 1:
        return maximize_through_surrogates(maximizer, objective, starts)
    part = surrogates(objective)[0].part(drawn_rows(objective.y, int(SHARE * objective.n_rows)))
    scouted = [_ahead(maximizer, part, objective, start) for start in starts]
    near = dataclasses.replace(maximizer, near=all(scout.H is not None for scout in scouted))
    maximum = maximize_through_surrogates(
        near,
        objective,
        [scout.theta for scout in scouted],
        metrics=[scout.H for scout in scouted],
        latent=scouted[0].latent if len(scouted) == 1 else None,
    )
    pairs = zip(scouted, maximum.history, strict=True)
    history = tuple(after if s.record is None else joined(s.record, after, own=True) for s, after in pairs)
    return dataclasses.replace(maximum, history=history)


def _ahead(maximizer: Maximizer, part: EvidenceObjective, whole: EvidenceObjective, start: Vector) -> Scouted:
    """Return where a start goes on: at itself, if few of the rows of the part are in the support there."""
    try:
        first = part.evaluate(np.clip(start, *part.bounds.T))
    except NotPositiveDefiniteError:  # all rows will say so
        return Scouted(start)
    if first.evidence.rows.size < DENSE * part.n_rows:
        return Scouted(start)
    coarse = dataclasses.replace(
        maximizer, tol=max(COARSE, maximizer.tol), max_evaluations=min(STEPS, maximizer.max_evaluations)
    )
    found = coarse.maximize(part, [start], latent=first.evidence.latent)
    (record,) = found.history
    H = None if record.H is None else _with_more_rows(record.H, SHARE)
    return Scouted(found.theta, H, _predicted_latent(part, whole, found), record)


def _with_more_rows(H: Matrix, share: float) -> Matrix:
    r"""Return the inverse Hessian for more rows.

    What the rows have added to the curvature :math:`H^{-1}` grows with their number; the identity, with which every
    search begins and which is all that is known of flat directions, does not.
    """
    values, vectors = symmetric_eigen(H)
    curved = np.clip(values, np.finfo(float).tiny, 1.0)
    grown = np.where(values < 1.0, 1.0 / (1.0 + (1.0 / curved - 1.0) / share), values)
    return np.asarray((vectors * grown) @ vectors.T)


def _predicted_latent(part: EvidenceObjective, whole: EvidenceObjective, found: Maximum) -> Vector:
    """Return the latent values that a part of the rows predicts for all of them, from where the mode is searched.

    Zero where a prediction is so wrong that the loss is infinite.
    """
    (posterior,) = part.evaluate(found.theta, found.latent).posteriors
    kernel, likelihood = whole.model(found.theta)
    f = posterior.mean(kernel.gram(whole.X, part.X.take(posterior.support)))
    return np.where(np.isfinite(likelihood.derivatives(whole.y, f).loss), f, 0.0)


__all__ = ["maximize_from_scouts"]
