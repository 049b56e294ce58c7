"""Estimators of version 2 of the format: their fields as version 3 has them.

Version 2 kept one ``Machine`` per binary problem or output in a private list, calibration and class frequencies beside
it, and attributes whose shape depended on the number of classes. Version 3 keeps fitted models
(:class:`~bayesvm.models.FittedModel`) with all that prediction needs, and attributes of one shape.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm.estimators._classifier import ClassFrequencies
from bayesvm.inference.names import PREDICTIVE_EP
from bayesvm.models.calibration import ScaleCalibration
from bayesvm.models.hinge import HingeModel
from bayesvm.models.scaling import TargetScale
from bayesvm.models.support_vectors import SupportVectorModel
from bayesvm.models.variational import VariationalModel

Fields = dict[str, Any]

#: Constructor arguments of the self-tuning estimators: old name -> new name.
ARGUMENTS = {
    "tol": "evidence_tol",
    "max_iter": "max_evaluations",
    "bias": "fit_intercept",
    "n_samples": "n_draws",
}
#: Attributes with one entry per output or model: old name -> new name.
ATTRIBUTES = {
    "kernel_": "kernels_",
    "likelihood_": "likelihoods_",
    "precision_": "precisions_",
    "approximation_": "approximations_",
    "pruning_curve_": "pruning_curves_",
    "free_energy_terms_": "free_energy_terms_",
    "inner_bounds_": "inner_bounds_",
}
#: Attributes that are arrays now, with one number per model.
NUMBERS = ("C_", "gamma_", "mu_", "zeta_", "gamma_eff_")
#: What the models hold now, or what is derived from them.
DROPPED = (
    "_machines",
    "_modes",
    "_moderators",
    "_nodes",
    "_seed",
    "_draws",
    "_distance",
    "_spread",
    "_weight",
    "_log_prior",
    "_log_empirical",
    "multimodal_",
    "relevance_vectors_",
    "log_naive_evidence_",
    "log_normalizer_",
    "log_evidence_error_",
    "remarks_",
    "effective_sample_size_",
    "relevance_per_class_",
    "relevance_per_output_",
)


def machine(fields: Fields) -> Fields:
    """Return the fields of a model with a Gaussian posterior."""
    refinement, marginals = fields.pop("refinement", None), fields.pop("marginals", None)
    return {
        **{name: value for name, value in fields.items() if name != "posterior"},
        "posteriors": (fields["posterior"],),
        "method": None if refinement is None else PREDICTIVE_EP,
        "refinements": () if refinement is None else (refinement,),
        "marginals": () if marginals is None else (marginals,),
    }


def relevance_machine(fields: Fields) -> Fields:
    """Return the fields of a relevance vector model: one vector of weights, the constant first."""
    alpha, intercept = fields.pop("alpha"), fields.pop("intercept")
    return {**fields, "weights": np.concatenate([[intercept], alpha]) if fields["has_intercept"] else alpha}


def ls_machine(fields: Fields) -> Fields:
    """Return the fields of a least-squares model."""
    return {**{k: v for k, v in fields.items() if k != "curve"}, "pruning_curve": fields.get("curve", ())}


def mode(fields: Fields) -> Fields:
    """Return the fields of a mode, which held a whole machine."""
    model = fields["machine"]
    (posterior,) = model.posteriors
    return {
        "support": posterior.support,
        "alpha": posterior.alpha,
        "inputs": model.inputs,
        "bias": fields["bias"],
        "status": fields["status"],
    }


def self_tuning(fields: Fields) -> Fields:
    """Return the fields of a self-tuning estimator."""
    fields = _renamed(fields, ARGUMENTS)
    if fields.get("optimizer") == "lbfgs":
        fields["optimizer"] = "bfgs"
    if "_machines" not in fields:
        return fields
    models = fields["_machines"]
    several = len(models) > 1
    calibrations = fields.get("calibration_")
    if calibrations is not None and hasattr(models[0], "calibrations"):
        models = [dataclasses.replace(m, calibrations=(c,)) for m, c in zip(models, calibrations, strict=True)]
    new = {name: value for name, value in fields.items() if name not in DROPPED}
    new["models_"] = tuple(_special(models, fields))
    if calibrations is not None:
        new["calibration_"] = tuple(calibrations)
    new["relevances_"] = fields.get("relevance_per_class_", fields.get("relevance_per_output_"))
    if "_log_prior" in fields:
        new["_frequencies"] = ClassFrequencies(fields["_log_prior"], fields["_log_empirical"])
    return _in_one_form(new, several=several)


def distributed(fields: Fields) -> Fields:
    """Return the fields of a distributed estimator, which was not fitted: those that were are refused."""
    gone = ("partition", "committee", "posterior", "inference", "solver", "fix_variance")
    return {name: value for name, value in self_tuning(fields).items() if name not in gone}


def _in_one_form(fields: Fields, *, several: bool) -> Fields:
    """Return the attributes in the form that does not depend on the number of outputs."""
    for old in ATTRIBUTES.keys() & fields.keys():
        value = fields.pop(old)
        fields[ATTRIBUTES[old]] = tuple(value) if several and isinstance(value, list) else (value,)
    for name in fields.keys() & set(NUMBERS):
        fields[name] = np.atleast_1d(np.asarray(fields[name], dtype=float))
    for name in fields.keys() & {"history_", "candidates_"}:
        fields[name] = tuple(itertools.chain.from_iterable(fields[name])) if several else tuple(fields[name])
    return fields


def _special(models: list[Any], fields: Fields) -> list[Any]:
    """Return the models of estimators that keep more than a Gaussian posterior."""
    if "_modes" in fields:
        by_mode = fields["predict_with"] == "mode"
        extra = [{"modes": (own,), "by_mode": by_mode} for own in fields["_modes"]]
        return [VariationalModel(**_fields(m), **more) for m, more in zip(models, extra, strict=True)]
    if "_moderators" in fields:
        pairs = zip(models, fields["_moderators"], strict=True)
        return [dataclasses.replace(m, moderator=moderator) for m, moderator in pairs]
    if "log_naive_evidence_" in fields:
        return _hinge(models, fields)
    return models


def _hinge(models: list[Any], fields: Fields) -> list[HingeModel]:
    """Return hinge models; what was known for all classes together is kept with the first."""
    draws = fields.get("_draws") or [None] * len(models)
    normalizer, naive = fields["log_normalizer_"], fields["log_naive_evidence_"]
    known = sum(m.evidence.value for m in models)
    parts = []
    for k, (model, own) in enumerate(zip(models, draws, strict=True)):
        first = k == 0
        parts.append(
            HingeModel(
                **_fields(model),
                log_naive_evidence=model.evidence.value + (naive - known if first else 0.0),
                log_normalizer=normalizer if first else 0.0,
                log_evidence_error=fields["log_evidence_error_"] if first else 0.0,
                remarks=tuple(fields["remarks_"]) if first else (),
                seed=fields["_seed"],
                draws=own,
            )
        )
    return parts


def _fields(model: Any) -> Fields:
    return {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}


def least_squares_regressor(fields: Fields) -> Fields:
    """Return the fields of a least-squares regressor, whose targets were never scaled."""
    new = self_tuning(fields)
    if "models_" in new:
        units = {"_targets": TargetScale.identity(1), "_single": True, "_log_jacobian": 0.0}
        new = {**new, **units, "calibration_": (ScaleCalibration(),)}
    return new


def online(fields: Fields) -> Fields:
    """Return the fields of an online process."""
    fields = _renamed(fields, {"_online": "models_"})
    if fields.get("optimizer") == "lbfgs":
        fields["optimizer"] = "bfgs"
    for old, name in {"basis_vectors_": "basis_vectors_", "kernel_": "kernels_", "likelihood_": "likelihoods_"}.items():
        if old in fields:
            value = fields.pop(old)
            fields[name] = tuple(value) if isinstance(value, list) else (value,)
    if "models_" in fields:
        fields["models_"] = tuple(fields["models_"])
    return fields


def network(fields: Fields) -> Fields:
    """Return the fields of a Bayesian network."""
    return _renamed(fields, {"tol": "evidence_tol", "max_iter": "max_cycles"})


def discriminant(fields: Fields) -> Fields:
    """Return the fields of a kernel Fisher discriminant."""
    return _renamed(fields, {"priors": "class_prior", "priors_": "class_prior_"})


def support_vectors(fields: Fields) -> Fields:
    """Return the fields of a machine with given hyperparameters."""
    if "_support_inputs" not in fields:
        return fields
    inputs = fields.pop("_support_inputs")
    rows = np.arange(len(inputs))
    model = SupportVectorModel(fields["kernel_"], rows, inputs, fields["dual_coef_"], fields["intercept_"], ())
    return {**fields, "_model": model}


def _renamed(fields: Fields, names: Mapping[str, str]) -> Fields:
    return {names.get(name, name): value for name, value in fields.items()}


SELF_TUNING = (
    "BayesianSVC",
    "BayesianSVR",
    "GPClassifier",
    "GPRegressor",
    "VariationalSVC",
    "ProbabilisticSVC",
    "BayesianLSSVC",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
)

#: Name of a class -> function that returns its fields in version 3.
CHANGES: Mapping[str, Callable[[Fields], Fields]] = {
    "models.GaussianProcessModel": machine,
    "models.RelevanceVectorModel": relevance_machine,
    "models.LeastSquaresModel": ls_machine,
    "models.Mode": mode,
    **{f"distributed.{name}": distributed for name in ("DistributedSVC", "DistributedSVR")},
    **{f"estimators.{name}": self_tuning for name in SELF_TUNING},
    **{f"estimators.{name}": online for name in ("OnlineGPClassifier", "OnlineGPRegressor")},
    **{f"estimators.{name}": network for name in ("BayesianMLPClassifier", "BayesianMLPRegressor")},
    **{f"estimators.{name}": support_vectors for name in ("ExtendedSVC", "ExtendedSVR", "TrigonometricSVC")},
    "estimators.BayesianLSSVR": least_squares_regressor,
    "estimators.KernelFisherDiscriminant": discriminant,
}

__all__ = ["CHANGES"]
