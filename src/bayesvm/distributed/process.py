"""The specification of the plain estimators for rows that are elsewhere, and how it is fitted.

1. *The sample.* Hyperparameters are searched on a sample of the rows that is brought here, as the plain estimators do
   with inducing inputs (:mod:`bayesvm.hyper.large`). It is drawn by row numbers, so it does not depend on how the rows
   are split.
2. *All rows.* From there the evidence of all rows is maximised, with the curvature that the search on the sample has
   learnt: its optimum is near, and a few evaluations are enough.
3. *The model.* Inducing inputs are chosen a last time, and the posterior of their weights follows from all rows. The
   predictions are calibrated on the rows of the sample, each predicted without itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayesvm.distributed.objective import DistributedObjective, FitContext
from bayesvm.distributed.rows import PreparedRows, TrainingRows
from bayesvm.hyper import Maximizer, Maximum
from bayesvm.hyper.large import FEATURE_ROWS, LargeProblem, maximize_large, search_rounds
from bayesvm.kernels.base import Kernel
from bayesvm.models import TrainingData
from bayesvm.models.large import InducingModel, LargeProcess
from bayesvm.typing import Indices, Matrix, Vector

#: Evaluations of the evidence of all rows, per round of the search.
EVERYWHERE = (6, 20)


@dataclasses.dataclass(frozen=True)
class DistributedData(TrainingData):
    """Training data of which ``X`` and ``y`` are a sample.

    Attributes
    ----------
    rows : TrainingRows
        All rows.
    numbers : array of int
        Row numbers of the sample, increasing.
    context : FitContext
        What the passes of the fit share.
    column : int or None
        Which column of the targets; None: all of them.
    """

    rows: TrainingRows = dataclasses.field(kw_only=True)
    numbers: Indices = dataclasses.field(kw_only=True)
    context: FitContext = dataclasses.field(kw_only=True)
    column: int | None = dataclasses.field(default=None, kw_only=True)

    def output(self, k: int) -> Self:
        """Return the data of one output alone."""
        return dataclasses.replace(super().output(k), column=k)


@dataclasses.dataclass(frozen=True)
class DistributedProblem(LargeProblem):
    """The search on a sample, which knows of the other rows.

    Parameters
    ----------
    data : DistributedData
        The rows.
    """

    data: DistributedData = dataclasses.field(kw_only=True)

    @property
    def complete(self) -> bool:
        """Whether the search on the sample has seen all rows."""
        return self.data.rows.n == self.n_rows <= FEATURE_ROWS

    def everywhere(self, theta: Vector) -> DistributedObjective:
        """Return the evidence of all rows, with inducing inputs from the sample that suit ``theta``."""
        data, chosen = self.data, np.sort(self.greedy(*self.model(np.asarray(theta, dtype=float)))[0])
        return DistributedObjective(
            self.kernel,
            self.likelihood.plain,
            self.X.take(chosen).forget(),
            data.numbers[chosen],
            PreparedRows(data.X.forget(), data.y, data.weights),
            data.rows.n,
            data.column,
            data.rows,
            data.context,
            self.prior,
            self.inference,
        )


def maximize_everywhere(maximizer: Maximizer, problem: DistributedProblem, starts: Sequence[Vector]) -> Maximum:
    """Maximise the evidence of a sample, then that of all rows: steps 1 and 2 of the module."""
    first = maximize_large(maximizer, problem, starts)
    if first.interrupted or problem.complete:
        return first
    learnt, share = first.history[-1].H, min(problem.n_rows, FEATURE_ROWS) / problem.data.rows.n
    metric: Matrix | None = None if learnt is None else learnt * share
    last = search_rounds(maximizer, [first.theta], EVERYWHERE, problem.smoothed().everywhere, metric)
    return dataclasses.replace(last, history=first.history + last.history)


@dataclasses.dataclass(frozen=True)
class DistributedModel(InducingModel):
    """A model whose support are its inducing inputs, and whose marginals are those of a sample of the rows."""

    @property
    def support(self) -> Indices:
        """Numbers of the rows that are the inducing inputs."""
        return self.basis

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        return np.stack([p.alpha for p in self.posteriors])

    def without_rows(self) -> Self:
        """Return the model as a file keeps it."""
        objective: Any = self.objective
        return dataclasses.replace(self, objective=objective.without_rows())


@dataclasses.dataclass(frozen=True)
class DistributedProcess(LargeProcess):
    """A Gaussian process with inducing inputs for rows that are elsewhere; the parameters are those of its base."""

    search: ClassVar[Any] = staticmethod(maximize_everywhere)

    @classmethod
    def of(cls, plain: LargeProcess, size: int | None, logged: Callable[[Maximizer], Maximizer]) -> Self:
        """Return the specification of a plain estimator.

        Parameters
        ----------
        plain : LargeProcess
            What a plain estimator would fit.
        size : int or None
            Number of inducing inputs; None: as many as are needed.
        logged : callable
            Returns the maximiser that is used in place of a plain one.
        """
        given = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        options = dataclasses.replace(plain.options, maximizer=logged(plain.options.maximizer))
        return cls(**{**given, "size": size, "neighbours": False, "options": options})

    def objective(self, kernel: Kernel, data: TrainingData) -> Any:
        """Return the problem, after checks that likelihood and kernel can be used."""
        assert isinstance(data, DistributedData)
        plain = super().objective(kernel, data)
        given = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return DistributedProblem(**given, data=data)

    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> InducingModel:
        """Return the model at the maximum, with inducing inputs chosen there."""
        final: DistributedObjective = objective.everywhere(maximum.theta)
        return self.inducing_model(DistributedModel, final, dataclasses.replace(maximum, latent=None), data)


__all__ = ["DistributedData", "DistributedModel", "DistributedProcess", "maximize_everywhere"]
