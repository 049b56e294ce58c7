"""What the two distributed estimators share: from a source of rows to blocks, and estimators that live on a cluster."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from bayesvm.distributed import checkpoint
from bayesvm.distributed.blocks import GROUP, Plan, make_blocks
from bayesvm.distributed.column_stats import Summary, merged, survey
from bayesvm.distributed.committee import COMMITTEES
from bayesvm.distributed.dask_predict import bare
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.held_out import held_out_shares
from bayesvm.distributed.members import Members
from bayesvm.distributed.model import CommitteeModel, with_members
from bayesvm.distributed.objective import FitContext
from bayesvm.distributed.process import BlockedData
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import RowMap
from bayesvm.distributed.source import Source, is_dask, is_directory, open_source
from bayesvm.estimators._arguments import Rule, check_arguments, generator, one_of, whole
from bayesvm.estimators._numbers import read_training_data, read_weights
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.scaling import Standardizer

T = TypeVar("T")

#: Starts that need no random numbers.
DETERMINISTIC_STARTS = 6
#: Arguments that the plain estimators do not have.
RULES: Mapping[str, Rule] = {
    "block_size": whole(2),
    "partition": one_of("random", "clustered"),
    "committee": one_of(*COMMITTEES),
}


class ClusterEstimator(BaseEstimator):
    """An estimator whose fitted models may live on a cluster: copies and files hold the models, but no client."""

    client: Any
    models_: tuple[CommitteeModel, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy that uses the same client."""
        params = {k: v if k == "client" else clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        return type(self)(**params)

    def collect(self) -> Self:
        """Bring the members from the cluster to this process; afterwards predictions need no cluster."""
        check_is_fitted(self)
        members = self.models_[0].members
        assert isinstance(members, Members)
        self.models_ = with_members(self.models_, members.local())
        return self

    def __stored__(self) -> dict[str, Any]:
        """Return the state that a file keeps: with the members, without client and blocks."""
        if "models_" not in vars(self):
            return {**vars(self), "client": None}
        members, light = self.models_[0].members, bare(self)
        if isinstance(members, Members):
            light.models_ = with_members(light.models_, members.local())
        return dict(vars(light))

    def __getstate__(self) -> dict[str, Any]:
        return self.__stored__()


def plain_estimator(estimator: Any, cls: type[T]) -> T:
    """Return the plain estimator with the same arguments, exact in every block; others keep their defaults."""
    names = [name for name in inspect.signature(cls).parameters if hasattr(estimator, name)]
    arguments: dict[str, Any] = {**{name: getattr(estimator, name) for name in names}, "inducing": None}
    return cls(**arguments)


def check(estimator: Any, plain: Any) -> None:
    """Refuse constructor arguments out of range."""
    check_arguments(estimator, {**(plain._rules or {}), **RULES})
    drawn = estimator.random_state is None and estimator.n_starts > DETERMINISTIC_STARTS
    if drawn and estimator.checkpoint is not None:
        raise ValueError(
            f"checkpoint: with more than {DETERMINISTIC_STARTS} starts expected a random_state, found None"
        )


def read_rows(fitted: Any, engine: Engine, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Source:
    """Return the parts of the training data, and set what scikit-learn remembers of its columns."""
    if is_dask(X) or is_directory(X):
        source = open_source(engine, X, y, sample_weight)
        vars(fitted).pop("feature_names_in_", None)
        if source.columns is not None:
            fitted.feature_names_in_ = np.asarray(source.columns, dtype=object)
        return source
    X, y = read_training_data(fitted, X, y, raw=not fitted.standardize, **checks)
    weights = read_weights(sample_weight, X)
    step = GROUP * int(fitted.block_size)
    slices = [slice(start, start + step) for start in range(0, len(X), step)]
    rows = [(X[own], y[own], None if weights is None else weights[own]) for own in slices]
    return Source(tuple(engine.put(part, name="rows") for part in rows), None)


def summarize(engine: Engine, source: Source, weights: Callable[..., Any], *, labels: bool) -> Summary:
    """Pass over the data once; ``weights`` is the map of targets and weights to weights."""
    parts = [engine.submit(survey, part, i, weights, labels, name="survey") for i, part in enumerate(source.parts)]
    summary = merged(engine.gather(parts))
    if summary.n < 2:
        raise ValueError(f"expected at least two rows of positive weight, found {summary.n} samples")
    return summary


def deal_blocks(
    fitted: Any, engine: Engine, progress: Progress, source: Source, summary: Summary, rows: RowMap, resume: Any
) -> BlockedData:
    """Deal the rows to blocks, open or resume the log of evaluations, and set what is known of the data."""
    d = summary.inputs.mean.size
    standardizer = summary.standardizer() if fitted.standardize else Standardizer.identity(d)
    options = fitted.get_params(deep=False)
    header = {
        "estimator": type(fitted).__name__,
        "parts": list(summary.sizes),
        "means": summary.inputs.mean.tolist(),
        "options": {k: repr(v) for k, v in sorted(options.items()) if k not in ("client", "checkpoint", "verbose")},
        "seed": int(generator(fitted.random_state).integers(2**31)),
    }
    log, seed = checkpoint.open_log(fitted.checkpoint, resume, header)
    plan = Plan(int(fitted.block_size), fitted.partition == "clustered", seed, standardizer, rows)
    blocks = make_blocks(engine, source.parts, summary.sizes, plan, d)
    variance = float(np.sum(summary.inputs.var / standardizer.scale**2))
    fitted._standardizer, fitted.n_features_in_ = standardizer, d
    fitted.n_blocks_, fitted.n_rows_ = len(blocks), summary.n
    fitted.held_out_rows_ = sum(held_out_shares(blocks.sizes))
    return BlockedData(
        Inputs(np.empty((0, d))),
        np.empty((0, rows.units.scale.size)),
        distance=float(np.sqrt(2.0 * variance)) if variance > 0.0 else 1.0,
        names=list(getattr(fitted, "feature_names_in_", [])) or None,
        spread=rows.spread,
        scale=rows.units.scale,
        standardizer=standardizer,
        blocks=blocks,
        total=summary.inputs.total,
        context=FitContext(engine, engine.latents(), log, progress, seed),
    )


def leave_cluster(fitted: Any) -> None:
    """Bring the members here and forget the blocks, if the cluster ends with the fit that started it."""
    if isinstance(fitted.client, int):
        fitted.models_ = fitted.__stored__()["models_"]


__all__ = ["ClusterEstimator", "check", "deal_blocks", "leave_cluster", "plain_estimator", "read_rows", "summarize"]
