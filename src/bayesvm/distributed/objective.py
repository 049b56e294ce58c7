r"""The sum of the block evidences, computed where the blocks live.

Given :math:`\theta` the blocks are taken as independent:
:math:`\ln P(D|\theta) \approx \sum_b \ln P(D_b|\theta)`. Value and gradient of each block are computed on the worker that holds
it and added up in a tree; only theta and the sums travel.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.blocks import Block, Blocks
from bayesvm.distributed.checkpoint import Log
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.warm_starts import LatentStore
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, Flat, SharedObjective
from bayesvm.inference import Inference, Laplace
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood, Weighted
from bayesvm.solvers import Newton
from bayesvm.solvers.base import Status
from bayesvm.typing import Vector

logger = logging.getLogger(__name__)

#: Failures that a sum carries along; further ones are counted only.
NAMED = 5
#: Relative KKT residual of modes when there are several blocks: one or two chord steps more than the default asks for.
MODE_TOLERANCE = 1e-12


@dataclasses.dataclass(frozen=True)
class BlockModel:
    """What turns a block into an evidence.

    Attributes
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model.
    column : int or None
        Which target; None: all of them, with shared hyperparameters.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    column: int | None

    def objective(self, block: Block) -> EvidenceObjective:
        """Return the evidence of a block; nothing is cached beyond one evaluation."""
        weights = block.weights
        likelihood = self.likelihood if weights is None else Weighted(self.likelihood, weights)
        model = (self.kernel, likelihood, self.inference, Inputs(block.X))
        if self.column is None:
            return SharedObjective(*model, block.Y, Flat())
        return EvidenceObjective(*model, np.ascontiguousarray(block.Y[:, self.column]), Flat())


@dataclasses.dataclass(frozen=True)
class Part:
    """A share of the sum: value, gradient, worst status, seconds of work, failures as (block, message), their number."""

    value: float
    gradient: Vector
    status: Status
    seconds: float
    failures: tuple[tuple[int, str], ...] = ()
    failed: int = 0


@dataclasses.dataclass(frozen=True)
class SummedEvidence:
    """What a maximiser reads of an evidence; ``latent`` is the number under which workers keep their latent values."""

    value: float
    status: Status
    latent: Any


@dataclasses.dataclass(frozen=True)
class SummedEvaluation:
    """Value and gradient of the summed log evidence plus log hyperprior."""

    theta: Vector
    value: float
    gradient: Vector
    evidence: SummedEvidence


@dataclasses.dataclass(frozen=True)
class Run:
    """What all evaluations of a fit share: where they run, warm starts, the log of the checkpoint, the display."""

    engine: Engine
    latents: LatentStore
    log: Log
    progress: Progress
    counter: Any = dataclasses.field(default_factory=itertools.count)


@dataclasses.dataclass(frozen=True)
class SummedObjective(EvidenceObjective):
    """Summed log evidence of blocks plus the log hyperprior (once).

    The parameters are those of :class:`~bayesvm.hyper.EvidenceObjective`, with handles of blocks in place of the data.

    Parameters
    ----------
    X : Blocks
        The blocks.
    y : int or None
        Which target; None: all, with shared hyperparameters.
    run : Run
        How to evaluate.
    """

    run: Run = dataclasses.field(kw_only=True)

    @property
    def _blocks(self) -> Blocks:
        blocks: Any = self.X
        return blocks

    def _block_model(self) -> BlockModel:
        column: Any = self.y
        return BlockModel(self.kernel, self.likelihood, self.inference, column)

    def evaluate(self, theta: Vector, warm_start: Any = None) -> SummedEvaluation:  # type: ignore[override]
        """Return value and gradient at ``theta``; a failure names its blocks."""
        theta = np.asarray(theta, dtype=float)
        began, number = time.perf_counter(), f"e{next(self.run.counter)}"
        what = self._what()
        part = self.run.log.recall(what, theta)
        if part is None:
            part = self._summed(theta, number, warm_start)
            self.run.log.append(what, theta, part)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        value, gradient = part.value + log_prior, part.gradient + prior_gradient
        self.run.progress.evaluated(value, gradient, time.perf_counter() - began, len(self._blocks.handles))
        if part.failed:
            raise NotPositiveDefiniteError(_failure(part, len(self._blocks.handles)))
        return SummedEvaluation(theta, value, gradient, SummedEvidence(part.value, part.status, number))

    def _what(self) -> str:
        """Return a description of the objective for the log of evaluations."""
        names = ",".join(self.names)
        fixed = f"{self.kernel!r}" if self.theta0.size == 0 else ""
        return f"{self.y} {self.likelihood!r} {len(self._blocks.handles)} {names}{fixed}"

    def _summed(self, theta: Vector, number: str, warm_start: Any) -> Part:
        engine, handles = self.run.engine, self._blocks.handles
        model = self._block_model()
        parts = [
            engine.submit(
                evaluate_block, block, model, theta, number, warm_start, self.run.latents, name="evidence", home=home
            )
            for block, home in zip(handles, self._blocks.numbers)
        ]
        self.run.progress.watch(parts)
        part: Part = engine.gather([engine.tree(add_parts, parts, name="sum")])[0]
        engine.report(
            {
                "evidence": part.value,
                "gradient_norm": float(np.sqrt(part.gradient @ part.gradient)),
                "seconds": part.seconds,
                "blocks": len(handles),
            }
        )
        return part

    def gains(self, here: Any, thetas: Sequence[Vector]) -> list[float]:
        """Return first-order gains, summed over the blocks."""
        run, model = self.run, self._block_model()
        args = (model, here.theta, list(thetas), here.evidence.latent, run.latents)
        parts = [
            run.engine.submit(block_gains, block, *args, name="gains", home=home)
            for block, home in zip(self._blocks.handles, self._blocks.numbers)
        ]
        total = run.engine.gather([run.engine.tree(_added, parts, name="sum")])[0]
        return [float(v) for v in total]


def accurate(inference: Inference) -> Inference:
    """Return the method with modes found to rounding, so that neither a lost worker nor a warm start shows in the climb."""
    if not isinstance(inference, Laplace) or not isinstance(inference.solver, Newton):
        return inference
    return dataclasses.replace(inference, solver=dataclasses.replace(inference.solver, tol=MODE_TOLERANCE))


def evaluate_block(
    block: Block, model: BlockModel, theta: Vector, number: str, warm_start: str | None, latents: LatentStore
) -> Part:
    """Return the share of one block, and keep its latent values here."""
    began = time.perf_counter()
    try:
        result = model.objective(block).evaluate(theta, latents.get(block.number, warm_start))
    except NotPositiveDefiniteError as error:
        failure = ((block.number, str(error)),)
        return Part(-np.inf, np.zeros_like(theta), Status.CONVERGED, time.perf_counter() - began, failure, 1)
    latents.put(block.number, number, result.evidence.latent)
    return Part(result.value, result.gradient, result.evidence.status, time.perf_counter() - began)


def add_parts(parts: Sequence[Part]) -> Part:
    """Return the sum of shares, in order."""
    return Part(
        float(sum(p.value for p in parts)),
        np.sum([p.gradient for p in parts], axis=0),
        next((p.status for p in parts if not p.status.ok), parts[0].status),
        float(sum(p.seconds for p in parts)),
        tuple(itertools.chain.from_iterable(p.failures for p in parts))[:NAMED],
        sum(p.failed for p in parts),
    )


def block_gains(
    block: Block, model: BlockModel, theta: Vector, thetas: list[Vector], warm_start: str | None, latents: LatentStore
) -> Vector:
    """Return the first-order gains of one block."""
    objective = model.objective(block)
    here = objective.evaluate(theta, latents.get(block.number, warm_start))
    return np.asarray(objective.gains(here, thetas))


def _added(parts: Sequence[Vector]) -> Vector:
    return np.sum(parts, axis=0)


def _failure(part: Part, n_blocks: int) -> str:
    named = "; ".join(f"block {number}: {message}" for number, message in part.failures)
    return f"{part.failed} of {n_blocks} blocks could not be evaluated: {named}"


__all__ = ["BlockModel", "Part", "Run", "SummedEvaluation", "SummedEvidence", "SummedObjective", "accurate"]
