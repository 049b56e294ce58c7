"""The evidence with inducing inputs of rows that are elsewhere: every sum is taken where the rows are.

The objective is that of :class:`~bayesvm.hyper.inducing.InducingObjective`. What travels is one object per pass over
the rows (kernel, inducing inputs, factors of m x m matrices), and sums of at most m x m numbers, added up in a tree.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from bayesvm.distributed.checkpoint import Log, LoggedMaximizer
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.rows import PreparedRows, TrainingRows, Units
from bayesvm.distributed.source import Rows
from bayesvm.hyper import Evaluation, Flat, Hyperprior, Maximizer
from bayesvm.hyper.inducing import FeatureMap, InducingEvidence, InferredWeights, InputBlock, KernelFeatures
from bayesvm.hyper.multistart import Evaluated
from bayesvm.inference import Inference, Laplace
from bayesvm.inference.low_rank import Features
from bayesvm.inference.low_rank.features import Sums, added, row_slices
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood
from bayesvm.typing import Indices, Vector


@dataclasses.dataclass(frozen=True)
class Pass:
    """What a worker needs for a pass over its rows.

    Attributes
    ----------
    map : FeatureMap
        From rows to features.
    likelihood : Likelihood
        Without weights.
    units : Units
        Of the rows.
    column : int or None
        Which column of the targets; None: all of them.
    share : callable
        What a block of rows adds.
    """

    map: FeatureMap
    likelihood: Likelihood
    units: Units
    column: int | None
    share: Callable[[InputBlock], Sums]

    def over(self, block: Rows) -> Sums:
        """Return the sums over a block, a few rows at a time."""
        rows = of_output(self.units.prepared(block), self.column)
        parts = (rows.take(part) for part in row_slices(len(rows.X), len(self.map.Z)))
        return added(self.share(self.map.block(own.X, own.Y, own.likelihood(self.likelihood))) for own in parts)


def of_output(rows: PreparedRows, column: int | None) -> PreparedRows:
    """Return rows with one column of the targets, or with all of them."""
    return rows if column is None else dataclasses.replace(rows, Y=rows.Y[:, [column]])


def _over(block: Rows, work: Pass) -> Sums:
    return work.over(block)


def _added(parts: Sequence[Sums]) -> Sums:
    return added(parts)


@dataclasses.dataclass(frozen=True)
class FitContext:
    """What the searches and the passes of a fit share: where tasks run, display, log, and a number for each search."""

    engine: Engine
    progress: Progress
    log: Log
    searches: Iterator[int] = dataclasses.field(default_factory=itertools.count)

    def logged(self, plain: Maximizer) -> LoggedMaximizer:
        """Return a maximiser whose evaluations are written down and reported."""
        options = {field.name: getattr(plain, field.name) for field in dataclasses.fields(Maximizer)}
        return LoggedMaximizer(**options, log=self.log, report=self.report, searches=self.searches)

    def report(self, found: Evaluated, seconds: float) -> None:
        """Show an evaluation, and tell the scheduler where there is one."""
        self.progress.evaluated(found.value, found.gradient, seconds)
        norm = float(np.sqrt(found.gradient @ found.gradient))
        self.engine.report({"evidence": float(found.value), "gradient_norm": norm, "seconds": seconds})


@dataclasses.dataclass(frozen=True)
class DistributedFeatures(Features):
    """Features of rows that are elsewhere, computed anew in every pass."""

    map: FeatureMap
    likelihood: Likelihood
    rows: TrainingRows
    column: int | None
    context: FitContext

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.map.Z)

    def total(self, share: Callable[[Any], Sums]) -> Sums:
        """Return the sums over all blocks."""
        engine = self.context.engine
        work = engine.put(Pass(self.map, self.likelihood, self.rows.units, self.column, share), name="pass")
        parts = [engine.submit(_over, block, work, name="rows", home=i) for i, block in enumerate(self.rows.blocks)]
        self.context.progress.watch(parts)
        sums: Sums = engine.gather([engine.tree(_added, parts, name="sum")])[0]
        return sums


@dataclasses.dataclass(frozen=True)
class DistributedObjective(InducingEvidence):
    """Log evidence with inducing inputs of rows that are elsewhere, plus log hyperprior.

    Parameters
    ----------
    kernel, likelihood : Kernel, Likelihood
        The model, without weights; their current parameters are ``theta0``.
    Z, positions : Inputs, array of int
        Inducing inputs, and their row numbers in the data, increasing.
    sample : PreparedRows
        Rows that are here, with the targets of the outputs of this model.
    total : int
        Number of all rows.
    column : int or None
        Which column of the targets; None: all of them, with common hyperparameters.
    rows, context : TrainingRows, FitContext, or None
        All rows; None once they are gone.
    prior : Hyperprior
        Density of theta.
    inference : Inference
        What the evidence approximates.
    """

    kernel: Kernel
    likelihood: Likelihood
    Z: Inputs
    positions: Indices
    sample: PreparedRows
    total: int
    column: int | None = None
    rows: TrainingRows | None = None
    context: FitContext | None = None
    prior: Hyperprior = dataclasses.field(default_factory=Flat)
    inference: Inference = dataclasses.field(default_factory=Laplace)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.total

    @property
    def inputs(self) -> Inputs:
        """The inducing inputs."""
        return self.Z

    @property
    def numbers(self) -> Indices:
        """Row numbers of the inducing inputs."""
        return self.positions

    @property
    def n_features(self) -> int:
        """Number of columns of the inputs."""
        return self.Z.n_features

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return int(self.sample.Y.shape[1])

    @property
    def outputs(self) -> tuple[Vector, ...]:
        """Targets of every output, at the rows of the sample."""
        return tuple(np.ascontiguousarray(self.sample.Y.T))

    def features(self, made: FeatureMap, likelihood: Likelihood) -> DistributedFeatures:
        """Return the features of all rows.

        Raises
        ------
        ValueError
            For a saved model, and once a cluster that the fit started is closed.
        """
        if self.rows is None or self.context is None:
            raise ValueError("log_evidence: the training rows are no longer there")
        return DistributedFeatures(made, likelihood, self.rows, self.column, self.context)

    def features_here(self, inferred: InferredWeights) -> KernelFeatures:
        """Return the features of the rows of the sample."""
        likelihood = self.sample.likelihood(inferred.likelihood)
        return KernelFeatures(inferred.map, self.sample.X, self.sample.Y, likelihood)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient and evidence at ``theta``, without posteriors; see the base class."""
        theta = np.asarray(theta, dtype=float)
        inferred = self.infer(theta, warm_start)
        value, gradient = self.value_and_gradient(inferred, theta)
        return Evaluation(theta, value, gradient, (), inferred.evidence())

    def without_rows(self) -> Self:
        """Return the objective as a file keeps it."""
        return dataclasses.replace(self, rows=None, context=None)


__all__ = ["DistributedFeatures", "DistributedObjective", "FitContext", "Pass", "of_output"]
