"""Saved committees: a directory with one file for what the members share and one per member, read one at a time.

=====================  ===============================================================================================
``model.bvm``          the estimator without its members, in the format of :func:`bayesvm.save`; its manifest holds the
                       SHA-256 of every member, and each is checked whenever it is read
``member-*.npz``       one member each: its support rows, coefficients and curvatures, plain arrays
=====================  ===============================================================================================

The estimator that is loaded needs neither Dask nor a cluster, and holds one member in memory at a time. Models of
moderate size may as well be saved to one file with :func:`bayesvm.save`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from bayesvm import persistence
from bayesvm.distributed.dask_predict import bare
from bayesvm.distributed.members import StoredMembers, write_member
from bayesvm.distributed.model import with_members
from bayesvm.persistence.errors import ModelFileError

MODEL = "model.bvm"


def save(estimator: Any, directory: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> None:
    """Write a fitted distributed estimator to a directory; members are fetched and written one group at a time.

    Parameters
    ----------
    estimator : DistributedSVC or DistributedSVR
        Fitted.
    directory : path
        Made if it does not exist; it must not hold a model. The model can be loaded once ``model.bvm``, which is
        written last, is there.
    classes : iterable of type
        As in :func:`bayesvm.save`.
    """
    check_is_fitted(estimator)
    where = Path(directory)
    if (where / MODEL).exists():
        raise ModelFileError(f"save: {where} holds a model already")
    where.mkdir(parents=True, exist_ok=True)
    first = estimator.models_[0]
    stored = StoredMembers(str(where), first.rules[0].size)
    checksums = [write_member(stored.file(number), member) for number, member in enumerate(first.members.stream())]
    info = {"members": stored.size, "checksums": checksums}
    persistence.save(bare(estimator), where / MODEL, info=info, classes=classes)


def load(directory: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> Any:
    """Read an estimator that :func:`save` wrote; its members stay on the disk.

    Parameters
    ----------
    directory : path
        Where the model is.
    classes : iterable of type
        As in :func:`bayesvm.load`.

    Returns
    -------
    estimator : estimator
    """
    where = Path(directory)
    if not (where / MODEL).exists():
        raise ModelFileError(f"load: expected {MODEL} in {where}, found none")
    estimator = persistence.load(where / MODEL, classes=classes)
    size = estimator.models_[0].rules[0].size
    members = StoredMembers(str(where), size, _checksums(where, size))
    missing = [i for i in range(members.size) if not members.file(i).exists()]
    if missing:
        raise ModelFileError(
            f"load: {len(missing)} of {members.size} members are missing, {members.file(missing[0]).name} first"
        )
    for number in range(members.size):
        members.read(number)
    estimator.models_ = with_members(estimator.models_, members)
    return estimator


def _checksums(where: Path, size: int) -> tuple[str, ...]:
    """Return the checksums that the manifest of the model binds to it; earlier folders had none."""
    found = persistence.read_info(where / MODEL).get("checksums")
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) != size or not all(isinstance(item, str) for item in found):
        raise ModelFileError(f"{where / MODEL}: expected the checksums of {size} members, found others")
    return tuple(found)


__all__ = ["load", "save"]
