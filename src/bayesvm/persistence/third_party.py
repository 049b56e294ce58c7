"""Objects of NumPy, SciPy and scikit-learn that may be part of a model: how each becomes plain data, and back.

Every entry of :data:`FOREIGN` is a pair of functions: *parts* returns the data of an object, *build* makes the object
from data that may come from anywhere, and raises ``ValueError``, ``TypeError`` or ``KeyError`` if it does not fit.
Kernels and pipelines of scikit-learn are rebuilt by their constructors, so nothing depends on its private attributes;
its transformers are in :mod:`bayesvm.persistence.transformers`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.pipeline import Pipeline

from bayesvm.persistence.transformers import TRANSFORMERS, transformer_builder, transformer_parts

#: scikit-learn's Gaussian process kernels, all rebuilt from ``get_params``.
SKLEARN_KERNELS = (
    "CompoundKernel",
    "ConstantKernel",
    "DotProduct",
    "Exponentiation",
    "ExpSineSquared",
    "Matern",
    "Product",
    "RBF",
    "RationalQuadratic",
    "Sum",
    "WhiteKernel",
)
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
SPARSE = ("csr_array", "csr_matrix")


@dataclasses.dataclass(frozen=True)
class Foreign:
    """How objects of one foreign class are stored."""

    cls: type
    parts: Callable[[Any], Mapping[str, Any]]
    build: Callable[[Mapping[str, Any]], Any]


def _sparse(cls: type) -> Foreign:
    def parts(X: Any) -> Mapping[str, Any]:
        return {"shape": tuple(int(n) for n in X.shape), "data": X.data, "indices": X.indices, "indptr": X.indptr}

    def build(data: Mapping[str, Any]) -> Any:
        X = cls((data["data"], data["indices"], data["indptr"]), shape=data["shape"])
        X.check_format(full_check=True)
        return X

    return Foreign(cls, parts, build)


def _kernel(cls: Any) -> Foreign:
    names = tuple(inspect.signature(cls).parameters)

    def build(data: Mapping[str, Any]) -> Any:
        return cls(**{name: data[name] for name in names})

    def build_compound(data: Mapping[str, Any]) -> Any:
        return cls(data["kernels"])

    if cls is sklearn_kernels.CompoundKernel:
        return Foreign(cls, lambda kernel: {"kernels": list(kernel.kernels)}, build_compound)
    return Foreign(cls, lambda kernel: kernel.get_params(deep=False), build)


def _pipeline() -> Foreign:
    def parts(pipeline: Pipeline) -> Mapping[str, Any]:
        if pipeline.memory is not None:
            raise TypeError("a pipeline with memory=... cannot be saved; set memory to None")
        return {"steps": [(str(name), step) for name, step in pipeline.steps]}

    return Foreign(Pipeline, parts, lambda data: Pipeline([(str(name), step) for name, step in data["steps"]]))


def _bit_generator(name: object, state: Mapping[str, Any]) -> Any:
    if name not in BIT_GENERATORS:
        raise ValueError(f"unknown bit generator {name!r}")
    bits = getattr(np.random, str(name))()
    bits.state = dict(state)
    return bits


def _state(bits: Any) -> Mapping[str, Any]:
    return {"kind": type(bits).__name__, "state": bits.state}


FOREIGN: Mapping[str, Foreign] = {
    **{f"scipy.{name}": _sparse(getattr(sp, name)) for name in SPARSE},
    **{f"sklearn.kernel.{name}": _kernel(getattr(sklearn_kernels, name)) for name in SKLEARN_KERNELS},
    "sklearn.Pipeline": _pipeline(),
    **{f"sklearn.{cls.__name__}": Foreign(cls, transformer_parts, transformer_builder(cls)) for cls in TRANSFORMERS},
    "numpy.Generator": Foreign(
        np.random.Generator,
        lambda rng: _state(rng.bit_generator),
        lambda data: np.random.Generator(_bit_generator(data["kind"], data["state"])),
    ),
    "numpy.RandomState": Foreign(
        np.random.RandomState,
        lambda rng: _state(rng._bit_generator),
        lambda data: np.random.RandomState(_bit_generator(data["kind"], data["state"])),
    ),
}

#: Names of the foreign classes.
NAMES = {entry.cls: name for name, entry in FOREIGN.items()}

__all__ = ["FOREIGN", "NAMES", "Foreign"]
