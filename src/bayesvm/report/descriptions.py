"""Estimators and hyperparameters in words."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def describe_estimator(estimator: Any) -> str:
    """Return one sentence about a fitted estimator."""
    name = type(estimator).__name__
    text = f"{name} is {ESTIMATORS.get(name, 'an estimator of this library')}."
    kernel = getattr(estimator, "kernel_", None)
    if kernel is None and hasattr(estimator, "kernels_"):
        return f"{text} It has {len(estimator.kernels_)} latent functions, one per class or output."
    if kernel is not None and hasattr(kernel, "leaves"):
        text += f" Its kernel is made of {' and '.join(_name(leaf) for leaf in kernel.leaves())}."
    likelihood = getattr(estimator, "likelihood_", None)
    if likelihood is not None:
        text += f" The likelihood is {_name(likelihood)}."
    return text


def _name(thing: Any) -> str:
    words = "".join(f" {c.lower()}" if c.isupper() and i else c for i, c in enumerate(type(thing).__name__))
    return words if len(words) < 4 else words[0].lower() + words[1:]


def describe_hyperparameters(estimator: Any) -> list[dict[str, Any]]:
    """Return a row per hyperparameter: name, value, meaning, and whether it ended at a bound."""
    names = getattr(estimator, "theta_names_", ())
    history = getattr(estimator, "history_", None)
    if not len(names) or not history:
        return []
    best = max(history[: len(estimator.models_[0].maximum.history)], key=lambda record: record.value)
    bounds = _bounds(estimator, len(names))
    rows = []
    for name, value, (low, high) in zip(names, best.end, bounds):
        stem = str(name).split("[")[0].split(".")[-1]
        rows.append(
            {
                "name": str(name),
                "value": float(np.exp(value)),
                "meaning": MEANINGS.get(stem, ""),
                "at_bound": bool(value < low + 1e-6 or value > high - 1e-6),
            }
        )
    return rows


def _bounds(estimator: Any, size: int) -> Any:
    """Return bounds of theta, infinite where they are in other units than theta."""
    models = getattr(estimator, "models_", None)
    if not models or hasattr(estimator, "_targets"):
        return [(-np.inf, np.inf)] * size
    bounds = models[0].objective.bounds
    return bounds if len(bounds) == size else [(-np.inf, np.inf)] * size


__all__ = ["ESTIMATORS", "MEANINGS", "describe_estimator", "describe_hyperparameters"]
