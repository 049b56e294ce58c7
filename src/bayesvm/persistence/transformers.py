"""Common transformers of scikit-learn as plain data: what they were made with and what they have learnt.

A transformer is its constructor's arguments and its attributes, which are arrays, numbers, text and other transformers
of the list; anything else, a function for instance, is refused when it is saved. The file notes the release of
scikit-learn, because attributes that begin with an underscore may change with it: a file of another release is loaded
with scikit-learn's own warning.
"""

from __future__ import annotations

import warnings
from collections import UserList
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sklearn
from sklearn import compose, decomposition, feature_selection, impute, pipeline, preprocessing
from sklearn.exceptions import InconsistentVersionWarning

#: The transformers that a model file may hold.
TRANSFORMERS: tuple[type, ...] = (
    compose.ColumnTransformer,
    decomposition.PCA,
    decomposition.TruncatedSVD,
    feature_selection.VarianceThreshold,
    impute.MissingIndicator,
    impute.SimpleImputer,
    pipeline.FeatureUnion,
    preprocessing.FunctionTransformer,
    preprocessing.KBinsDiscretizer,
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.Normalizer,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.PolynomialFeatures,
    preprocessing.PowerTransformer,
    preprocessing.QuantileTransformer,
    preprocessing.RobustScaler,
    preprocessing.StandardScaler,
)


def transformer_parts(transformer: Any) -> Mapping[str, Any]:
    """Return the state of a transformer; types of numbers and slices, which are no data, as text and pairs."""
    state = dict(vars(transformer))
    types = {name: _type_text(value) for name, value in state.items() if _is_type(value)}
    slices = {
        name: [(key, part.start, part.stop, part.step) for key, part in value.items()]
        for name, value in state.items()
        if isinstance(value, dict) and value and all(isinstance(part, slice) for part in value.values())
    }
    plain = {name: _as_list(value) for name, value in state.items() if name not in types and name not in slices}
    return {"state": plain, "types": types, "slices": slices, "sklearn": sklearn.__version__}


def _as_list(value: Any) -> Any:
    """Return a value with plain lists for those of classes of their own (columns that remain, in scikit-learn 1.6)."""
    if isinstance(value, UserList):
        return list(value.data)
    return type(value)(map(_as_list, value)) if type(value) in (list, tuple) else value


def transformer_builder(cls: type) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that makes a transformer of a class from its state."""

    def build(data: Mapping[str, Any]) -> Any:
        written = str(data["sklearn"])
        if written.split(".")[:2] != sklearn.__version__.split(".")[:2]:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=cls.__name__,
                    current_sklearn_version=sklearn.__version__,
                    original_sklearn_version=written,
                ),
                stacklevel=2,
            )
        state = dict(data["state"])
        state |= {name: _type_of(*text) for name, text in data["types"].items()}
        state |= {name: {key: slice(*ends) for key, *ends in parts} for name, parts in data["slices"].items()}
        unfit = [name for name in state if not name.isidentifier() or name.startswith("__")]
        if unfit:
            raise ValueError(f"{cls.__name__} cannot have an attribute {unfit[0]!r}")
        transformer: Any = object.__new__(cls)
        vars(transformer).update(state)
        return transformer

    return build


def _is_type(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.number | np.bool_))


def _type_text(value: Any) -> tuple[str, bool]:
    """Return a type of numbers as text, and whether it was the class."""
    return np.dtype(value).str, isinstance(value, type)


def _type_of(text: str, as_class: bool) -> Any:
    dtype = np.dtype(str(text))
    if dtype.kind not in "biufUO":
        raise ValueError(f"unknown type {text!r}")
    return dtype.type if as_class else dtype


__all__ = ["TRANSFORMERS", "transformer_builder", "transformer_parts"]
