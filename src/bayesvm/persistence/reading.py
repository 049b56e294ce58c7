"""Loading an estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator

from bayesvm.persistence.container import TREE, read, read_array
from bayesvm.persistence.decode import Decoder
from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.registry import Registry

#: What broken contents can raise in a constructor or in the reading of an array.
BROKEN = (
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    SyntaxError,
    RecursionError,
    MemoryError,
)


def load(path: str | os.PathLike[str] | BinaryIO, *, classes: Iterable[type] = ()) -> Any:
    """Read an estimator that :func:`save` wrote, by this release or an earlier one.

    Nothing in the file is executed: only classes on the library's own list, and those in ``classes``, are built, from
    numbers and text. The checksums find damage; they do not prove who wrote the file.

    Parameters
    ----------
    path : path or binary file
        What to read.
    classes : iterable of type
        Classes of your own that are trusted; see :func:`save`.

    Returns
    -------
    estimator : estimator
        Its predictions are those of the estimator that was saved, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is no model file, incomplete, changed, or of a later version of the format.
    """
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else getattr(path, "name", "the model file")
    registry = Registry(classes)
    manifest, members = read(path)
    try:
        arrays = {key: read_array(data) for key, data in members.items() if key.endswith(".npy")}
        estimator = Decoder(registry, arrays, manifest["version"]).decode(json.loads(members[TREE]))
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except BROKEN as error:
        raise ModelFileError(f"{name}: the contents of the model file do not fit together ({error})") from None
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"{name}: expected an estimator in the file, found {type(estimator).__name__}")
    return estimator


def read_info(path: str | os.PathLike[str] | BinaryIO) -> dict[str, Any]:
    """Return the remarks in a model file without loading the model.

    Parameters
    ----------
    path : path or binary file
        What to read.

    Returns
    -------
    info : dict
        With "bayesvm" (the release that wrote the file), "estimator" and what :func:`save` was given.
    """
    manifest, _ = read(path, only_manifest=True)
    info = manifest.get("info")
    return {**(info if isinstance(info, dict) else {}), "version": manifest["version"]}


__all__ = ["load", "read_info"]
