"""Saving an estimator."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator

from bayesvm.persistence.container import write
from bayesvm.persistence.encode import Encoder
from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.registry import Registry


def save(
    estimator: Any,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    info: Mapping[str, Any] | None = None,
    classes: Iterable[type] = (),
) -> None:
    """Write an estimator, fitted or not, to one file that :func:`load` reads.

    Parameters
    ----------
    estimator : estimator of this library, or scikit-learn Pipeline of such
        What to save. A pipeline may begin with the common transformers of scikit-learn
        (:data:`bayesvm.persistence.transformers.TRANSFORMERS`).
    path : path or binary file
        Where. A file at a path is replaced in one step: if the program is stopped on the way, the old file is still
        there.
    info : mapping, optional
        Remarks for people and programs, of plain JSON values; :func:`read_info` returns them without loading the model.
    classes : iterable of type
        Classes of your own that are part of the model (a kernel, a likelihood): dataclasses, enumerations or
        estimators. The same have to be given to :func:`load`.

    Raises
    ------
    ModelFileError
        If a part of the estimator cannot be stored; nothing is written then.
    """
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"save: expected an estimator, found {type(estimator).__name__}")
    encoder = Encoder(Registry(classes))
    tree = encoder.encode(estimator, type(estimator).__name__)
    remarks = {"bayesvm": version("bayesvm"), "estimator": type(estimator).__name__, **(info or {})}
    try:
        write(path, tree, encoder.arrays, remarks)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"save: info must consist of finite JSON values ({error})") from None


__all__ = ["save"]
