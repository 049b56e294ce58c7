"""Support vector machines that tune themselves by the evidence of the training data."""

from __future__ import annotations

import importlib
from typing import Any

from bayesvm.estimators import BayesianSVC, Committee

__version__ = "0.1.0"

#: Submodules that are imported when they are first used.
#: Names that are imported from a submodule when they are first used.
_FROM = {"check_gradient": "bayesvm.testing"}
_LAZY = ("hyper", "inference", "kernels", "likelihoods", "testing")

__all__ = ["BayesianSVC", "Committee", "__version__", *_FROM, *_LAZY]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"bayesvm.{name}")
    if name in _FROM:
        return getattr(importlib.import_module(_FROM[name]), name)
    raise AttributeError(f"module 'bayesvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
