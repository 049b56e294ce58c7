"""When an estimator leaves exact inference for inducing inputs and neighbours, and what it expects to need."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.estimators._arguments import (
    chooses,
    given_kernel,
    has_kernel,
    hyperprior,
    integrates,
    kernel_candidates,
    search_options,
)
from bayesvm.hyper.fit_cost import CHOICE_MATRICES, EXACT_MATRICES, expected_exact_fit, expected_fit
from bayesvm.inference import EP, Exact, Inference, Laplace
from bayesvm.kernels import Constant, Gaussian, Kernel
from bayesvm.likelihoods import Likelihood
from bayesvm.models.base import Candidates, TrainingData
from bayesvm.models.candidates import KnownModels, OneKernel
from bayesvm.models.choice_on_part import PART
from bayesvm.models.chosen_process import ChosenProcess
from bayesvm.models.gaussian_process import GaussianProcess
from bayesvm.models.large import LargeProcess
from bayesvm.models.large_choice import ChoiceOnSample
from bayesvm.models.scaling import Standardizer
from bayesvm.models.softmax_process import SoftmaxProcess
from bayesvm.models.units import in_logarithms, suited_units

logger = logging.getLogger(__name__)

#: Rows up to which ``inducing="auto"`` means exact inference.
EXACT_ROWS = 3000
#: The same for several classes with one kernel that is chosen: search and judgement take a part of the rows.
EXACT_ROWS_OF_CLASSES = 10000
#: The same for two classes with a kernel that is chosen, and Laplace's method: the choice takes a part of the rows.
EXACT_ROWS_OF_LABELS = 5000


def large_process(
    estimator: Any,
    data: TrainingData,
    likelihood: Likelihood,
    inference: Inference,
    *,
    shared: bool = False,
    posterior: EP | None = None,
    others: Callable[[], tuple[Likelihood, ...]] = tuple,
) -> LargeProcess | None:
    """Return the specification with inducing inputs that the arguments and the data ask for, None for an exact one.

    ``posterior`` gives the predictions, None if ``inference`` does; ``others`` returns the likelihoods that are tried
    beside the given one.

    Raises
    ------
    MemoryError
        If an exact fit was asked for that cannot fit into the memory of the computer.
    ValueError
        If a number of inducing inputs was given with an inference method that has none.
    """
    asked, n = estimator.inducing, data.n_rows
    if asked is None or (asked == "auto" and n <= _exact_rows(estimator, data, inference, shared=shared)):
        check_memory(n, (CHOICE_MATRICES if chooses(estimator) else EXACT_MATRICES) * 8 * n * n)
        return None
    if asked != "auto" and not isinstance(inference, Laplace | Exact | EP):
        raise ValueError(
            f"inducing: expected 'auto' or None with {type(inference).__name__} inference, found {asked!r}"
        )
    form, learnt = Gaussian() + Constant(), estimator.optimizer is not None
    chosen, noise = not has_kernel(estimator) and learnt, others() if learnt else ()
    own_kernel = None if chosen else given_kernel(estimator, form)
    if chosen or noise:
        kernels: Candidates = ChoiceOnSample(own_kernel, has_kernel(estimator), noise)
    else:
        kernels = kernel_candidates(estimator, form)
    known = known_models(estimator, data, own_kernel, inference if noise else None)
    return LargeProcess(
        known or kernels,
        likelihood,
        inference,
        posterior,
        calibrate=estimator.calibrate,
        hyperprior=hyperprior(estimator),
        options=search_options(estimator),
        shared=shared,
        size=None if asked == "auto" else min(int(asked), n),
    )


def _exact_rows(estimator: Any, data: TrainingData, inference: Inference, *, shared: bool) -> int:
    """Return the rows up to which ``inducing="auto"`` means exact inference."""
    if not chooses(estimator) or data.codes is None:
        return EXACT_ROWS
    if shared:
        return EXACT_ROWS if estimator.calibrate is None else EXACT_ROWS_OF_CLASSES
    two, plain = int(np.max(data.codes)) == 1, isinstance(inference, Laplace) and not integrates(estimator)
    return EXACT_ROWS_OF_LABELS if two and plain else EXACT_ROWS


def _state_cost(data: TrainingData, spec: GaussianProcess) -> str:
    """Say and return what a fit of many rows is expected to need, and refuse one that cannot fit into memory."""
    n, outputs = data.n_rows, data.n_outputs if spec.shared else 1
    if isinstance(spec, LargeProcess):
        chosen = isinstance(spec.candidates, ChoiceOnSample) and spec.candidates.kernel is None
        sizes: dict[str, Any] = {"quadratic": spec.likelihood.traits.quadratic, "size": spec.size, "chosen": chosen}
        cost = expected_fit(n, data.n_features, outputs, **sizes)
        how = "inducing inputs and neighbours instead of exact inference"
    else:
        cost = expected_exact_fit(n, data.n_features, PART)
        how = "exact inference, with a kernel chosen on a part of them"
    needs = f"{cost.memory / 2**20:.0f} MiB and {_duration(cost.seconds)}"
    logger.info("%d rows, %d features: %s, up to about %s on one core", n, data.n_features, how, needs)
    available = physical_memory()
    if available is not None and cost.memory > available:
        raise MemoryError(
            f"a fit of {n} rows with {data.n_features} features needs about {cost.memory / 2**30:.0f} GiB, and this "
            f"computer has {available / 2**30:.0f} GiB; use fewer rows, or bayesvm.distributed with rows in files"
        )
    return needs


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"


def in_suited_units(estimator: Any, data: TrainingData, X: Any) -> tuple[TrainingData, str]:
    """Return the data in the units that suit them, where there are many rows and the kernel is chosen, and the cost.

    What a fit of many rows is expected to need is said before, and one that cannot fit into memory is refused; it is
    returned in words, empty if the rows are few.

    Parameters
    ----------
    estimator : estimator
        Perhaps fitted, with the argument ``standardize``.
    data : TrainingData
        With features that are standardised if the estimator does so.
    X : array or sparse matrix
        The rows in the user's units.
    """
    if data.n_rows <= EXACT_ROWS or getattr(estimator, "inducing", None) is None:
        return data, ""
    spec = estimator._spec(data)
    if not isinstance(spec, LargeProcess | ChosenProcess):
        return data, ""
    needs = _state_cost(data, spec)
    if data.X.is_sparse or not chooses_units(estimator, data.n_rows):
        return data, needs
    other = in_logarithms(data, X)
    return data if other is None else suited_units(spec, data, other, known_units(estimator, data)), needs


def chooses_units(estimator: Any, n: int) -> bool:
    """Whether an estimator chooses the units of the features of n rows: they are many, and the kernel is chosen."""
    return bool(n > EXACT_ROWS and estimator.standardize and chooses(estimator))


def known_units(estimator: Any, data: TrainingData) -> Standardizer | None:
    """Return the map of the features of the last fit, None if the next does not begin with its models."""
    known: Standardizer | None = vars(estimator).get("_standardizer")
    return known if known_models(estimator, data, None) else None


def softmax_process(estimator: Any, data: TrainingData) -> SoftmaxProcess:
    """Return the joint model of several classes that the arguments ask for, which has the softmax likelihood.

    Raises
    ------
    MemoryError
        If it cannot fit into the memory of the computer.
    ValueError
        If something was asked for that the joint model has not.
    """
    for name, fits in (("inducing", ("auto", None)), ("theta", ("optimum",)), ("posterior", ("auto", "laplace", None))):
        if getattr(estimator, name) not in fits:
            expected = " or ".join(repr(value) for value in fits)
            found = getattr(estimator, name)
            raise ValueError(f"{name}: expected {expected} with multi_class='softmax', found {found!r}")
    check_memory(data.n_rows, (EXACT_MATRICES + data.n_outputs) * 8 * data.n_rows**2)
    kernel = OneKernel(given_kernel(estimator, Gaussian() + Constant()), has_kernel(estimator))
    return SoftmaxProcess(
        kernel,
        calibrate=estimator.calibrate,
        hyperprior=hyperprior(estimator),
        options=search_options(estimator),
        shared=True,
    )


def known_models(
    estimator: Any, data: TrainingData, kernel: Kernel | None, inference: Inference | None = None
) -> KnownModels | None:
    """Return the models of the last fit as what the next begins with, None without ``warm_start`` or without a fit.

    Parameters
    ----------
    estimator : estimator
        With the argument ``warm_start``, perhaps fitted.
    data : TrainingData
        Of the new fit, which must have as many features as those of the last one.
    kernel : Kernel or None
        The kernel that was given: models with another are not used; None: any will do.
    inference : Inference, optional
        The method, where the likelihood was chosen and is kept, too.
    """
    models = vars(estimator).get("models_") if estimator.warm_start and estimator.optimizer is not None else None
    if models is None or estimator.n_features_in_ != data.n_features:
        return None
    names = None if kernel is None else kernel.bind(data.n_features, data.names).names
    if names is not None and any(model.kernel.names != names for model in models):
        return None
    logger.info("the search begins with the hyperparameters of the last fit")
    changes: list[dict[str, Any]] = [{} for _ in models]
    if inference is not None:
        plain = [model.likelihood.plain for model in models]
        changes = [{"likelihood": own, "inference": inference.suited(own)} for own in plain]
    return KnownModels(tuple(m.kernel for m in models), tuple(m.maximum.theta for m in models), tuple(changes))


def check_memory(n: int, needed: int) -> None:
    """Refuse an exact fit that cannot fit into memory, and say what can be done."""
    available = physical_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"an exact fit of {n} rows needs about {needed / 2**30:.0f} GiB, and this computer has "
            f"{available / 2**30:.0f} GiB; use inducing='auto', which needs a small part of it, or fewer rows"
        )


def physical_memory() -> int | None:
    """Return the bytes of main memory, None where the system does not tell."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))


__all__ = [
    "EXACT_ROWS",
    "check_memory",
    "in_suited_units",
    "known_models",
    "large_process",
    "physical_memory",
    "softmax_process",
]
