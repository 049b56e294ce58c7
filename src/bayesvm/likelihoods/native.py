"""Which losses native code knows (:mod:`bayesvm._core.mode`), and with which parameters.

The table is by exact class: a subclass may have another loss, and any class that is not in it is treated in NumPy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm._core.mode import LossKind, derivatives
from bayesvm._core.sites import LabelKind
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.likelihoods.huber import Huber
from bayesvm.likelihoods.logistic import Logistic
from bayesvm.likelihoods.probit import Probit
from bayesvm.likelihoods.raised_cosine import RaisedCosine
from bayesvm.likelihoods.smooth_insensitive import SmoothInsensitive
from bayesvm.likelihoods.soft_insensitive import SoftInsensitive
from bayesvm.likelihoods.trigonometric import Trigonometric
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.typing import Vector

#: Every row counts once.
NO_WEIGHTS = np.empty(0)


@dataclasses.dataclass(frozen=True)
class NativeLoss:
    """A loss as native code knows it."""

    kind: LossKind
    parameters: tuple[float, ...]


def _none(likelihood: Any) -> tuple[float, ...]:
    return ()


def _transition(likelihood: Any) -> tuple[float, ...]:
    return likelihood.C, likelihood.epsilon, likelihood.beta, likelihood.log_mass


TABLE: Mapping[type, tuple[LossKind, Callable[[Any], tuple[float, ...]]]] = {
    Trigonometric: (LossKind.TRIGONOMETRIC, _none),
    RaisedCosine: (LossKind.RAISED_COSINE, _none),
    Logistic: (LossKind.LOGISTIC, _none),
    SoftInsensitive: (LossKind.SOFT_INSENSITIVE, _transition),
    Huber: (LossKind.SOFT_INSENSITIVE, _transition),
    SmoothInsensitive: (LossKind.SMOOTH_INSENSITIVE, _transition),
}


def native_loss(likelihood: Likelihood) -> NativeLoss | None:
    """Return the loss of one sample as native code knows it, None if it does not."""
    found = TABLE.get(type(likelihood.plain))
    return None if found is None else NativeLoss(found[0], found[1](likelihood.plain))


def fast_derivatives(likelihood: Likelihood, y: Vector, f: Vector) -> Derivatives:
    """Return ``likelihood.derivatives(y, f)``, in native code if it knows the loss and no sample weights come in."""
    found = native_loss(likelihood) if likelihood.plain is likelihood else None
    if found is None:
        return likelihood.derivatives(y, f)
    loss, gradient, curvature, third = derivatives(found.kind, found.parameters, likelihood.argument(y, f))
    slope = likelihood.slope(y)
    gradient *= slope
    third *= slope
    return Derivatives(loss, gradient, curvature, third)


#: Likelihoods with tilted moments in native code (:mod:`bayesvm._core.sites`).
MOMENTS: Mapping[type, LabelKind] = {
    Trigonometric: LabelKind.TRIGONOMETRIC,
    RaisedCosine: LabelKind.RAISED_COSINE,
    Logistic: LabelKind.LOGISTIC,
    Probit: LabelKind.PROBIT,
}


@dataclasses.dataclass(frozen=True)
class NativeMoments:
    """Terms with tilted moments in native code: their kind, and how much each row counts (empty: one each)."""

    kind: LabelKind
    weights: Vector


def native_moments(terms: object, n: int) -> NativeMoments | None:
    """Return the terms of n rows as native code knows them, None if it does not."""
    plain, weights = (terms.plain, terms.checked(n)) if isinstance(terms, Weighted) else (terms, NO_WEIGHTS)
    kind = MOMENTS.get(type(plain))
    return None if kind is None else NativeMoments(kind, weights)


__all__ = ["MOMENTS", "TABLE", "NativeLoss", "NativeMoments", "fast_derivatives", "native_loss", "native_moments"]
