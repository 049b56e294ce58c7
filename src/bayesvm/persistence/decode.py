"""From plain data to objects; only classes on the allow-list are built, and nothing in a file names code to run."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayesvm.kernels.inputs import Inputs
from bayesvm.persistence.container import VERSION
from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.migrations import migrated
from bayesvm.persistence.registry import GONE, REMOVED, Registry, present_name
from bayesvm.persistence.third_party import FOREIGN

SPECIAL_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class Decoder:
    """Turns a tree back into objects.

    Parameters
    ----------
    registry : Registry
        The classes that may be built.
    arrays : mapping
        Arrays by their name in the file.
    version : int
        Version of the format in which the tree was written.
    """

    def __init__(self, registry: Registry, arrays: Mapping[str, np.ndarray], version: int) -> None:
        self._registry, self._arrays, self._version = registry, arrays, version
        self._nodes: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "float": lambda node: SPECIAL_FLOATS[node["value"]],
            "scalar": self._scalar,
            "array": lambda node: self._arrays[node["name"]],
            "objects": self._objects,
            "tuple": lambda node: tuple(self._items(node)),
            "set": lambda node: set(self._items(node)),
            "frozenset": lambda node: frozenset(self._items(node)),
            "dict": lambda node: {self.decode(k): self.decode(v) for k, v in node["items"]},
            "enum": self._enum,
            "object": self._object,
        }

    def decode(self, node: Any) -> Any:
        """Return the value of a tree."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        kind = node.get("$")
        if kind not in self._nodes:
            raise ModelFileError(f"unknown kind of value {kind!r}")
        return self._nodes[kind](node)

    def _items(self, node: Mapping[str, Any]) -> list[Any]:
        return [self.decode(item) for item in node["items"]]

    def _scalar(self, node: Mapping[str, Any]) -> Any:
        dtype = np.dtype(str(node["dtype"]))
        value = self.decode(node["value"])
        longest = 4 * max(1, len(value)) if isinstance(value, str) else 16
        if dtype.kind not in "biufU" or dtype.itemsize > longest:
            raise ModelFileError(f"unknown type of number {node['dtype']!r}")
        return np.array(value, dtype=dtype)[()]

    def _objects(self, node: Mapping[str, Any]) -> np.ndarray:
        items = self._items(node)
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(node["shape"])

    def _class(self, node: Mapping[str, Any]) -> type:
        cls = self._registry.class_of(node["class"])
        if cls is None and present_name(str(node["class"])) in GONE:
            raise ModelFileError(f"it holds {GONE[present_name(str(node['class']))]}")
        if cls is None:
            raise ModelFileError(
                f"it holds a {node['class']!r}, which is not a class of this release; if it is a class of your own "
                "that you trust, pass it as load(..., classes=[...])"
            )
        return cls

    def _enum(self, node: Mapping[str, Any]) -> enum.Enum:
        cls = self._class(node)
        if not issubclass(cls, enum.Enum):
            raise ModelFileError(f"{node['class']} is not an enumeration")
        return cls[node["name"]]

    def _object(self, node: Mapping[str, Any]) -> Any:
        fields = {str(name): self.decode(value) for name, value in node["fields"].items()}
        if node["class"] in FOREIGN:
            return FOREIGN[node["class"]].build(fields)
        if self._version < VERSION and present_name(str(node["class"])) in REMOVED:
            return fields
        cls = self._class(node)
        fields = migrated(node["class"], fields, self._version)
        if cls is Inputs:
            if getattr(fields["X"], "dtype", np.dtype("f8")).kind not in "biuf":
                raise ModelFileError(f"inputs of type {fields['X'].dtype} are not allowed")
            inputs = Inputs(fields["X"])
            inputs.rows = fields["rows"]
            return inputs
        if issubclass(cls, BaseEstimator):
            estimator: Any = object.__new__(cls)
            vars(estimator).update(_later_arguments(cls, fields) | fields)
            return estimator
        if not dataclasses.is_dataclass(cls):
            raise ModelFileError(f"{node['class']} is not a record")
        return _record(cls, fields)


def _later_arguments(cls: type[BaseEstimator], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor arguments that a release after that of the file has added, with their defaults."""
    known = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in known if p.name not in fields and p.default is not p.empty}


def _record(cls: type, fields: dict[str, Any]) -> Any:
    """Build a dataclass by its constructor, which checks its fields; fields that are no arguments are set after."""
    declared = {field.name: field for field in dataclasses.fields(cls)}
    unknown = fields.keys() - declared.keys()
    if unknown:
        raise ModelFileError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
    record = cls(**{name: value for name, value in fields.items() if declared[name].init})
    for name, value in fields.items():
        if not declared[name].init:
            object.__setattr__(record, name, value)
    return record


__all__ = ["Decoder"]
