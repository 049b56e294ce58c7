"""The file: an uncompressed zip archive of JSON and .npy members with checksums, written atomically.

=================  ==================================================================================================
``manifest.json``  format, version, SHA-256 of every other member, information for people, SHA-256 of all of this
``model.json``     the tree of the estimator
``arrays/*.npy``   its arrays
=================  ==================================================================================================

Members are stored, not compressed: reading never expands data, and arrays of floats would not shrink.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from bayesvm.persistence.atomic import require_regular, write_atomically
from bayesvm.persistence.errors import ModelFileError

FORMAT = "bayesvm-model"
#: Version of the format that this release writes; it reads this one and all before.
VERSION = 4

MANIFEST, TREE = "manifest.json", "model.json"
#: Date of every member: equal models give equal files.
DATE = (1980, 1, 1, 0, 0, 0)


def write(target: str | os.PathLike[str] | BinaryIO, tree: Any, arrays: Mapping[str, np.ndarray], info: Any) -> None:
    """Write a model to a path (atomically: the old file or the complete new one) or to an open binary file."""
    members = {TREE: _json(tree), **{name: _npy(array) for name, array in arrays.items()}}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "info": info,
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    manifest["checksum"] = _digest(manifest)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for name, data in {MANIFEST: _json(manifest), **members}.items():
            out.writestr(zipfile.ZipInfo(name, DATE), data)
    content = archive.getvalue()  # not a view: an error whose traceback keeps one alive cannot be collected in peace
    if isinstance(target, str | os.PathLike):
        write_atomically(Path(target), content)
    else:
        target.write(content)


def read(
    source: str | os.PathLike[str] | BinaryIO, *, only_manifest: bool = False
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return manifest and members of a model file, or say in one sentence what is wrong with it."""
    if isinstance(source, str | os.PathLike):
        _check_source(Path(source))
        with open(source, "rb") as file:
            return _explained(file, os.fspath(source), only_manifest)
    opened: BinaryIO = source if source.seekable() else io.BytesIO(source.read())
    return _explained(opened, str(getattr(source, "name", "the model file")), only_manifest)


def _check_source(path: Path) -> None:
    """Refuse what is no regular file: opening a pipe may wait for ever."""
    try:
        require_regular(path)
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror}") from None


def _explained(file: BinaryIO, name: str, only_manifest: bool) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read an open file; whatever is wrong becomes one error that names the file."""
    try:
        return _read(file, only_manifest)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, OverflowError) as error:
        raise ModelFileError(f"{name}: not a complete bayesvm model file ({error})") from None
    except (KeyError, ValueError, TypeError, zlib.error, struct.error) as error:
        raise ModelFileError(f"{name}: damaged bayesvm model file ({error})") from None


def _read(file: BinaryIO, only_manifest: bool) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if MANIFEST not in entries:
            raise ModelFileError("not a bayesvm model file (it has no manifest)")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
            raise ModelFileError("damaged bayesvm model file (a member is compressed)")
        if sum(entry.file_size for entry in entries.values()) > _size(file):
            raise ModelFileError("damaged bayesvm model file (its members are larger than the file)")
        manifest = json.loads(archive.read(entries[MANIFEST]))
        _check_manifest(manifest)
        if only_manifest:
            return manifest, {}
        stored = manifest["members"]
        if set(stored) | {MANIFEST} != set(entries) or len(entries) != len(archive.infolist()):
            raise ModelFileError("damaged bayesvm model file (members are missing or were added)")
        members = {name: archive.read(entries[name]) for name in stored}
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != stored[name]:
            raise ModelFileError(f"the checksum of {name} does not fit: the file was damaged or changed")
    return manifest, members


def _size(file: BinaryIO) -> int:
    """Return the number of bytes of an open file."""
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    return end


def _check_manifest(manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError("not a bayesvm model file (its manifest is of another format)")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"damaged bayesvm model file (version {version!r})")
    if version > VERSION:
        raise ModelFileError(
            f"written in version {version} of the format, this release of bayesvm reads versions up to {VERSION}; "
            "install a newer release"
        )
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    if manifest.get("checksum") != _digest(rest):
        raise ModelFileError("the checksum of the manifest does not fit: the file was damaged or changed")
    if not isinstance(manifest["members"], dict):
        raise ModelFileError("damaged bayesvm model file (no list of members)")


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(_json(manifest)).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    npy.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def read_arrays(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an uncompressed .npz archive by name, each read by :func:`read_array`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise ModelFileError("a member is compressed")
            if sum(entry.file_size for entry in entries) > len(data):
                raise ModelFileError("its members are larger than the file")
            return {entry.filename.removesuffix(".npy"): read_array(archive.read(entry)) for entry in entries}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OverflowError, struct.error) as error:
        raise ModelFileError(f"not a complete archive: {error}") from None


def read_array(data: bytes) -> np.ndarray:
    """Return the array of a .npy member; its header must account for every byte, and nothing is unpickled."""
    source = io.BytesIO(data)
    version = npy.read_magic(source)
    if version not in ((1, 0), (2, 0)):
        raise ModelFileError(f"unknown version {version} of an array")
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, fortran, dtype = reader(source)
    except (tokenize.TokenError, SyntaxError, TypeError) as error:
        raise ModelFileError(f"an array has no header that could be read ({error})") from None
    if dtype.hasobject or dtype.names is not None:
        raise ModelFileError(f"an array of type {dtype} is not allowed")
    body = memoryview(data)[source.tell() :]
    size = dtype.itemsize
    for n in shape:
        if n < 0:
            raise ModelFileError("an array has a negative size")
        size *= n
    if size != len(body):
        raise ModelFileError("an array has another size than its header says")
    flat = np.frombuffer(bytearray(body), dtype=dtype) if size else np.empty(0, dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


__all__ = ["FORMAT", "VERSION", "read", "read_array", "read_arrays", "write"]
