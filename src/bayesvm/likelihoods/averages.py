r"""Averages of functions, smooth between given points, under Gaussians :math:`t \sim \mathcal N(m, v)`, many at once.

On a piece between two points over which a Gaussian is wide, or that can be cut into a few parts over which it is, the
nodes are common to all samples: the functions are evaluated once, and only the Gaussian densities are left per sample,
two passes over all pairs of nodes and samples. For narrower Gaussians the nodes cover what lies within reach of the
mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesvm.likelihoods.quadrature import REACH, ROOT_2PI, RULES, WIDTHS, Functions, Rule, moving_rule
from bayesvm.typing import Indices, Matrix, Vector

#: Samples, and the ends of the piece on which each has nodes of its own.
MovingPart = tuple[Indices, float, float]

#: Second, first and zeroth powers of the nodes of the rules.
POWERS = tuple(np.stack([x * x, x, np.ones_like(x)], axis=1) for x, _ in RULES)
#: Parts into which a piece is cut at most, so that a rule resolves the Gaussians over each of them.
PARTS = 8


class FixedParts(NamedTuple):
    """Parts of pieces, a row each: which samples take part, where it is, and the number of the rule."""

    own: NDArray[np.bool_]
    start: Vector
    end: Vector
    rule: list[int]


def averages(functions: Functions, ends: Sequence[float], mean: Vector, scale: Vector, moments: int = 0) -> Matrix:
    """Return the Gaussian integrals of functions between the first and the last of ``ends``, one row per function.

    The functions are smooth between neighbours of the ``ends``, which increase, and are not evaluated there; ``scale``
    are standard deviations, positive. As many rows as there are ``moments`` follow: the integrals of the last function
    times the powers of u = (t - m)/s.
    """
    fixed, moving = _split_by_rule(ends, mean, scale)
    total = _common_sums(functions, fixed, mean, scale, moments)
    if moving:
        for own, start, end, rule in _moving_panels(moving, mean, scale):
            sums = moving_rule(functions, rule, start, end, mean[own], scale[own], moments)
            total += [np.bincount(own, row, mean.size) for row in sums]
    return total


def _split_by_rule(ends: Sequence[float], mean: Vector, scale: Vector) -> tuple[FixedParts, list[MovingPart]]:
    """Return parts of the pieces over which a rule resolves the Gaussians of some samples, and pieces for the others.

    A piece is cut into as many equal parts, up to ``PARTS``, as the narrowest Gaussians near it ask for. Samples that
    are not within reach of a piece, or part, are left out.
    """
    low, high = mean - REACH * scale, mean + REACH * scale
    a, b = np.array(ends[:-1])[:, None], np.array(ends[1:])[:, None]
    near, widths = (low < b) & (high > a), 0.5 * (b - a) / scale
    resolved = near & (widths <= PARTS * WIDTHS[-1])
    widest = np.max(widths, axis=1, where=resolved, initial=0.0)
    parts: list[tuple[int, float, float, int]] = []
    for k in np.flatnonzero(widest).tolist():
        count = max(1, math.ceil(widest[k] / WIDTHS[-1]))
        level = 0 if widest[k] <= count * WIDTHS[0] else 1
        cuts = [ends[k] + i / count * (ends[k + 1] - ends[k]) for i in range(count)]
        for start, end in pairwise([*cuts, ends[k + 1]]):  # where the losses bend the finer rule is needed
            parts.append((k, start, end, 1 if start < 0.0 < end else level))
    piece, start, end, rule = (np.array([part[i] for part in parts]) for i in range(4))
    own = resolved[piece.astype(np.intp)] & (low < end[:, None]) & (high > start[:, None])
    some = own.any(axis=1)
    rest = near & ~resolved
    moving = [(np.flatnonzero(rest[k]), ends[k], ends[k + 1]) for k in np.flatnonzero(rest.any(axis=1)).tolist()]
    return FixedParts(own[some], start[some], end[some], rule[some].tolist()), moving


def _common_sums(functions: Functions, parts: FixedParts, mean: Vector, scale: Vector, moments: int) -> Matrix:
    r"""Return the integrals over parts by nodes x on (-1, 1) that are common to all samples.

    With the centre c and the half-width h of a part, z = (m - c)/s and r = h/s, the exponent :math:`-(r x - z)^2/2` is
    a product of two matrices with three columns, and the moments are combinations of the sums of powers of x. Where r
    reaches 8 and z 17, rounding is about 1e-14 of the sum of all magnitudes.
    """
    own, half, centre = parts.own, 0.5 * (parts.end - parts.start), 0.5 * (parts.end + parts.start)
    inverse = 1.0 / np.where(own.any(axis=0), scale, 1.0)
    z, r = (mean - centre[:, None]) * inverse, half[:, None] * inverse
    exponents = np.stack([-0.5 * r * r, r * z, -0.5 * z * z], axis=1)
    exponents *= own[:, None, :]
    counts = [RULES[rule][0].size for rule in parts.rule]
    x, weights = (np.concatenate([np.empty(0), *(RULES[rule][i] for rule in parts.rule)]) for i in (0, 1))
    values = functions(np.repeat(centre, counts) + np.repeat(half, counts) * x)
    heights = values * (weights * np.repeat(half, counts))
    powers = itertools.accumulate([x] * moments, np.multiply, initial=heights[-1])
    heights = np.vstack([heights[:-1], *powers])
    sums, at, few = np.zeros((len(counts), len(heights), mean.size)), 0, (3 * own.sum(axis=1) < mean.size).tolist()
    for k, count in enumerate(counts):
        some = np.flatnonzero(own[k]) if few[k] else slice(None)
        bell = POWERS[parts.rule[k]] @ exponents[k][:, some]
        np.exp(bell, out=bell)
        sums[k][:, some] = heights[:, at : at + count] @ bell
        at += count
    _shift_powers(sums[:, len(values) - 1 :], r, z)
    return np.asarray(np.einsum("pfn,pn->fn", sums, own * (inverse / ROOT_2PI)))


def _shift_powers(sums: Matrix, r: Matrix, z: Matrix) -> None:
    """Turn sums of powers of x, along the second axis, into those of u = r x - z in their place (Pascal's triangle)."""
    r, z = r[:, None], z[:, None]
    for k in range(1, sums.shape[1]):
        sums[:, k:] *= r
    for k in range(1, sums.shape[1]):
        sums[:, k:] -= z * sums[:, k - 1 : -1]


def _moving_panels(
    moving: Sequence[MovingPart], mean: Vector, scale: Vector
) -> Iterator[tuple[Indices, Vector, Vector, Rule]]:
    """Yield samples, the ends of their pieces, and the rule that resolves what of these lies within reach."""
    low, high = mean - REACH * scale, mean + REACH * scale
    sample = np.concatenate([own for own, _, _ in moving])
    start, end = (np.repeat([part[i] for part in moving], [part[0].size for part in moving]) for i in (1, 2))
    width = (np.minimum(end, high[sample]) - np.maximum(start, low[sample])) / scale[sample]
    level = np.minimum(np.searchsorted(WIDTHS, 0.5 * width), len(RULES) - 1)
    for k, rule in enumerate(RULES):
        rows = np.flatnonzero(level == k)
        if rows.size:
            yield sample[rows], start[rows], end[rows], rule


__all__ = ["averages"]
