"""What the two distributed estimators share: from a source of rows to a sample, and estimators without their rows."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from bayesvm.deprecation import deprecated
from bayesvm.distributed import checkpoint
from bayesvm.distributed.column_stats import Summary, inspected, merged, survey
from bayesvm.distributed.dask_predict import bare
from bayesvm.distributed.engine import Engine
from bayesvm.distributed.objective import FitContext
from bayesvm.distributed.process import DistributedData, DistributedModel, DistributedProcess
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import RowMap
from bayesvm.distributed.rows import TrainingRows, Units, make_blocks
from bayesvm.distributed.source import Source, is_dask, is_directory, open_source
from bayesvm.estimators._arguments import Rule, check_arguments, generator, whole
from bayesvm.estimators._large import chooses_units, known_units
from bayesvm.estimators._numbers import check_sizes_of_inputs, read_training_data, read_weights
from bayesvm.hyper.large import MOST
from bayesvm.models import fit_model
from bayesvm.models.base import typical_distance
from bayesvm.models.fit import fit_outputs
from bayesvm.models.scaling import LogStandardizer, Standardizer
from bayesvm.models.units import in_logarithms, in_units, suited_units
from bayesvm.typing import Indices

T = TypeVar("T")

#: Starts that need no random numbers.
DETERMINISTIC_STARTS = 6
#: Arguments that the plain estimators do not have, or that mean something else here.
RULES: Mapping[str, Rule] = {
    "block_size": whole(2),
    "sample_size": whole(2),
    "inducing": whole(1, "auto"),
}


class ClusterEstimator(BaseEstimator):
    """An estimator whose training rows may live on a cluster: copies and files hold neither rows nor a client."""

    client: Any
    models_: tuple[DistributedModel, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy that uses the same client."""
        params = {k: v if k == "client" else clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        return type(self)(**params)

    @deprecated(since="0.2.0", removed_in="0.3.0", instead="nothing: predictions need no cluster")
    def collect(self) -> Self:
        """Do nothing: what predicts is here since the fit."""
        check_is_fitted(self)
        return self

    def __stored__(self) -> dict[str, Any]:
        """Return the state that a file keeps: without client and training rows."""
        return {**vars(self), "client": None} if "models_" not in vars(self) else dict(vars(bare(self)))

    def __getstate__(self) -> dict[str, Any]:
        return self.__stored__()


def process(estimator: Any, plain: type[Any], data: DistributedData) -> DistributedProcess:
    """Return the specification of the plain estimator with the same arguments, for rows that are elsewhere."""
    asked = None if estimator.inducing == "auto" else int(estimator.inducing)
    names = [name for name in inspect.signature(plain).parameters if hasattr(estimator, name)]
    arguments = {**{name: getattr(estimator, name) for name in names}, "inducing": asked or MOST}
    size = None if asked is None else min(asked, data.n_rows)
    twin = plain(**arguments)
    if "models_" in vars(estimator):  # of the last fit, for a warm start
        twin.models_, twin.n_features_in_ = estimator.models_, estimator.n_features_in_
    return DistributedProcess.of(twin._spec(data), size, data.context.logged)


def check(estimator: Any, plain: Any) -> None:
    """Refuse constructor arguments out of range."""
    check_arguments(estimator, {**(plain._rules or {}), **RULES})
    drawn = estimator.random_state is None and estimator.n_starts > DETERMINISTIC_STARTS
    if drawn and estimator.checkpoint is not None:
        raise ValueError(
            f"checkpoint: with more than {DETERMINISTIC_STARTS} starts expected a random_state, found None"
        )


def read_blocks(
    fitted: Any, engine: Engine, X: Any, y: Any, sample_weight: Any, *, labels: bool, **checks: Any
) -> list[Any]:
    """Return handles of the blocks of the training rows, and set what scikit-learn remembers of their columns.

    Raises
    ------
    ValueError
        If a part holds other values than it should, or has other columns than the rest.
    """
    source = _read(fitted, engine, X, y, sample_weight, **checks)
    parts = enumerate(source.parts)
    shapes = engine.gather([engine.submit(inspected, part, i, labels, name="check") for i, part in parts])
    widths = [d for _, d in shapes]
    if min(widths) != max(widths):
        odd = next(d for d in widths if d != widths[0])
        raise ValueError(f"X: expected {widths[0]} columns in every part, found {odd} in one")
    sizes = [n for n, _ in shapes]
    if sum(sizes) < 2:
        raise ValueError(f"expected at least two rows of positive weight, found {sum(sizes)} samples")
    return make_blocks(engine, source.parts, sizes, int(fitted.block_size))


def _read(fitted: Any, engine: Engine, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Source:
    """Return the parts of the training data."""
    if is_dask(X) or is_directory(X):
        source = open_source(engine, X, y, sample_weight)
        vars(fitted).pop("feature_names_in_", None)
        if source.columns is not None:
            fitted.feature_names_in_ = np.asarray(source.columns, dtype=object)
        return source
    X, y = read_training_data(fitted, X, y, raw=not fitted.standardize, **checks)
    return Source((engine.put((X, y, read_weights(sample_weight, X)), name="rows"),), None)


def summarize(
    engine: Engine, blocks: Sequence[Any], weights: Callable[..., Any], *, labels: bool, mapped: Any = np.asarray
) -> Summary:
    """Pass over the data once; ``weights`` maps targets and weights to weights, ``mapped`` the inputs."""
    parts = [engine.submit(survey, own, weights, labels, mapped, name="survey") for own in blocks]
    summary = merged(engine.gather(parts))
    if summary.n < 2:
        raise ValueError(f"expected at least two rows of positive weight, found {summary.n} samples")
    return summary


def sample_rows(
    fitted: Any,
    engine: Engine,
    progress: Progress,
    blocks: Sequence[Any],
    summary: Summary,
    row_map: RowMap,
    resume: Any,
    represented: Indices,
) -> DistributedData:
    """Draw the sample, open or resume the log of evaluations, and set what is known of the data.

    ``represented`` are numbers of rows that the sample holds in any case.
    """
    d = summary.inputs.mean.size
    if not fitted.standardize:
        check_sizes_of_inputs(summary.inputs.size, fitted, raw=True)
    standardizer = summary.standardizer() if fitted.standardize else Standardizer.identity(d)
    options = fitted.get_params(deep=False)
    header = {
        "estimator": type(fitted).__name__,
        "rows": summary.n,
        "means": summary.inputs.mean.tolist(),
        "options": {k: repr(v) for k, v in sorted(options.items()) if k not in ("client", "checkpoint", "verbose")},
        "seed": int(generator(fitted.random_state).integers(2**31)),
    }
    log, seed = checkpoint.open_log(fitted.checkpoint, resume, header)
    used = [(block, n) for block, n in zip(blocks, summary.sizes, strict=True) if n]
    rows = TrainingRows(tuple(b for b, _ in used), tuple(n for _, n in used), Units(standardizer, row_map))
    numbers = np.arange(rows.n)
    if rows.n > fitted.sample_size:
        drawn = np.random.default_rng(seed).choice(rows.n, int(fitted.sample_size), replace=False)
        numbers = np.union1d(drawn, represented)
    sample = rows.some(engine, numbers)
    fitted.n_features_in_ = d
    fitted.n_blocks_, fitted.n_rows_, fitted.n_sampled_ = len(rows.blocks), rows.n, int(numbers.size)
    return DistributedData(
        sample.X,
        sample.Y,
        sample.weights,
        typical_distance(sample.X, sample.weights),
        list(getattr(fitted, "feature_names_in_", [])) or None,
        spread=row_map.spread,
        scale=row_map.units.scale,
        standardizer=standardizer,
        rows=rows,
        numbers=numbers,
        context=FitContext(engine, progress, log),
    )


def in_suited_units(estimator: Any, data: DistributedData) -> DistributedData:
    """Return the data in the units that suit them: as in the plain estimators, with the moments of all rows."""
    if not chooses_units(estimator, data.rows.n):
        return data
    assert data.standardizer is not None
    X = data.standardizer.outer(data.X.dense())
    other = in_logarithms(data, X)
    if other is None:
        return data
    curved, units, engine = other.standardizer, data.rows.units, data.context.engine
    assert isinstance(curved, LogStandardizer)
    weights = units.rows.weights
    all_rows = summarize(engine, data.rows.blocks, weights, labels=True, mapped=curved.logarithms).standardizer()
    curved = dataclasses.replace(curved, shift=all_rows.shift, scale=all_rows.scale)
    rows = dataclasses.replace(data.rows, units=dataclasses.replace(units, standardizer=curved))
    other = dataclasses.replace(in_units(data, curved, X), rows=rows)
    return suited_units(estimator._spec(data), data, other, known_units(estimator, data))


def fit_models(make_spec: Callable[[Any], DistributedProcess], data: DistributedData) -> tuple[DistributedModel, ...]:
    """Fit one model per set of hyperparameters."""
    spec = make_spec(data)
    one = spec.shared or data.n_outputs == 1
    models: Any = (fit_model(spec, data),) if one else fit_outputs(make_spec, data, n_jobs=1)
    return tuple(models)


def leave_cluster(fitted: Any) -> None:
    """Forget the training rows, if the cluster that holds them ends with the fit that started it."""
    if isinstance(fitted.client, int):
        fitted.models_ = fitted.__stored__()["models_"]


__all__ = [
    "ClusterEstimator",
    "check",
    "fit_models",
    "in_suited_units",
    "leave_cluster",
    "process",
    "read_blocks",
    "sample_rows",
    "summarize",
]
