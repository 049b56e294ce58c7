"""Import of the packages of the extra ``sampling``, with a message that says how to get them."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def required(name: str) -> Any:
    """Return the module, or say that the extra is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its next version at import
            return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"sampling needs the package {name}, which is not installed: pip install 'bayesvm[sampling]'"
        ) from error


__all__ = ["required"]
