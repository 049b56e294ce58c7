r"""Kernels whose variances and length scales are those of a given one times common factors, on a lattice.

A place (i, j) stands for variances times :math:`e^{i a}` and length scales times :math:`e^{j l}`, with steps a and l.
How far a place is from the given kernel has a prior: independent normal distributions of both logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Steps of the lattice in the logarithms of variance and length scale, and the standard deviations of their prior.
VARIANCE_STEP, LENGTHSCALE_STEP = 2.0, 0.7
VARIANCE_SPREAD, LENGTHSCALE_SPREAD = 5.0, 0.7
#: The lattice ends after so many steps in each direction, if nothing else is said.
FARTHEST = 3

LatticePlace = tuple[int, int]
ORIGIN: LatticePlace = (0, 0)


def shifts(place: LatticePlace) -> tuple[float, float]:
    """Return what a place adds to the logarithms of variances and of length scales."""
    return VARIANCE_STEP * place[0], LENGTHSCALE_STEP * place[1]


def log_prior(place: LatticePlace) -> float:
    """Return the logarithm of the prior of a place, relative to that of the origin."""
    variance, lengthscale = shifts(place)
    return -0.5 * (variance / VARIANCE_SPREAD) ** 2 - 0.5 * (lengthscale / LENGTHSCALE_SPREAD) ** 2


def climb(
    look: Callable[[LatticePlace], float | None], start: LatticePlace = ORIGIN, farthest: int = FARTHEST
) -> dict[LatticePlace, float]:
    """Look at the four neighbours of the best place so far until none of them is new, and return all scores.

    Parameters
    ----------
    look : callable
        Returns the score of a place, None where there is none. Called once per place.
    start : LatticePlace
        Where to begin; its score must exist.
    farthest : int
        The lattice ends after so many steps in each direction.
    """
    seen = {start}
    scores = _found(look, [start])
    while scores:
        i, j = max(scores, key=lambda place: (scores[place], -abs(place[0]) - abs(place[1]), place))
        around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        fresh = [place for place in around if place not in seen and max(map(abs, place)) <= farthest]
        if not fresh:
            return scores
        seen.update(fresh)
        scores.update(_found(look, fresh))
    raise ValueError("climb: expected a score at the start, found None")


def _found(look: Callable[[LatticePlace], float | None], places: Sequence[LatticePlace]) -> dict[LatticePlace, float]:
    """Return the scores of the places that have one."""
    looked = {place: look(place) for place in places}
    return {place: score for place, score in looked.items() if score is not None}


def shifted(theta: Vector, names: Sequence[str], bounds: Matrix, variance: float, lengthscale: float) -> Vector:
    """Return theta with the logarithms of the kernel's variances and length scales shifted, within the bounds."""
    kernel = np.array([not name.startswith("likelihood.") for name in names])
    scale = np.array(["lengthscale" in name for name in names])
    size = np.array(["variance" in name for name in names])
    moved = theta + np.where(kernel & scale, lengthscale, 0.0) + np.where(kernel & size, variance, 0.0)
    return np.clip(moved, bounds[:, 0], bounds[:, 1])


__all__ = ["ORIGIN", "LatticePlace", "climb", "log_prior", "shifted", "shifts"]
