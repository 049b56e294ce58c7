"""The specification of the plain estimators over blocks of rows, and how it is fitted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayesvm.distributed.blocks import Blocks
from bayesvm.distributed.committee import CommitteeRule
from bayesvm.distributed.committee_calibration import calibrate
from bayesvm.distributed.held_out import Predicted, held_out_shares, join, make_member, predict_held_out
from bayesvm.distributed.members import GROUP, kept_members
from bayesvm.distributed.model import CommitteeModel, with_members
from bayesvm.distributed.objective import FitContext, SummedObjective, accurate
from bayesvm.distributed.search import maximize_blocks
from bayesvm.hyper import Flat, Maximum
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods.base import Classification
from bayesvm.models import GaussianProcess, TrainingData, fit_model
from bayesvm.models.candidates import GrowingKernel
from bayesvm.models.chosen_process import ChosenProcess
from bayesvm.models.fit import fit_outputs
from bayesvm.models.gaussian_process import determined_hyperparameters


@dataclasses.dataclass(frozen=True)
class BlockedData(TrainingData):
    """Training data in blocks. ``X`` and ``y`` have their columns, but no rows: those are in the blocks.

    Attributes
    ----------
    blocks : Blocks
        The rows.
    total : float
        The sum of their weights.
    context : FitContext
        What the evaluations of the fit share.
    column : int or None
        Which column of the targets; None: all of them.
    """

    blocks: Blocks = dataclasses.field(kw_only=True)
    total: float = dataclasses.field(kw_only=True)
    context: FitContext = dataclasses.field(kw_only=True)
    column: int | None = dataclasses.field(default=None, kw_only=True)

    @property
    def n_rows(self) -> int:
        """Rows of the largest block: as many enter one inference."""
        return self.blocks.largest

    def output(self, k: int) -> Self:
        """Return the data of one output alone."""
        return dataclasses.replace(super().output(k), column=k)


@dataclasses.dataclass(frozen=True)
class BlockedProcess(GaussianProcess):
    """A Gaussian process with common hyperparameters for all blocks, which maximise the sum of the block evidences.

    The parameters are those of :class:`~bayesvm.models.GaussianProcess`.
    """

    search: ClassVar[Any] = staticmethod(maximize_blocks)

    @classmethod
    def of(cls, plain: GaussianProcess) -> Self:
        """Return the specification of a plain estimator for data in blocks."""
        given = {field.name: getattr(plain, field.name) for field in dataclasses.fields(cls)}
        if isinstance(plain, ChosenProcess):  # candidates are compared by the maximum of their summed evidence
            given |= {"candidates": GrowingKernel(Gaussian() + Constant()), "hyperprior": Flat()}
        return cls(**given)

    def objective(self, kernel: Kernel, data: TrainingData) -> Any:
        """Return the sum of the block evidences."""
        assert isinstance(data, BlockedData)
        self.inference.check(self.likelihood)
        inference = accurate(self.inference) if len(data.blocks) > 1 else self.inference
        return SummedObjective(
            kernel, self.likelihood, inference, data.blocks, data.column, data.context, self.hyperprior
        )

    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> Any:
        """Return the model at the maximum; its members are made once for all outputs, by :func:`fit_committees`."""
        assert isinstance(data, BlockedData)
        columns = tuple(range(data.n_outputs)) if data.column is None else (data.column,)
        return CommitteeModel.at_maximum(objective, maximum, columns)

    def finish(self, model: Any, data: TrainingData) -> Any:
        """Return the model as it is."""
        return model


def fit_committees(
    make_spec: Callable[[TrainingData], GaussianProcess], data: BlockedData, committee: str
) -> tuple[CommitteeModel, ...]:
    """Fit one model per set of hyperparameters, then the committee whose members serve them all.

    Parameters
    ----------
    make_spec : callable
        Returns the specification of the plain estimator for given data.
    data : BlockedData
        To what.
    committee : {"rbcm", "gpoe"}
        How predictions are combined.
    """

    def spec_of(part: TrainingData) -> BlockedProcess:
        return BlockedProcess.of(make_spec(part))

    spec = spec_of(data)
    one = spec.shared or data.n_outputs == 1
    models: Any = (fit_model(spec, data),) if one else fit_outputs(spec_of, data, n_jobs=1)
    return _assembled(models, spec, data, CommitteeRule(committee, len(data.blocks)))


def _assembled(
    models: Sequence[CommitteeModel], spec: BlockedProcess, data: BlockedData, rule: CommitteeRule
) -> tuple[CommitteeModel, ...]:
    """Return the models with their members, calibrated on rows that are predicted without themselves."""
    engine, blocks, size = data.context.engine, data.blocks, len(data.blocks)
    shares = held_out_shares(blocks.sizes)
    evidences = [(dataclasses.replace(m.objective.block_evidence, inference=spec.inference), m.theta) for m in models]
    made = [
        engine.submit(make_member, block, evidences, spec.posterior, share, data.context.seed, name="member", home=home)
        for block, share, home in zip(blocks.handles, shares, blocks.numbers, strict=True)
    ]
    groups = [
        engine.submit(_members, made[i : i + GROUP], name="members", home=i // GROUP) for i in range(0, size, GROUP)
    ]
    step = max(1, size * blocks.largest // sum(shares))
    held = [engine.submit(_held_out, made[i : i + step], name="held-out") for i in range(0, size, step)]
    calibrated = []
    for model in models:
        rows = [predict_held_out(engine, groups, held, k, model.kernel) for k in model.columns]
        calibrated.append(_calibrated(model, rows, spec, rule, data.total))
    return with_members(calibrated, kept_members(engine, groups))


def _calibrated(
    model: CommitteeModel, rows: Sequence[Predicted], spec: BlockedProcess, rule: CommitteeRule, total: float
) -> CommitteeModel:
    """Return a model with the rule and the correction of each output, from rows predicted without themselves."""
    tuned = float(model.theta.size)
    if isinstance(model.likelihood.plain, Classification):
        tuned = determined_hyperparameters(model.kernel, model.theta.size, model.objective.n_features)
    tuned = tuned if spec.options.optimize else 0.0
    found = [calibrate(rule, model.likelihood.plain, own, how=spec.calibrate, tuned=tuned) for own in rows]
    rules, calibrations, log_likelihoods = zip(*found, strict=True)
    estimate = float(sum(log_likelihoods)) * total / float(rows[0].weights.sum())
    return dataclasses.replace(
        model,
        rules=rules,
        calibrations=calibrations,
        block_problems=tuple(problem for own in rows for problem in own.problems),
        attributes={"temper": np.array([own.temper for own in rules]), "loo_log_likelihood": estimate},
    )


def _members(made: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(member for member, _ in made)


def _held_out(made: Sequence[Any]) -> Any:
    return join([held for _, held in made])


__all__ = ["BlockedData", "BlockedProcess", "fit_committees"]
