"""From a specification and data to a fitted model: the one place where everything is fitted."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any

import joblib

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximum
from bayesvm.hyper.interrupts import Stop, interrupt_was_kept
from bayesvm.models.base import FittedModel, KernelCandidate, ModelSpec, TrainingData, Trial, no_evidence
from bayesvm.typing import Vector

logger = logging.getLogger(__name__)


def fit_model(spec: ModelSpec, data: TrainingData) -> FittedModel:
    """Fit the specified model: for every candidate search theta, then conclude from all of them.

    Parameters
    ----------
    spec : ModelSpec
        What is fitted.
    data : TrainingData
        To what.

    Returns
    -------
    model : FittedModel
        With ``candidates`` if there were several.

    Raises
    ------
    NotPositiveDefiniteError
        If the evidence could be computed for none of the kernels.
    """
    with spec.threads(data):
        return spec.conclude(try_candidates(spec, data), data)


def try_candidates(spec: ModelSpec, data: TrainingData) -> list[Trial]:
    """Return the candidates of a specification after their searches; see :func:`fit_model`."""
    tried: list[FittedModel] = []
    trials: list[Trial] = []
    failures: list[NotPositiveDefiniteError] = []
    for candidate in spec.candidates(spec, data, tried):
        own, began = _named(dataclasses.replace(spec, **candidate.changes), candidate.name), time.perf_counter()
        try:
            objective = own.objective(candidate.kernel.bind(data.n_features, data.names), data)
            starts = starting_thetas(own, objective, candidate, data)
            if own.options.optimize and objective.theta0.size:
                maximum = own.search(own.options.maximizer, objective, starts)
            else:
                first = objective.evaluate(starts[0])
                maximum = Maximum.at(first.theta, first.value, first.evidence.latent)
            model = own.model(objective, maximum, data)
        except NotPositiveDefiniteError as error:
            logger.warning("kernel %r is left out: %s", candidate.kernel, error)
            failures.append(error)
            trials.append(Trial(candidate.name or repr(candidate.kernel), None, time.perf_counter() - began))
        else:
            tried.append(model)
            trials.append(Trial(candidate.name or repr(model.kernel), model, time.perf_counter() - began))
            if interrupt_was_kept():
                break
    if not tried:
        raise no_evidence(trials[0].name, failures[0]) from failures[0]
    return [trial.as_interrupted() for trial in trials] if interrupt_was_kept() else trials


def fit_outputs(
    make_spec: Callable[[TrainingData], ModelSpec], data: TrainingData, n_jobs: int | None
) -> tuple[FittedModel, ...]:
    """Fit one model per output, each with hyperparameters of its own, several at the same time.

    Once an exception leaves this function, such as KeyboardInterrupt, threads that are still at work end with their
    next evaluation.
    """
    stop = Stop()
    specs = [_stopped_by(stop, _one_job(make_spec(data.output(k)))) for k in range(data.n_outputs)]
    pool = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    try:
        return tuple(pool(joblib.delayed(_fit_output)(spec, data, k) for k, spec in enumerate(specs)))
    except BaseException:
        stop.set()
        raise


def _fit_output(spec: ModelSpec, data: TrainingData, k: int) -> FittedModel:
    """Fit one output; the data are the same object for all of them, so that a cluster receives them once."""
    return fit_model(spec, data.output(k))


def _stopped_by(stop: Stop, spec: ModelSpec) -> ModelSpec:
    """Return the specification with a search that ends once it is told to."""
    return spec.watched(stop.before(spec.options.maximizer.callback))


def _named(spec: ModelSpec, name: str) -> ModelSpec:
    """Return the specification with a callback, if it has one, that is told the name of the candidate."""
    told = spec.options.maximizer.callback
    if told is None or not name:
        return spec
    return spec.watched(lambda progress: told(dataclasses.replace(progress, candidate=name)))


def _one_job(spec: ModelSpec) -> ModelSpec:
    """Return the specification with starts that search one after the other."""
    options = spec.options
    single = dataclasses.replace(options, maximizer=dataclasses.replace(options.maximizer, n_jobs=1))
    return dataclasses.replace(spec, options=single)


def starting_thetas(spec: ModelSpec, objective: Any, candidate: KernelCandidate, data: TrainingData) -> list[Vector]:
    """Return the known starts of a candidate and as many of the library's as are missing."""
    known = [*([objective.theta0] if candidate.given else []), *candidate.starts][: candidate.n_starts]
    missing = candidate.n_starts - len(known)
    return known + spec.starts(objective.kernel, data, missing) if missing else known


__all__ = ["fit_model", "fit_outputs", "starting_thetas", "try_candidates"]
