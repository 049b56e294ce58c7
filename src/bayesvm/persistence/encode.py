"""From objects to plain data: a tree for JSON, and the arrays beside it."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayesvm.kernels.inputs import Inputs
from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.registry import Registry
from bayesvm.persistence.third_party import FOREIGN, NAMES

#: Kinds of NumPy data types that a .npy file holds without pickling.
PLAIN_KINDS = "biufcUSmM"


class Encoder:
    """Turns one object into a tree; equal arrays that are the same object are stored once.

    Attributes
    ----------
    arrays : dict
        Arrays by their name in the file.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[int, str] = {}
        self._alive: list[Any] = []
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the tree of a value; ``where`` names it in messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return self._float(value)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, enum.Enum):
            return {"$": "enum", "class": self._name(value, where), "name": value.name}
        if type(value) in (list, tuple, set, frozenset):
            return self._sequence(value, where)
        if isinstance(value, Mapping) and not isinstance(value, BaseEstimator):
            return self._mapping(value, where)
        return self._object(value, where)

    @staticmethod
    def _float(value: float) -> Any:
        """Return a number, as text if it is nan or infinite, which JSON does not have."""
        return value if math.isfinite(value) else {"$": "float", "value": repr(value)}

    def _mapping(self, value: Mapping[Any, Any], where: str) -> Any:
        """Return the keys and values of a mapping, in order; keys may be any values."""
        pairs = [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()]
        return {"$": "dict", "items": pairs}

    def _sequence(self, value: Any, where: str) -> Any:
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(ordered)]
        return items if type(value) is list else {"$": type(value).__name__, "items": items}

    def _scalar(self, value: np.generic, where: str) -> Any:
        if value.dtype.kind not in "biufU":
            raise ModelFileError(f"save: {where} is a NumPy scalar of type {value.dtype}, which cannot be stored")
        return {"$": "scalar", "dtype": value.dtype.str, "value": self.encode(value.item(), where)}

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype.kind == "O":
            items = [self.encode(item, where) for item in value.ravel().tolist()]
            return {"$": "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in PLAIN_KINDS or value.dtype.names is not None:
            raise ModelFileError(f"save: {where} is an array of type {value.dtype}, which cannot be stored")
        if id(value) not in self._known:
            name = f"arrays/{len(self.arrays):04d}.npy"
            self.arrays[name] = np.asarray(value)
            self._known[id(value)] = name
            self._alive.append(value)  # an id stays unique as long as its object lives
        return {"$": "array", "name": self._known[id(value)]}

    def _object(self, value: Any, where: str) -> Any:
        cls = type(value)
        if cls in NAMES:
            name = NAMES[cls]
            try:
                parts = FOREIGN[name].parts(value)
            except TypeError as error:
                raise ModelFileError(f"save: {where}: {error}") from None
        else:
            name, parts = self._name(value, where), self._parts(value)
        fields = {key: self.encode(parts[key], f"{where}.{key}") for key in sorted(parts)}
        return {"$": "object", "class": name, "fields": fields}

    @staticmethod
    def _parts(value: Any) -> Mapping[str, Any]:
        if isinstance(value, Inputs):
            return {"X": value.X, "rows": value.rows}
        if isinstance(value, BaseEstimator):
            return dict(value.__stored__() if hasattr(value, "__stored__") else vars(value))
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}

    def _name(self, value: Any, where: str) -> str:
        name = self._registry.name_of(type(value))
        if name is None:
            cls = type(value)
            raise ModelFileError(
                f"save: {where} is a {cls.__module__}.{cls.__qualname__}, which is not on the list of classes that a "
                "model file may hold; pass your own classes as save(..., classes=[...]), or store such a model with "
                "joblib or skops"
            )
        return name


__all__ = ["Encoder"]
