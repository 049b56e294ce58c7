"""Rows predicted without themselves, for the calibration of a committee.

From every block a few rows are taken. Other members have not seen them; the row's own member uses its leave-one-out
prediction (:mod:`bayesvm.inference.leave_one_out`). Together that is the leave-one-out prediction of the committee
with its hyperparameters kept, at the cost of predicting a fixed number of rows. One block alone contributes all its
rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.blocks import Block
from bayesvm.distributed.committee import member_sums
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.members import Expert, Member, add_sums
from bayesvm.distributed.objective import BlockEvidence
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximum
from bayesvm.inference import EP, Marginals, Posterior
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.models import GaussianProcessModel
from bayesvm.typing import Indices, Matrix, Vector

#: Rows that the calibration uses, over all blocks.
ROWS = 4000


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Some rows with the leave-one-out predictions of their own members.

    Attributes
    ----------
    blocks : array of int, shape (n,)
        Number of each row's own block.
    X, Y, weights : arrays
        Standardised inputs, targets (one column per output), weights.
    mean, var : arrays, shape (n_outputs, n)
        Leave-one-out means and variances of the latent values.
    problems : tuple of (int, str)
        What did not converge: the output, and the block with what happened.
    """

    blocks: Indices
    X: Matrix
    Y: Matrix
    weights: Vector
    mean: Matrix
    var: Matrix
    problems: tuple[tuple[int, str], ...]


@dataclasses.dataclass(frozen=True)
class Predicted:
    """What the calibration of one output needs: sums over the committee, prior variances, targets, weights."""

    sums: Matrix
    prior: Vector
    y: Vector
    weights: Vector
    problems: tuple[str, ...]


def held_out_shares(sizes: Sequence[int]) -> list[int]:
    """Return how many rows each block contributes: all of one block, otherwise about ``ROWS`` in total."""
    n = len(sizes)
    if n == 1:
        return [sizes[0]]
    every = -(-n // ROWS)  # with more blocks than rows are wanted, only every so many blocks contribute
    return [min(size, -(-ROWS // n)) if i % every == 0 else 0 for i, size in enumerate(sizes)]


def make_member(
    block: Block, evidences: Sequence[tuple[BlockEvidence, Vector]], method: EP | None, n_rows: int, seed: int
) -> tuple[Member, HeldOut]:
    """Return the member of a block at given hyperparameters, and some rows with their leave-one-out predictions.

    Raises
    ------
    NotPositiveDefiniteError
        With the number of the block.
    """
    rng = np.random.default_rng([seed, 2, block.number])
    n = len(block.X)
    chosen = np.arange(n) if n_rows >= n else np.sort(rng.choice(n, size=n_rows, replace=False))
    posteriors: list[Posterior] = []
    marginals: list[Marginals] = []
    problems: list[tuple[int, str]] = []
    for evidence, theta in evidences:
        try:
            at_theta = Maximum.at(theta, np.nan, None)
            model = GaussianProcessModel.at_maximum(evidence.objective(block), at_theta).refined(method)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(f"block {block.number}: {error}") from None
        problems += [(len(posteriors), f"block {block.number}: {text}") for text in model.problems]
        posteriors += model.posteriors
        marginals += model.marginals
    used = np.unique(np.concatenate([p.support for p in posteriors]))
    weights = np.ones(n) if block.weights is None else block.weights
    held = HeldOut(
        np.full(chosen.size, block.number),
        block.X[chosen],
        block.Y[chosen],
        weights[chosen],
        np.stack([q.cavity_mean[chosen] for q in marginals]),
        np.stack([q.cavity_var[chosen] for q in marginals]),
        tuple(problems),
    )
    return Member(block.number, block.X[used], tuple(Expert.of(p, used, n) for p in posteriors)), held


def join(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the rows of several blocks together."""
    return HeldOut(
        np.concatenate([p.blocks for p in parts]),
        np.concatenate([p.X for p in parts]),
        np.concatenate([p.Y for p in parts]),
        np.concatenate([p.weights for p in parts]),
        np.concatenate([p.mean for p in parts], axis=1),
        np.concatenate([p.var for p in parts], axis=1),
        tuple(problem for p in parts for problem in p.problems),
    )


def held_out_sums(members: Sequence[Member], held: HeldOut, k: int, kernel: Kernel) -> Matrix:
    """Return the sums of a group of members at held-out rows; a row's own member uses its leave-one-out prediction."""
    inputs = Inputs(held.X)
    prior = kernel.diag(inputs)
    total = np.zeros((3, len(held.X)))
    for member in members:
        own = held.blocks == member.number
        mean, var = held.mean[k], held.var[k]
        if not np.all(own):
            others = member.latent(k, kernel, inputs)
            mean, var = np.where(own, mean, others[0]), np.where(own, var, others[1])
        total += member_sums(mean, var, prior)
    return total


def predict_held_out(engine: Engine, groups: Sequence[Any], held: Sequence[Any], k: int, kernel: Kernel) -> Predicted:
    """Return the leave-one-out predictions of output k for all held-out rows (handles of :class:`HeldOut`)."""
    roots = []
    for rows in held:
        parts = [
            engine.submit(held_out_sums, group, rows, k, kernel, name="held-out", home=home)
            for home, group in enumerate(groups)
        ]
        roots.append(engine.tree(add_sums, parts, name="sum"))
    sums, known = np.concatenate(engine.gather(roots), axis=1), join(engine.gather(held))
    problems = tuple(text for output, text in known.problems if output == k)
    return Predicted(sums, kernel.diag(Inputs(known.X)), known.Y[:, k], known.weights, problems)


__all__ = ["ROWS", "HeldOut", "Predicted", "held_out_shares", "join", "make_member", "predict_held_out"]
