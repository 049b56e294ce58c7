"""From a fitted estimator to an ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators.committee import Committee
from bayesvm.estimators.kernel_fisher import KernelFisherDiscriminant
from bayesvm.models.average import AveragedClasses, AveragedModel
from bayesvm.models.class_scores import MeanFunctions
from bayesvm.models.ls_svm import LeastSquaresModel
from bayesvm.models.scaling import LogStandardizer, Standardizer
from bayesvm.models.support_vectors import SupportVectorModel
from bayesvm.onnx_export.graph import Graph, labels
from bayesvm.onnx_export.kernels import cross_gram, logarithms
from bayesvm.onnx_export.latent import dense_rows, latent, ls_moments
from bayesvm.onnx_export.pipeline import pipeline_model
from bayesvm.onnx_export.probability import average
from bayesvm.onnx_export.svm import discriminant, kernel_expansion


def to_onnx(estimator: Any) -> Any:
    """Return a fitted estimator as an ONNX model that predicts without this library.

    Parameters
    ----------
    estimator : fitted estimator
        A self-tuning classifier or regressor, least-squares and relevance vector machines and committees included, with
        kernels out of ``bayesvm.onnx_export.kernels.WRITERS``; or a pipeline that ends in one, after a
        :class:`~bayesvm.tables.TableEncoder` (that is what the command line saves), transformers of scikit-learn that
        :mod:`bayesvm.onnx_export.steps` knows, or both.

    Returns
    -------
    model : onnx.ModelProto
        Input ``X`` (n, d) of doubles, in the user's units; with a table encoder one input (n, 1) per column of the
        table, see :mod:`bayesvm.onnx_export.table`. Outputs of a classifier: ``label`` (n,), ``probabilities``
        (n, n_classes); of a regressor: ``mean`` and ``variance`` (n, n_outputs) of a new observation; of both:
        ``latent_mean`` and ``latent_variance``. Estimators with given hyperparameters have no variances: ``mean``, or
        ``label`` and ``decision``.

    Raises
    ------
    TypeError
        If the estimator or its kernel has no counterpart in ONNX; the message names it.
    """
    if isinstance(estimator, Pipeline):
        return pipeline_model(estimator, to_onnx)
    check_is_fitted(estimator)
    members = estimator._members if isinstance(estimator, Committee) else [estimator]
    weights = estimator.weights_ if isinstance(estimator, Committee) else np.ones(1)
    g = Graph()
    if isinstance(estimator, KernelFisherDiscriminant):
        outputs = discriminant(g, estimator)
    elif isinstance(getattr(estimator, "_model", None), SupportVectorModel):
        outputs = kernel_expansion(g, estimator)
    else:
        outputs = (_classifier if is_classifier(estimator) else _regressor)(g, members, weights)
    return g.model(int(estimator.n_features_in_), outputs)


def standardized(g: Graph, s: Standardizer) -> str:
    """Return the rows in the units used inside."""
    X = logarithms(g, "X", s.origin, s.unit) if isinstance(s, LogStandardizer) else "X"
    return g.op("Div", g.op("Sub", X, s.shift[None, :]), s.scale[None, :])


def _latents(g: Graph, member: Any) -> tuple[str, str, str]:
    """Return standardised rows, latent means (n, k) and variances (n, k) of one estimator."""
    if not hasattr(member, "models_") or not hasattr(member, "_standardizer"):
        raise TypeError(f"to_onnx: {type(member).__name__} cannot be exported")
    X = standardized(g, member._standardizer)
    means, variances = [], []
    for model in member.models_:
        mean, var = latent(g, model.chosen if isinstance(model, AveragedModel) else model, X)
        means += mean
        variances += var
    return X, _joined(g, means), _joined(g, variances)


def _joined(g: Graph, columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else g.op("Concat", *columns, axis=1)


def _mixed(g: Graph, parts: list[str], weights: Any) -> str:
    total = g.op("Mul", parts[0], np.array(float(weights[0])))
    for part, weight in zip(parts[1:], weights[1:]):
        total = g.op("Add", total, g.op("Mul", part, np.array(float(weight))))
    return total


# -- classifiers --------------------------------------------------------------------------------
def _classifier(g: Graph, members: list[Any], weights: Any) -> dict[str, Any]:
    classes = np.asarray(members[0].classes_)
    parts, first = [], ("", "")
    for member in members:
        X, mean, var = _latents(g, member)
        first = first if first[0] else (mean, var)
        parts.append(_probabilities(g, member, _log_odds(g, member, X, mean, var)))
    proba = _mixed(g, parts, weights)
    k = 1 if classes.size == 2 else classes.size
    return {
        "label": labels(g, classes, proba),
        "probabilities": (proba, "double", int(classes.size)),
        "latent_mean": (first[0], "double", k),
        "latent_variance": (first[1], "double", k),
    }


def _log_odds(g: Graph, member: Any, X: str, mean: str, var: str) -> str:
    """Return log odds, one column per output."""
    if isinstance(member.models_[0], LeastSquaresModel):
        return _moderated(g, member, X, mean, var)
    uses_mode = getattr(member, "_uses_mode", None)
    if uses_mode is not None and uses_mode():
        raise TypeError(f"to_onnx: {type(member).__name__} with predictions at the mode cannot be exported")
    likelihoods = [model.likelihood.plain for model in member.models_ for _ in range(model.n_outputs)]
    if not all(likelihood.traits.normalized for likelihood in likelihoods):
        raise TypeError(f"to_onnx: the probabilities of {type(member).__name__} have no counterpart in ONNX")
    columns: list[str] = []
    for model in member.models_:
        if isinstance(model, AveragedClasses):
            return _averaged_classes(g, model, X)
        if isinstance(model, AveragedModel):
            columns += _averaged_odds(g, model, X)
            continue
        for k in range(model.n_outputs):
            at = np.array([len(columns)], dtype=np.int64)
            m, v = g.op("Gather", mean, at, axis=1), g.op("Gather", var, at, axis=1)
            columns.append(_odds(g, model, k, m, v))
    coupling, odds = getattr(member, "coupling_", None), _joined(g, columns)
    if coupling is None:
        return odds
    return g.op("Add", g.op("Mul", odds, coupling.scales[None, :]), coupling.shifts[None, :])


def _odds(g: Graph, model: Any, k: int, mean: str, var: str) -> str:
    """Return calibrated log odds of one output."""
    likelihood = model.likelihood.plain
    up, down = average(g, likelihood, mean, var), average(g, likelihood, g.op("Neg", mean), var)
    odds = g.op("Sub", g.op("Log", up), g.op("Log", down))
    calibrations = getattr(model, "calibrations", ())
    if not calibrations:
        return odds
    return g.op("Add", g.op("Mul", odds, np.array(calibrations[k].scale)), np.array(calibrations[k].shift))


def _averaged_classes(g: Graph, model: AveragedClasses, X: str) -> str:
    """Return the logarithms of averaged probabilities of several classes."""
    parts = []
    for member in model.members:
        functions, fit = member.functions, member.calibration
        if isinstance(functions, MeanFunctions):
            K = cross_gram(g, functions.kernel, X, dense_rows(functions.inputs))
            scores = g.op("MatMul", K, functions.coefficients)
        else:
            scores = _joined(g, latent(g, functions, X)[0])
        odds = g.op("Add", g.op("Mul", scores, fit.scales[None, :]), fit.shifts[None, :])
        parts.append(g.op("Softmax", odds, axis=1))
    return g.op("Log", _mixed(g, parts, model.weights))


def _averaged_odds(g: Graph, model: AveragedModel, X: str) -> list[str]:
    """Return log odds of averaged probabilities, one node per output."""
    up: list[list[str]] = [[] for _ in range(model.n_outputs)]
    down: list[list[str]] = [[] for _ in range(model.n_outputs)]
    for member in model.members:
        for k, (mean, var) in enumerate(zip(*latent(g, member, X), strict=True)):
            odds = _odds(g, member, k, mean, var)
            up[k].append(g.op("Sigmoid", odds))
            down[k].append(g.op("Sigmoid", g.op("Neg", odds)))
    pairs = [(_mixed(g, u, model.weights), _mixed(g, d, model.weights)) for u, d in zip(up, down, strict=True)]
    return [g.op("Sub", g.op("Log", u), g.op("Log", d)) for u, d in pairs]


def _moderated(g: Graph, member: Any, X: str, mean: str, var: str) -> str:
    """Return the log odds of a least-squares classifier, VanGestel2002 (3.17) or softmax."""
    if member.decision == "latent":
        return mean
    if member.softmax:
        widened = g.op("Add", g.op("Mul", var, np.array(0.125 * np.pi)), np.array(1.0))
        return g.op("Div", mean, g.op("Sqrt", widened))
    columns = []
    for model in member.models_:
        moderator = model.moderator
        f, spreads = ls_moments(g, model, X, moderator.mixtures)
        q = moderator.inside.size
        densities = []
        for centre, first in ((moderator.inside, 0), (moderator.outside, q)):
            own = g.op("Gather", spreads, np.arange(first, first + q, dtype=np.int64), axis=1)
            width = g.op("Add", own, moderator.noise[None, :])
            error = g.op("Sub", f, centre[None, :])
            square = g.op("Div", g.op("Mul", error, error), width)
            densities.append(g.op("Mul", g.op("Add", g.op("Log", width), square), np.array(-0.5)))
        difference = g.op("Sub", densities[0], densities[1])
        columns.append(g.op("Add", difference, moderator.log_odds_prior[None, :]))
    return _joined(g, columns)


def _probabilities(g: Graph, member: Any, odds: str) -> str:
    """Return class probabilities of log odds; two classes have one column of odds."""
    if member.classes_.size == 2:
        half = g.op("Mul", odds, np.array(0.5))
        odds = g.op("Concat", g.op("Neg", half), half, axis=1)
    log_shift = member._frequencies.shift(member.class_prior)
    if log_shift is not None:  # softmax of shifted logarithms of probabilities
        odds = g.op("Add", g.op("Log", g.op("Softmax", odds, axis=1)), log_shift[None, :])
    return g.op("Softmax", odds, axis=1)


# -- regressors --------------------------------------------------------------------------------
def _regressor(g: Graph, members: list[Any], weights: Any) -> dict[str, Any]:
    means, variances, first = [], [], ("", "", 0)
    for member in members:
        mean, var, whole = _target_moments(g, member)
        shift, scale = member._targets.shift, member._targets.scale
        outer = g.op("Add", g.op("Mul", mean, scale[None, :]), shift[None, :])
        latent_var = g.op("Mul", var, (scale**2)[None, :])
        means.append(outer)
        variances.append(g.op("Mul", whole, (scale**2)[None, :]))
        first = first if first[0] else (outer, latent_var, scale.size)
    mean = _mixed(g, means, weights)
    whole = _mixed_variance(g, means, variances, mean, weights)
    return {
        "mean": (mean, "double", first[2]),
        "variance": (whole, "double", first[2]),
        "latent_mean": (first[0], "double", first[2]),
        "latent_variance": (first[1], "double", first[2]),
    }


def _target_moments(g: Graph, member: Any) -> tuple[str, str, str]:
    """Return latent means, latent variances and variances with noise, one column per output, in the units inside."""
    X = standardized(g, member._standardizer)
    columns: list[tuple[str, str, str]] = []
    for model in member.models_:
        if isinstance(model, AveragedModel):
            columns += _averaged_moments(g, model, X)
            continue
        first = len(columns)
        for k, (mean, var) in enumerate(_columns(g, *latent(g, model, X), model.n_outputs)):
            whole = _with_noise(g, var, model.likelihood.plain, member.calibration_[first + k])
            columns.append((mean, var, whole))
    mean, var, whole = (_joined(g, list(part)) for part in zip(*columns, strict=True))
    return mean, var, whole


def _columns(g: Graph, means: list[str], variances: list[str], n_outputs: int) -> list[tuple[str, str]]:
    """Return one pair of nodes per output; a node of means may hold several columns."""
    if len(means) == n_outputs:
        return list(zip(means, variances, strict=True))
    at = [np.array([k], dtype=np.int64) for k in range(n_outputs)]
    return [(g.op("Gather", means[0], k, axis=1), var) for k, var in zip(at, variances, strict=True)]


def _with_noise(g: Graph, var: str, noise: Any, calibration: Any) -> str:
    """Return the calibrated variance of a target."""
    return g.op("Mul", g.op("Add", var, np.array(noise.noise_variance)), np.array(calibration.scale**2))


def _averaged_moments(g: Graph, model: AveragedModel, X: str) -> list[tuple[str, str, str]]:
    """Return the moments of a mixture, per output."""
    found = [latent(g, member, X) for member in model.members]
    columns = []
    for k in range(model.n_outputs):
        means, variances = [mean[k] for mean, _ in found], [var[k] for _, var in found]
        whole = [
            _with_noise(g, var, member.likelihood.plain, member.calibrations[k])
            for var, member in zip(variances, model.members, strict=True)
        ]
        mean = _mixed(g, means, model.weights)
        mixed = [_mixed_variance(g, means, own, mean, model.weights) for own in (variances, whole)]
        columns.append((mean, mixed[0], mixed[1]))
    return columns


def _mixed_variance(g: Graph, means: list[str], variances: list[str], mean: str, weights: Any) -> str:
    """Return the variance of a mixture."""
    spread = []
    for own, var in zip(means, variances, strict=True):
        gap = g.op("Sub", own, mean)
        spread.append(g.op("Add", var, g.op("Mul", gap, gap)))
    return _mixed(g, spread, weights)


__all__ = ["to_onnx"]
