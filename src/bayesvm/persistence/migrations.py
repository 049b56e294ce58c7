"""How files of older releases are read: changes of stored fields, class by class.

When a class of the library changes its fields in a way that a default cannot cover, the version of the format is
raised in
:mod:`bayesvm.persistence.container` and a function is added here that turns the fields of the older version into
those of the next. The corpus of the tests holds files of every version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm.estimators._classifier import ClassFrequencies
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.persistence.registry import present_name


def _padded_signed_factor(fields: dict[str, Any]) -> dict[str, Any]:
    """Version 1 kept the factor on the points with positive curvature alone, ``at`` their positions within the support."""
    at, positive, size = fields["at"], fields["positive"], fields["support"].size
    root, L = np.zeros(size), np.eye(size, order="F")
    root[at] = positive.root
    L[np.ix_(at, at)] = positive.B.lower()
    padded = SupportFactor(fields["support"], root, Cholesky(L, positive.B.jitter))
    return {**{name: value for name, value in fields.items() if name != "at"}, "positive": padded}


def _search_arguments(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 the arguments of the search had other names."""
    names = {"tol": "evidence_tol", "max_iter": "max_evaluations"}
    renamed = {names.get(name, name): value for name, value in fields.items()}
    return {**renamed, "optimizer": "bfgs" if fields["optimizer"] == "lbfgs" else fields["optimizer"]}


def _one_shape(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 fitted attributes were an object, or a list of them, by the number of outputs."""
    own = dict(fields)
    for name in ("kernel", "likelihood"):
        if f"{name}_" in own:
            value = own.pop(f"{name}_")
            own[f"{name}s_"] = tuple(value) if isinstance(value, list) else (value,)
    for name in ("history_", "candidates_"):
        if isinstance(own.get(name), list):
            own[name] = tuple(item for items in own[name] for item in items)
    for name in ("relevance_per_class_", "relevance_per_output_"):
        if name in own:
            own["relevances_"] = own.pop(name)
    if "_log_prior" in own:
        own["_frequencies"] = ClassFrequencies(own.pop("_log_prior"), own.pop("_log_empirical"))
    return own


def _committee_of_one_output(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 a committee had one output, and the estimator its calibration."""
    kept = {name: fields[name] for name in ("kernel", "likelihood", "maximum", "candidates", "members")}
    return {
        **kept,
        "log_evidence": fields["evidence"]["value"],
        "columns": (fields["index"],),
        "rules": (fields["rule"],),
        "block_problems": fields["block_trouble"],
    }


def _distributed_estimator(fields: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 the calibrations of committees were kept beside them."""
    dropped = ("_distance", "_seed", "_spread", "_weight")
    own = {name: value for name, value in _one_shape(_search_arguments(fields)).items() if name not in dropped}
    if "_machines" in own:
        own["calibration_"] = tuple(own["calibration_"])
        pairs = zip(own.pop("_machines"), own["calibration_"], strict=True)
        own["models_"] = tuple(dataclasses.replace(model, calibrations=(c,)) for model, c in pairs)
    return own


#: (name of the class, version of the file) -> function that returns the fields of the next version.
MIGRATIONS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("linalg.SignedFactor", 1): _padded_signed_factor,
    ("distributed.CommitteeModel", 2): _committee_of_one_output,
    ("distributed.DistributedSVC", 2): _distributed_estimator,
    ("distributed.DistributedSVR", 2): _distributed_estimator,
}


def migrated(name: str, fields: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the fields of a stored object as the present version has them."""
    own = present_name(name)
    for step in sorted(v for owner, v in MIGRATIONS if owner == own and v >= version):
        fields = MIGRATIONS[own, step](fields)
    return fields


__all__ = ["MIGRATIONS", "migrated"]
