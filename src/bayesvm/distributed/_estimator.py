"""What the distributed estimators share: from a source of rows to a committee whose members share their hyperparameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, validate_data

from bayesvm.distributed import checkpoint
from bayesvm.distributed.ascent import maximize_blocks
from bayesvm.distributed.blocks import GROUP, Blocks, Plan, make_blocks
from bayesvm.distributed.column_stats import Summary, merged, survey
from bayesvm.distributed.committee import RULES, Rule
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.ensemble import Ensemble, Shape
from bayesvm.distributed.held_out import Predicted, held_out_shares, join, make_member, predict_held_out
from bayesvm.distributed.members import GROUP as MEMBERS
from bayesvm.distributed.members import LocalMembers, Members, collected
from bayesvm.distributed.objective import BlockModel, Run, SummedEvidence, SummedObjective, accurate
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.source import Source, is_dask, is_directory, open_source
from bayesvm.estimators._self_tuning import generator
from bayesvm.estimators._standardize import Standardizer
from bayesvm.hyper import ClimbStatus, Hyperprior, Maximizer, Maximum
from bayesvm.hyper.maximize import StartRecord
from bayesvm.inference import EP, Inference
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods import Likelihood
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Starts that need no random numbers.
DETERMINISTIC_STARTS = 6


class Distributed:
    """Mixin of the distributed estimators; see :class:`bayesvm.distributed.BayesianSVC` for arguments and attributes."""

    # -- arguments ----------------------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        super()._check_arguments()  # type: ignore[misc]
        if not isinstance(self.block_size, int | np.integer) or self.block_size < 2:
            raise ValueError(f"block_size: expected an integer of at least 2, found {self.block_size!r}")
        if self.partition not in ("random", "clustered"):
            raise ValueError(f"partition: expected 'random' or 'clustered', found {self.partition!r}")
        if self.committee not in RULES:
            raise ValueError(f"committee: expected 'rbcm' or 'gpoe', found {self.committee!r}")
        if self.checkpoint is not None and self.random_state is None and self.n_starts > DETERMINISTIC_STARTS:
            raise ValueError(
                f"checkpoint: with more than {DETERMINISTIC_STARTS} starts expected a random_state, found None"
            )

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy that uses the same client."""
        params = {k: v if k == "client" else clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        return type(self)(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = False
        return tags

    def _maximizer(self, callback: Any = None) -> Maximizer:
        return Maximizer(tol=float(self.tol), max_evaluations=int(self.max_iter), n_jobs=1, callback=None)

    # -- data ---------------------------------------------------------------------------------------------------------
    def _opened(self, engine: Engine, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Source:
        """Return the parts of the training data, and set the attributes that describe its columns."""
        if is_dask(X) or is_directory(X):
            source = open_source(engine, X, y, sample_weight)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if source.columns is not None:
                self.feature_names_in_ = np.asarray(source.columns, dtype=object)
            return source
        X, y = validate_data(self, X, y, dtype=np.float64, **checks)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        step = GROUP * int(self.block_size)
        parts = []
        for start in range(0, len(X), step):
            own = slice(start, start + step)
            parts.append(engine.put((X[own], y[own], None if weights is None else weights[own]), name="rows"))
        return Source(tuple(parts), None)

    def _surveyed(self, engine: Engine, source: Source, row_weights: Callable[..., Any], *, labels: bool) -> Summary:
        """Pass over the data once, set the scales of the inputs, and return the summary."""
        parts = [engine.submit(survey, p, i, row_weights, labels, name="survey") for i, p in enumerate(source.parts)]
        summary = merged(engine.gather(parts))
        if summary.n < 2:
            raise ValueError(f"expected at least two rows of positive weight, found {summary.n} samples")
        d = summary.inputs.mean.size
        self.n_features_in_ = d
        self._standardizer = summary.standardizer() if self.standardize else Standardizer.identity(d)
        spread = float(np.sum(summary.inputs.var / self._standardizer.scale**2))
        self._distance = float(np.sqrt(2.0 * spread)) if spread > 0.0 else 1.0
        return summary

    def _begin(
        self, engine: Engine, progress: Progress, source: Source, summary: Summary, plan: Plan, resume: Any
    ) -> tuple[Blocks, Run]:
        """Deal the rows to blocks, and open or resume the log of evaluations."""
        header = {
            "estimator": type(self).__name__,
            "parts": list(summary.sizes),
            "means": summary.inputs.mean.tolist(),
            "options": {
                k: repr(v)
                for k, v in sorted(self.get_params(deep=False).items())
                if k not in ("client", "checkpoint", "verbose")
            },
            "seed": plan.seed,
        }
        known: dict[str, dict[str, Any]] = {}
        if resume is not None:
            old, known = checkpoint.read(resume)
            checkpoint.check_same(old, header)
            plan = dataclasses.replace(plan, seed=old["seed"])
            header["seed"] = old["seed"]
        path = self.checkpoint if self.checkpoint is not None else resume
        blocks = make_blocks(engine, source.parts, summary.sizes, plan, summary.inputs.mean.size)
        self._seed = plan.seed
        self.n_blocks_, self.n_rows_ = len(blocks.handles), summary.n
        log = checkpoint.Log(None if path is None else Path(path), header, known)
        return blocks, Run(engine, engine.latents(), log, progress)

    def _plan(self, targets: Callable[[Any], Matrix], row_weights: Callable[[Any, Any], Vector | None]) -> Plan:
        seed = int(generator(self.random_state).integers(2**31))
        clustered = self.partition == "clustered"
        return Plan(int(self.block_size), clustered, seed, self._standardizer, targets, row_weights)

    # -- fitting ------------------------------------------------------------------------------------------------------
    def _objective(
        self, kernel: Kernel, likelihood: Likelihood, inference: Inference, X: Any, y: Any, prior: Hyperprior
    ) -> SummedObjective:
        if len(X.handles) > 1:
            inference = accurate(inference)
        return SummedObjective(kernel, likelihood, inference, X, y, prior, run=self._run)

    def _learnt(self, objective: SummedObjective, starts: Sequence[Vector], maximizer: Maximizer) -> Ensemble:
        """Return the machine, still without members, with the highest evidence that the starts lead to."""
        if self.optimizer is None or not objective.theta0.size:
            return self._kept(objective, starts[0])
        return _ensemble(objective, maximize_blocks(maximizer, objective, starts))

    def _kept(self, objective: SummedObjective, theta: Vector) -> Ensemble:
        """Return the machine, still without members, at a given theta."""
        result = objective.evaluate(theta)
        record = StartRecord(theta, theta, result.value, 1, ClimbStatus.CONVERGED, 0.0)
        return _ensemble(objective, Maximum(theta, result.value, None, ClimbStatus.CONVERGED, (record,)))

    def _assembled(self, run: Run, blocks: Blocks, machines: Sequence[Ensemble], method: EP | None) -> list[Ensemble]:
        """Return the machines with their members, and keep rows predicted without themselves for the calibration."""
        engine, size = run.engine, len(blocks.handles)
        inference = self._inference()
        models = [(_block_model(m.objective, k, inference), m.theta) for k, m in enumerate(machines)]
        shares = held_out_shares(blocks.sizes)
        made = [
            engine.submit(make_member, block, models, method, share, self._seed, name="member", home=home)
            for block, share, home in zip(blocks.handles, shares, blocks.numbers)
        ]
        groups = [
            engine.submit(_members, made[i : i + MEMBERS], name="members", home=i // MEMBERS)
            for i in range(0, size, MEMBERS)
        ]
        step = max(1, size * len(blocks) // sum(shares))
        held = [engine.submit(_held_out, made[i : i + step], name="held-out") for i in range(0, size, step)]
        rule = Rule(self.committee, size)
        whole = []
        self._held_out: list[Predicted] = []
        for k, machine in enumerate(machines):
            rows = predict_held_out(engine, groups, held, k, machine.kernel, k)
            self._held_out.append(rows)
            whole.append(dataclasses.replace(machine, rule=rule, index=k, block_trouble=rows.trouble))
        members = self._settled(engine, groups, size)
        return [dataclasses.replace(machine, members=members) for machine in whole]

    def _settled(self, engine: Engine, groups: Sequence[Any], size: int) -> Members:
        """Return the members: on a cluster that is not ours they stay there, otherwise they come here."""
        members = collected(engine, groups, size)
        return LocalMembers(tuple(members.stream())) if isinstance(self.client, int) else members

    def _tempered(self, temper: Callable[..., Any], **options: Any) -> tuple[list[Any], float]:
        """Set the rule of every machine; return their calibrations and the log likelihood of the held-out rows."""
        calibrations, total, share = [], 0.0, 0.0
        for k, (machine, rows) in enumerate(zip(self._machines, self._held_out)):
            tuned = 0 if self.optimizer is None else machine.theta.size
            rule, calibration, value = temper(
                machine.rule, machine.likelihood.plain, rows, calibrate=self.calibrate, tuned=tuned
            )
            self._machines[k] = dataclasses.replace(machine, rule=rule)
            calibrations.append(calibration)
            total, share = total + value, float(rows.weights.sum())
        self.temper_ = np.array([machine.rule.temper for machine in self._machines])
        self.held_out_rows_ = int(self._held_out[0].y.size)
        del self._held_out
        return calibrations, total * self._weight / share

    def _closed(self) -> None:
        """Forget what belongs to the fit alone."""
        del self._run
        if isinstance(self.client, int):
            self._machines = [dataclasses.replace(machine, objective=None) for machine in self._machines]

    def _refined(self, machine: Any) -> Any:
        return machine

    def _set_support(self, machines: Sequence[Any], X: Any, rows: Indices) -> None:
        """Row numbers of the training data mean nothing here; members keep their own support."""
        self.dual_coef_ = np.zeros((len(machines), 0))

    # -- after the fit ------------------------------------------------------------------------------------------------
    def collect(self) -> Self:
        """Bring the members from the cluster to this process; afterwards the estimator needs no cluster."""
        members = self._machines[0].members
        if not isinstance(members, LocalMembers):
            local = LocalMembers(tuple(members.stream()))
            self._machines = [dataclasses.replace(machine, members=local) for machine in self._machines]
        return self

    def __stored__(self) -> dict[str, Any]:
        """Return the state that a file keeps: with the members, without client and blocks."""
        state = dict(vars(self))
        state["client"] = None
        if "_machines" in state:
            members = self._machines[0].members
            if members is not None and not isinstance(members, LocalMembers):
                members = LocalMembers(tuple(members.stream()))
            state["_machines"] = [dataclasses.replace(m.bare(), members=members) for m in self._machines]
        return state

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[misc, assignment]
        return {**state, **self.__stored__()}

    def log_evidence(self, theta: Any = None, gradient: bool = False) -> Any:
        """Return the log evidence at ``theta``, summed over the blocks; see the plain estimator.

        Only while the blocks are there: not for a saved model, nor once a cluster that the fit started is closed.
        """
        if any(machine.objective is None for machine in getattr(self, "_machines", ())):
            raise ValueError("log_evidence: the blocks of training rows are no longer there")
        return super().log_evidence(theta, gradient)  # type: ignore[misc]

    def sample(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a committee combines predictions point by point, and has no joint distribution to draw from."""
        raise TypeError(
            "sample: a committee has no joint posterior; use predict_latent for means and standard deviations"
        )


def _ensemble(objective: SummedObjective, maximum: Maximum) -> Ensemble:
    kernel, likelihood = objective.model(maximum.theta)
    value = maximum.value - objective.prior.log_density(maximum.theta, objective.names)[0]
    evidence = SummedEvidence(value, Status.CONVERGED, None)
    return Ensemble(kernel, likelihood, evidence, Shape(objective.X.n_features), maximum, objective)


def _block_model(objective: SummedObjective, k: int, inference: Inference) -> BlockModel:
    return dataclasses.replace(objective._block_model(), column=k, inference=inference)


def _members(made: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(member for member, _ in made)


def _held_out(made: Sequence[Any]) -> Any:
    return join([held for _, held in made])


__all__ = ["Distributed"]
