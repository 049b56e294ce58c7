"""Folders with a saved machine, as release 0.1 had them; a machine fits into one file now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bayesvm import persistence
from bayesvm.deprecation import deprecated
from bayesvm.persistence.errors import ModelFileError

MODEL = "model.bvm"


@deprecated(since="0.2.0", removed_in="0.3.0", instead="bayesvm.save")
def save(estimator: Any, directory: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> None:
    """Write a distributed estimator to the file ``model.bvm`` of a directory, which is made if it does not exist.

    Parameters
    ----------
    estimator : DistributedSVC or DistributedSVR
        What to save.
    directory : path
        It must not hold a model.
    classes : iterable of type
        As in :func:`bayesvm.save`.
    """
    where = Path(directory)
    if (where / MODEL).exists():
        raise ModelFileError(f"save: {where} holds a model already")
    where.mkdir(parents=True, exist_ok=True)
    persistence.save(estimator, where / MODEL, classes=classes)


@deprecated(since="0.2.0", removed_in="0.3.0", instead="bayesvm.load")
def load(directory: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> Any:
    """Read an estimator that :func:`save` wrote.

    Parameters
    ----------
    directory : path
        Where the model is.
    classes : iterable of type
        As in :func:`bayesvm.load`.

    Returns
    -------
    estimator : estimator

    Raises
    ------
    ModelFileError
        If there is none, and for the committees of blocks that release 0.1 fitted: they are no more.
    """
    where = Path(directory)
    if not (where / MODEL).exists():
        raise ModelFileError(f"load: expected {MODEL} in {where}, found none")
    return persistence.load(where / MODEL, classes=classes)


__all__ = ["load", "save"]
