r"""The sum of the block evidences, computed where the blocks live.

Given :math:`\theta` the blocks are taken as independent: :math:`\ln P(D|\theta) \approx \sum_b \ln P(D_b|\theta)`.
Value and gradient of each block are computed on the worker that holds it and added up in a tree; only theta and the
sums travel.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.blocks import Block, Blocks
from bayesvm.distributed.checkpoint import Log, PartialSum
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.warm_starts import LatentStore
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Evaluation, EvidenceObjective, Flat, Hyperprior
from bayesvm.hyper.objective import ModelParameters
from bayesvm.inference import Evidence, Inference, Laplace
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood, Weighted
from bayesvm.solvers import Newton
from bayesvm.solvers.base import Status
from bayesvm.typing import Vector

#: Failures that a sum carries along; further ones are counted only.
NAMED = 5
#: Relative KKT residual of modes when there are several blocks: one or two chord steps more than the default asks for.
MODE_TOLERANCE = 1e-12
#: The rows of this process: all are with the workers.
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclasses.dataclass(frozen=True)
class BlockEvidence:
    """What turns a block into an evidence.

    Attributes
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model.
    column : int or None
        Which column of the targets; None: all of them, with common hyperparameters.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    column: int | None

    def objective(self, block: Block) -> EvidenceObjective:
        """Return the evidence of a block; nothing is cached beyond one evaluation."""
        weights = block.weights
        likelihood = self.likelihood if weights is None else Weighted(self.likelihood, tuple(weights))
        y = block.Y if self.column is None else np.ascontiguousarray(block.Y[:, self.column])
        return EvidenceObjective(self.kernel, likelihood, self.inference, Inputs(block.X), y, Flat())


@dataclasses.dataclass(frozen=True)
class FitContext:
    """What the evaluations of a fit share: engine, warm starts, log, display, seed of what is drawn, a counter."""

    engine: Engine
    warm_starts: LatentStore
    log: Log
    progress: Progress
    seed: int
    counter: Iterator[int] = dataclasses.field(default_factory=itertools.count)


@dataclasses.dataclass(frozen=True)
class SummedObjective(ModelParameters):
    """Summed log evidence of blocks plus the log hyperprior (once).

    Parameters
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model; their current parameters are ``theta0``.
    blocks : Blocks
        The training rows.
    column : int or None
        Which column of the targets; None: all of them, with common hyperparameters.
    context : FitContext
        How to evaluate.
    prior : Hyperprior
        Density of theta.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    blocks: Blocks
    column: int | None
    context: FitContext
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    @property
    def n_rows(self) -> int:
        """Rows of the largest block: as many enter one inference."""
        return self.blocks.largest

    @property
    def n_features(self) -> int:
        """Number of columns of the inputs."""
        return self.blocks.n_features

    @property
    def block_evidence(self) -> BlockEvidence:
        """What workers compute."""
        return BlockEvidence(self.kernel, self.likelihood, self.inference, self.column)

    def evaluate(self, theta: Vector, warm_start: Any = None) -> Evaluation:
        """Return value and gradient at ``theta``, without posteriors and cotangents; a failure names its blocks.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation, here the name under which workers keep
        their latent values; it changes the cost, not the result.
        """
        theta = np.asarray(theta, dtype=float)
        began, name = time.perf_counter(), f"e{next(self.context.counter)}"
        what = self._description()
        part = self.context.log.recall(what, theta)
        if part is None:
            part = self._sum(theta, name, warm_start)
            self.context.log.append(what, theta, part)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        value, gradient = part.value + log_prior, part.gradient + prior_gradient
        self.context.progress.evaluated(value, gradient, time.perf_counter() - began, len(self.blocks))
        if part.failed:
            raise NotPositiveDefiniteError(_failure(part, len(self.blocks)))
        latent: Any = name
        evidence = Evidence(part.value, {}, NO_ROWS, np.empty((0, 0)), np.empty(0), part.status, latent, 0)
        return Evaluation(theta, value, gradient, (), evidence)

    def _description(self) -> str:
        """Return what tells this objective from the others of a fit in the log of evaluations."""
        fixed = "" if self.theta0.size else repr(self.kernel)
        return f"{self.column} {self.likelihood!r} {len(self.blocks)} {','.join(self.names)}{fixed}"

    def _on_blocks(self, function: Callable[..., Any], *args: Any, name: str) -> list[Any]:
        """Return the handles of a function of every block."""
        context, own = self.context, self.block_evidence
        return [
            context.engine.submit(function, block, own, *args, context.warm_starts, name=name, home=home)
            for block, home in zip(self.blocks.handles, self.blocks.numbers, strict=True)
        ]

    def _sum(self, theta: Vector, name: str, warm_start: Any) -> PartialSum:
        engine, parts = self.context.engine, self._on_blocks(evaluate_block, theta, name, warm_start, name="evidence")
        self.context.progress.watch(parts)
        part: PartialSum = engine.gather([engine.tree(add_parts, parts, name="sum")])[0]
        norm = float(np.sqrt(part.gradient @ part.gradient))
        known = {"evidence": part.value, "gradient_norm": norm, "seconds": part.seconds, "blocks": len(self.blocks)}
        engine.report(known)
        return part

    def gains(self, here: Evaluation, thetas: Sequence[Vector]) -> list[float]:
        """Return the first-order changes of the log evidence from ``here`` to each theta, summed over the blocks."""
        parts = self._on_blocks(block_gains, here.theta, list(thetas), here.evidence.latent, name="gains")
        engine = self.context.engine
        return [float(v) for v in engine.gather([engine.tree(_added, parts, name="sum")])[0]]


def accurate(inference: Inference) -> Inference:
    """Return the method with modes found to rounding, so that no lost worker or warm start shows in the search."""
    if not isinstance(inference, Laplace) or not isinstance(inference.solver, Newton):
        return inference
    return dataclasses.replace(inference, solver=dataclasses.replace(inference.solver, tol=MODE_TOLERANCE))


def evaluate_block(
    block: Block, evidence: BlockEvidence, theta: Vector, name: str, warm_start: str | None, store: LatentStore
) -> PartialSum:
    """Return the share of one block, and keep its latent values here."""
    began = time.perf_counter()
    try:
        result = evidence.objective(block).evaluate(theta, store.get(block.number, warm_start))
    except NotPositiveDefiniteError as error:
        failure = ((block.number, str(error)),)
        return PartialSum(-np.inf, np.zeros_like(theta), Status.CONVERGED, time.perf_counter() - began, failure, 1)
    store.put(block.number, name, result.evidence.latent)
    return PartialSum(result.value, result.gradient, result.evidence.status, time.perf_counter() - began)


def add_parts(parts: Sequence[PartialSum]) -> PartialSum:
    """Return the sum of shares, in order."""
    return PartialSum(
        float(sum(p.value for p in parts)),
        np.sum([p.gradient for p in parts], axis=0),
        next((p.status for p in parts if not p.status.ok), parts[0].status),
        float(sum(p.seconds for p in parts)),
        tuple(itertools.chain.from_iterable(p.failures for p in parts))[:NAMED],
        sum(p.failed for p in parts),
    )


def block_gains(
    block: Block,
    evidence: BlockEvidence,
    theta: Vector,
    thetas: list[Vector],
    warm_start: str | None,
    store: LatentStore,
) -> Vector:
    """Return the first-order gains of one block."""
    objective = evidence.objective(block)
    here = objective.evaluate(theta, store.get(block.number, warm_start))
    return np.asarray(objective.gains(here, thetas))


def _added(parts: Sequence[Vector]) -> Vector:
    return np.asarray(np.sum(parts, axis=0))


def _failure(part: PartialSum, n_blocks: int) -> str:
    named = "; ".join(f"block {number}: {message}" for number, message in part.failures)
    return f"{part.failed} of {n_blocks} blocks could not be evaluated: {named}"


__all__ = ["BlockEvidence", "FitContext", "SummedObjective", "accurate"]
