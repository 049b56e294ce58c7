"""Estimators and hyperparameters in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.estimators._summary import output_names
from bayesvm.hyper import SearchStatus
from bayesvm.kernels import Constant, Kernel
from bayesvm.kernels.combine import Product, Sum

#: What the parameters of kernels and likelihoods mean, by the last part of their name.
MEANINGS = {
    "variance": "size of this part of the function (variance of its values)",
    "lengthscale": "distance over which the function changes, in standard deviations of the feature",
    "offset": "weight of the lower degrees",
    "alpha": "mixture of length scales; large: like a Gaussian",
    "scale": "slope of the hidden units",
    "C": "inverse scale of the noise beyond the insensitive zone",
    "epsilon": "half width of the insensitive zone, in the units of the target",
    "beta": "share of the zone that is rounded",
    "period": "length of one period",
}

#: What an estimator is, by the name of its class.
ESTIMATORS = {
    "BayesianSVC": "a support vector classifier whose hyperparameters maximise the evidence of the training data",
    "BayesianSVR": "a support vector regressor whose hyperparameters and noise maximise the evidence of the training "
    "data",
    "VariationalSVC": "a support vector classifier with a variational Gaussian posterior",
    "BayesianLSSVC": "a least-squares support vector classifier with three levels of inference",
    "BayesianLSSVR": "a least-squares support vector regressor with three levels of inference",
    "KernelFisherDiscriminant": "a Fisher discriminant in the feature space of a kernel",
    "ProbabilisticSVC": "a hinge-loss support vector classifier with a normalised evidence",
    "ExtendedSVC": "a support vector classifier in its general formulation, with given hyperparameters",
    "ExtendedSVR": "a support vector regressor in its general formulation, with given hyperparameters",
    "TrigonometricSVC": "a support vector classifier with the trigonometric loss, with given hyperparameters",
    "GPClassifier": "a Gaussian process classifier",
    "GPRegressor": "a Gaussian process regressor",
    "RelevanceVectorClassifier": "a relevance vector classifier",
    "RelevanceVectorRegressor": "a relevance vector regressor",
    "Committee": "an average of models at several optima of the evidence, weighted by it",
}


#: How a search ended, for people; an evidence that jumps has ends from which no step leads further up.
ENDINGS = {
    SearchStatus.CONVERGED: "converged",
    SearchStatus.STALLED: "converged, at a jump of the evidence",
    SearchStatus.REFINED: "converged, up to jumps of the evidence",
    SearchStatus.MERGED: "converged to the same maximum as another start",
    SearchStatus.ABANDONED: "given up, far below the best start",
}


def describe_estimator(estimator: Any) -> str:
    """Return one sentence about a fitted estimator."""
    name = type(estimator).__name__
    text = f"{name} is {ESTIMATORS.get(name, 'an estimator of this library')}."
    kernels = getattr(estimator, "kernels_", None)
    if kernels and any(kernel is not kernels[0] for kernel in kernels):
        return f"{text} It has {len(kernels)} latent functions, one per class or output."
    kernel = getattr(estimator, "kernel_", None)
    if kernel is not None and isinstance(kernel, Kernel):
        text += f" Its kernel has the form {kernel_form(kernel)}."
    likelihood = getattr(estimator, "likelihood_", None)
    if likelihood is not None:
        text += f" The likelihood is {_name(likelihood)}."
    return text


def kernel_form(kernel: Kernel) -> str:
    """Return the form of a kernel without numbers, as "gaussian + constant"; factors that are not learnt go unsaid."""
    if isinstance(kernel, Sum):
        return f"{kernel_form(kernel.left)} + {kernel_form(kernel.right)}"
    if isinstance(kernel, Product):
        factors = [factor for factor in (kernel.left, kernel.right) if not _is_number(factor)]
        return " * ".join(f"({kernel_form(f)})" if len(factors) > 1 and _is_sum(f) else kernel_form(f) for f in factors)
    if len(kernel.children) == 1:
        return kernel_form(kernel.children[0])
    return _name(kernel)


def _is_number(kernel: Kernel) -> bool:
    return isinstance(kernel, Constant) and not kernel.theta.size


def _is_sum(kernel: Kernel) -> bool:
    return isinstance(kernel, Sum) or (len(kernel.children) == 1 and _is_sum(kernel.children[0]))


def describe_ending(status: SearchStatus) -> str:
    """Return how a search ended, in a few words."""
    return ENDINGS.get(status, status.value)


def _name(thing: Any) -> str:
    words = "".join(f" {c.lower()}" if c.isupper() and i else c for i, c in enumerate(type(thing).__name__))
    return words if len(words) < 4 else words[0].lower() + words[1:]


def describe_hyperparameters(estimator: Any) -> list[dict[str, Any]]:
    """Return a row per hyperparameter: name, meaning, whether it ended at a bound, and its value.

    Of several models there are ``values`` in place of the ``value``, one per model, by class or output.
    """
    names = getattr(estimator, "theta_names_", ())
    ends = _best_ends(estimator)
    if not len(names) or not ends or any(len(end) != len(names) for end in ends):
        return []
    labels = output_names(estimator) if len(ends) > 1 else []
    bounds = _bounds(estimator, len(names))
    rows = []
    for j, name in enumerate(map(str, names)):
        thetas = [float(end[j]) for end in ends]
        row: dict[str, Any] = {"name": name, "meaning": _meaning(name)}
        if labels:
            row["values"] = {label: float(np.exp(theta)) for label, theta in zip(labels, thetas, strict=True)}
        else:
            row["value"] = float(np.exp(thetas[0]))
        row["at_bound"] = any(_at_bound(theta, *limits[j]) for theta, limits in zip(thetas, bounds, strict=True))
        rows.append(row)
    return rows


def _best_ends(estimator: Any) -> list[Any]:
    """Return, per model, theta at the best end of its starts, in the user's units."""
    history = list(getattr(estimator, "history_", None) or ())
    ends = []
    for model in getattr(estimator, "models_", ()):
        if not hasattr(model, "maximum") or not history:
            return []
        own, history = history[: len(model.maximum.history)], history[len(model.maximum.history) :]
        ends.append(max(own, key=lambda record: record.value).end)
    return ends


def _meaning(name: str) -> str:
    return MEANINGS.get(name.split("[")[0].split(".")[-1], "")


def _at_bound(theta: float, low: float, high: float) -> bool:
    return bool(theta < low + 1e-6 or theta > high - 1e-6)


def _bounds(estimator: Any, size: int) -> list[Any]:
    """Return the bounds of theta of every model, infinite where they are in other units than theta."""
    free = [(-np.inf, np.inf)] * size
    if hasattr(estimator, "_targets"):
        return [free for _ in estimator.models_]
    found = [model.objective.bounds for model in estimator.models_]
    return [bounds if len(bounds) == size else free for bounds in found]


__all__ = [
    "ESTIMATORS",
    "MEANINGS",
    "describe_ending",
    "describe_estimator",
    "describe_hyperparameters",
    "kernel_form",
]
