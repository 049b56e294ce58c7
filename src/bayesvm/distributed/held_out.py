"""Rows predicted without themselves, for the calibration of a committee.

From every block a few rows are taken. Other members have not seen them; the row's own member predicts them from its cavity
(:mod:`bayesvm.inference.leave_one_out`). Together that is the leave-one-out prediction of the committee with its hyperparameters kept,
at the cost of predicting a fixed number of rows. One block alone contributes all its rows.
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
from bayesvm.distributed.objective import BlockModel
from bayesvm.estimators._machine import learn, refine
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximizer
from bayesvm.inference import EP
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Matrix, Vector

#: Rows that the calibration uses, over all blocks.
ROWS = 4000


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Some rows with the cavities of their own members.

    Attributes
    ----------
    blocks : array of int, shape (n,)
        Number of each row's own block.
    X, Y, weights : arrays
        Standardised inputs, targets (one column per machine), weights.
    mean, var : arrays, shape (n_machines, n)
        Cavities.
    trouble : tuple of str
        Machines that did not converge, by block.
    """

    blocks: Indices
    X: Matrix
    Y: Matrix
    weights: Vector
    mean: Matrix
    var: Matrix
    trouble: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Predicted:
    """What the calibration of one machine needs: sums over the committee, prior variances, targets, weights."""

    sums: Matrix
    prior: Vector
    y: Vector
    weights: Vector
    trouble: tuple[str, ...]


def held_out_shares(sizes: Sequence[int]) -> list[int]:
    """Return how many rows each block contributes: all of one block, otherwise about ``ROWS`` in total."""
    n = len(sizes)
    if n == 1:
        return [sizes[0]]
    every = -(-n // ROWS)  # with more blocks than rows are wanted, only every so many blocks contribute
    return [min(size, -(-ROWS // n)) if i % every == 0 else 0 for i, size in enumerate(sizes)]


def make_member(
    block: Block, models: Sequence[tuple[BlockModel, Vector]], method: EP | None, n_rows: int, seed: int
) -> tuple[Member, HeldOut]:
    """Return the member of a block at given hyperparameters, and some rows with their cavities.

    Raises
    ------
    NotPositiveDefiniteError
        With the number of the block.
    """
    rng = np.random.default_rng([seed, 2, block.number])
    n = len(block.X)
    chosen = np.arange(n) if n_rows >= n else np.sort(rng.choice(n, size=n_rows, replace=False))
    posteriors, means, variances, trouble = [], [], [], []
    for k, (model, theta) in enumerate(models):
        try:
            machine = learn(model.objective(block), [theta], Maximizer(), optimize=False)
            machine = refine(machine, method)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(f"block {block.number}: {error}") from None
        if not machine.converged:
            trouble.append(f"block {block.number}, machine {k}: {machine.trouble}")
        assert machine.marginals is not None
        posteriors.append(machine.posterior)
        means.append(machine.marginals.cavity_mean[chosen])
        variances.append(machine.marginals.cavity_var[chosen])
    used = np.unique(np.concatenate([p.support for p in posteriors]))
    experts = tuple(_expert(p, used, n) for p in posteriors)
    weights = np.ones(n) if block.weights is None else block.weights
    held = HeldOut(
        np.full(chosen.size, block.number),
        block.X[chosen],
        block.Y[chosen],
        weights[chosen],
        np.stack(means),
        np.stack(variances),
        tuple(trouble),
    )
    return Member(block.number, block.X[used], experts), held


def _expert(posterior: Any, used: Indices, n: int) -> Expert:
    curvature = np.zeros(n)
    curvature[posterior.factor.support] = posterior.factor.curvature
    return Expert(np.searchsorted(used, posterior.support), posterior.alpha, curvature[posterior.support])


def join(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the rows of several blocks together."""
    return HeldOut(
        np.concatenate([p.blocks for p in parts]),
        np.concatenate([p.X for p in parts]),
        np.concatenate([p.Y for p in parts]),
        np.concatenate([p.weights for p in parts]),
        np.concatenate([p.mean for p in parts], axis=1),
        np.concatenate([p.var for p in parts], axis=1),
        tuple(text for p in parts for text in p.trouble),
    )


def held_out_sums(members: Sequence[Member], held: HeldOut, k: int, kernel: Kernel) -> Matrix:
    """Return the sums of a group of members at held-out rows; a row's own member speaks by its cavity."""
    inputs = Inputs(held.X)
    prior = kernel.diag(inputs)
    total = np.zeros((3, len(held.X)))
    for member in members:
        own = held.blocks == member.number
        if np.all(own):
            mean, var = held.mean[k], held.var[k]
        else:
            mean, var = member.latent(k, kernel, inputs)
            mean, var = np.where(own, held.mean[k], mean), np.where(own, held.var[k], var)
        total += member_sums(mean, np.maximum(var, 1e-12 * prior), prior)
    return total


def predicted(sums: Sequence[Matrix], held: HeldOut, k: int, kernel: Kernel, column: int) -> Predicted:
    """Return what the calibration needs."""
    trouble = held.trouble if k == 0 else ()
    return Predicted(add_sums(sums), kernel.diag(Inputs(held.X)), held.Y[:, column], held.weights, trouble)


def predict_held_out(
    engine: Engine, groups: Sequence[Any], held: Sequence[Any], k: int, kernel: Kernel, column: int
) -> Predicted:
    """Return the leave-one-out predictions of machine k for all held-out rows (handles of :class:`HeldOut`)."""
    results = []
    for rows in held:
        parts = [
            engine.submit(held_out_sums, group, rows, k, kernel, name="held-out", home=home)
            for home, group in enumerate(groups)
        ]
        total = engine.tree(add_sums, parts, name="sum")
        results.append(engine.submit(predicted, [total], rows, k, kernel, column, name="held-out"))
    parts = engine.gather(results)
    return Predicted(
        np.concatenate([p.sums for p in parts], axis=1),
        np.concatenate([p.prior for p in parts]),
        np.concatenate([p.y for p in parts]),
        np.concatenate([p.weights for p in parts]),
        tuple(text for p in parts for text in p.trouble),
    )


__all__ = ["ROWS", "HeldOut", "Predicted", "held_out_shares", "join", "make_member", "predict_held_out"]
