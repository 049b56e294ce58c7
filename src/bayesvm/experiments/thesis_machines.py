"""The thesis' regressors: a Gaussian kernel with a constant, the soft insensitive loss or Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesvm import BayesianSVR, GPRegressor


def bsvr(params: Mapping[str, Any], **options: Any) -> BayesianSVR:
    """Return Bayesian support vector regression, exact, with the thesis' kernel and noise: nothing is chosen."""
    given = {"likelihood": "soft-insensitive", "inducing": None, "n_starts": params.get("starts", 4)}
    return BayesianSVR(None, **given, **options)


def gpr(params: Mapping[str, Any], **options: Any) -> GPRegressor:
    """Return the Gaussian process that the thesis compares it with."""
    return GPRegressor(None, inducing=None, n_starts=params.get("starts", 4), **options)


__all__ = ["bsvr", "gpr"]
