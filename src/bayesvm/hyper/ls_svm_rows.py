r"""Learning the kernel of a least-squares machine with many rows: on parts of the rows first, and without eigenpairs.

An evaluation of level 2 over kernel and gamma together (:class:`~bayesvm.hyper.ls_svm.JointObjective`) costs
:math:`n^3` operations, one of level 3 ten times as many, since it needs eigenpairs. So all starts search on a part of
the rows; their ends go on with twice as many, and twice as many again, with the curvature that was found, scaled to
the number of rows: near their goal two or three evaluations with all rows are enough.

The evidence has as a rule two maxima, a short length scale with little noise and a long one with more, and it is the
number of rows that decides between them: the lower one by far on a part may be the higher by far on all. So beside the
ends that were found the best kernel with the noise at its least goes on from part to part. From one part to the next an
end moves by about as much as before, so that the ends are moved once more, and the search with all rows begins at the
one that is highest there, as a value with all rows tells; the factor behind that value serves the first evaluation.

Level 3 differs from level 2 by the Occam factor, :math:`-\tfrac12 \ln q d - \tfrac12 \ln q (F - d)`, whose slope in the
logarithms of the kernel's parameters is below one and next to constant, where the curvature of level 2 grows with the
number of rows. Its slope on the first part, the difference of the gradients of level 3 and of level 2 there, tilts
level 2 on all rows. What remains between the end and the maximum of level 3, :math:`\tfrac12 \delta^\top H \delta` with
the error :math:`\delta` of the slope and the inverse Hessian H, is far below the tolerance of the search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective, maximize_levels, without_gamma
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.subsample import drawn_rows
from bayesvm.hyper.surrogate import FEW, same_ends
from bayesvm.inference.ls_svm import occam, relative_gamma
from bayesvm.typing import Matrix, Vector

#: Rows from which on the search begins with half of them.
MANY = 600
#: Factor of the tolerance on parts of the rows.
COARSE = 10.0
#: Nats below the highest end with all rows within which an end is searched from, too.
CLOSE = 5.0


@dataclasses.dataclass(frozen=True)
class End:
    """Where a search on some of the rows ended, and whether the noise was kept at its least."""

    record: StartRecord
    quiet: bool = False
    continued: bool = False  #: Whether the search began at the end with half the rows.

    def ahead(self, bounds: Matrix) -> Vector:
        """Return the end with twice the rows, if it moves as far again as it moved last time."""
        step = self.record.end - self.record.start if self.continued else 0.0
        return np.clip(self.record.end + step, *bounds.T)


def maximize_on_parts(maximizer: Maximizer, objective: LevelsObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise level 3 from the given starts; with many rows and few parameters on parts of the rows first.

    The history holds a record per start on the first part, and then the searches with more rows. Their values are those
    of level 2.
    """
    tied = any(start.size != objective.theta0.size for start in starts)
    chain = _parts(objective)
    if len(chain) == 1 or tied:
        return maximize_levels(maximizer, objective, starts)
    first = maximizer.maximize(JointObjective(chain[0]), [np.append(start, 0.0) for start in starts])
    tilt = _occam_slope(chain[0], first.theta)
    quiet = maximizer.maximize(JointObjective(chain[0], quiet=True), [first.theta])
    ends = [*_distinct([End(record) for record in first.history]), End(quiet.history[0], quiet=True)]
    records = [*first.history, *quiet.history]
    coarse = dataclasses.replace(maximizer, tol=COARSE * maximizer.tol)
    for more in chain[1:-1]:
        ends = _distinct([_on_more_rows(coarse, JointObjective(more, quiet=end.quiet), end) for end in ends])
        records += [end.record for end in ends]
    found = _on_all_rows(maximizer, JointObjective(objective, tilt), ends)
    assert found.latent is not None
    theta, (log_gamma, gamma_eff) = found.theta[:-1], found.latent
    value = found.value - float(tilt @ theta) + occam(objective.design, objective.y.shape[1], float(gamma_eff))
    history = tuple(without_gamma(record) for record in (*records, *found.history))
    return Maximum(theta, value, np.array([log_gamma]), found.status, history)


def _parts(objective: LevelsObjective) -> list[LevelsObjective]:
    """Return the objectives of growing numbers of rows, each with twice as many; the last is the given one."""
    chain = [objective]
    while chain[0].design.n >= MANY and objective.theta0.size <= FEW:
        chain.insert(0, chain[0].part(drawn_rows(chain[0].y, chain[0].design.n // 2)))
    return chain


def _distinct(ends: Sequence[End]) -> list[End]:
    """Return the best of the ends at about the same point, for every such point."""
    return [ends[i] for i in sorted(set(same_ends([end.record for end in ends])))]


def _occam_slope(objective: LevelsObjective, point: Vector) -> Vector:
    """Return the gradient of level 3 less that of level 2 at a kernel, gamma at its optimum."""
    third = objective.evaluate(point[:-1])
    K = objective.kernel.with_theta(third.theta).gram(objective.X)
    relative = relative_gamma(K, objective.design, float(np.log(third.found.gamma)))
    second = JointObjective(objective).evaluate(np.append(third.theta, relative))
    return third.gradient - second.gradient[:-1]


def _on_more_rows(maximizer: Maximizer, objective: JointObjective, end: End) -> End:
    """Go on with twice the rows."""
    found = maximizer.maximize(objective, [end.record.end], metrics=[_with_twice_the_rows(end.record)])
    return dataclasses.replace(end, record=found.history[0], continued=True)


def _on_all_rows(maximizer: Maximizer, objective: JointObjective, ends: Sequence[End]) -> Maximum:
    """Go on from the end that is highest with all rows, moved ahead, and from those close to it."""
    starts = [end.ahead(objective.bounds) for end in ends]
    metrics = [_with_twice_the_rows(end.record) for end in ends]
    if len(ends) > 1:
        begun = [objective.begin(start) for start in starts]
        highest = max(point.value for point in begun)
        near = [i for i, point in enumerate(begun) if point.value >= highest - CLOSE]
        objective = dataclasses.replace(objective, begun=tuple(begun[i] for i in near))
        starts, metrics = [starts[i] for i in near], [metrics[i] for i in near]
    return maximizer.maximize(objective, starts, metrics=metrics)


def _with_twice_the_rows(record: StartRecord) -> Matrix | None:
    """Return the inverse Hessian at an end, for twice the rows."""
    return None if record.H is None else 0.5 * record.H


__all__ = ["MANY", "maximize_on_parts"]
