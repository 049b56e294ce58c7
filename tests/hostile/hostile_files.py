"""Seeded mutations of model files: damaged ones, and forged ones whose checksums fit."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import bayesvm
from bayesvm import distributed
from bayesvm.kernels import Gaussian
from bayesvm.persistence import ModelFileError

try:
    import resource
except ImportError:  # not on Windows
    resource = None


@functools.cache
def model_bytes() -> bytes:
    """Return a small model file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    out = io.BytesIO()
    bayesvm.save(bayesvm.RelevanceVectorRegressor(Gaussian(), optimizer=None).fit(X, X[:, 0]), out)
    return out.getvalue()


# -- damage ------------------------------------------------------------------------------------------------------------
def _flipped(rng, data):
    data = bytearray(data)
    for _ in range(rng.integers(1, 9)):
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(data)


def _cut(rng, data):
    return data[: rng.integers(len(data))]


def _inserted(rng, data):
    at = int(rng.integers(len(data)))
    return data[:at] + rng.bytes(int(rng.integers(1, 200))) + data[at:]


def _removed(rng, data):
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 500))
    return data[:at] + data[at + size :]


def _overwritten(rng, data):
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 100))
    return data[:at] + rng.choice([b"\0", b"\xff", b"P"]) * size + data[at + size :]


def _swapped(rng, data):
    a, b = np.sort(rng.integers(len(data), size=2))
    size = int(rng.integers(1, 300))
    return data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]


def _numbers(rng, data):
    """Change four bytes to a size that programs like to trust."""
    at = int(rng.integers(len(data) - 4))
    value = rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
    return data[:at] + int(value).to_bytes(4, "little") + data[at + 4 :]


DAMAGE = (_flipped, _cut, _inserted, _removed, _overwritten, _swapped, _numbers)


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Return damaged bytes."""
    for _ in range(rng.integers(1, 4)):
        data = DAMAGE[rng.integers(len(DAMAGE))](rng, data) if len(data) > 8 else data
    return data


# -- forgery -----------------------------------------------------------------------------------------------------------
ATOMS = (
    None,
    True,
    -1,
    2**63,
    10**400,
    1e308,
    "",
    "a" * 1000,
    [],
    {},
    {"$": "float", "value": "nan"},
    {"$": "scalar", "dtype": "<U500000000", "value": "a"},
    {"$": "scalar", "dtype": "O", "value": "a"},
    {"$": "array", "name": "arrays/0000.npy"},
    {"$": "array", "name": "../../etc/passwd"},
    {"$": "objects", "shape": [10**9, 10**9], "items": []},
    {"$": "object", "class": "os.system", "fields": {}},
    {"$": "object", "class": "bayesvm.BayesianSVC", "fields": {"kernel": "__import__('os')"}},
    {"$": "enum", "class": "Status", "name": "CONVERGED"},
    {"$": "dict", "items": [[[], 1]]},
    {"$": "tuple", "items": [[[[[[1]]]]]]},
    {"$": "nonsense"},
)


def forged(rng: np.random.Generator, data: bytes) -> bytes:
    """Return a model file with changes in its tree and its arrays, and the checksums that belong to them."""
    manifest, members = unpacked(data)
    tree = json.loads(members["model.json"])
    for _ in range(rng.integers(1, 4)):
        tree = _changed(rng, tree)
    members["model.json"] = json.dumps(tree).encode()
    arrays = [name for name in members if name.endswith(".npy")]
    if arrays and rng.random() < 0.5:
        name = arrays[rng.integers(len(arrays))]
        members[name] = _forged_array(rng, members[name])
    manifest["version"] = int(rng.choice([1, 2, 3, 3, 3, manifest["version"]]))
    return packed(manifest, members)


def unpacked(data: bytes) -> tuple[dict, dict[str, bytes]]:
    """Return the manifest of a model file, and its other members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("manifest.json")), members


def packed(manifest: dict, members: dict[str, bytes]) -> bytes:
    """Return a model file of the given members, signed."""
    manifest = {key: value for key, value in manifest.items() if key != "checksum"}
    manifest["members"] = {name: hashlib.sha256(value).hexdigest() for name, value in members.items()}
    text = json.dumps(manifest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, value in {"manifest.json": json.dumps(manifest).encode(), **members}.items():
            archive.writestr(name, value)
    return out.getvalue()


def _changed(rng, tree):
    """Return the tree with one node replaced, removed or repeated."""
    places = list(_places(tree))
    parent, key = places[rng.integers(len(places))]
    kind = rng.integers(3)
    if kind == 0 or not isinstance(parent, list | dict):
        parent[key] = ATOMS[rng.integers(len(ATOMS))]
    elif kind == 1:
        del parent[key]
    elif isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent[str(rng.integers(1000))] = parent[key]
    return tree


def _places(node):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items):
        yield node, key
        yield from _places(value)


def _forged_array(rng, data):
    if rng.random() < 0.3:
        out = io.BytesIO()
        kinds = (np.array([1 + 2j]), np.array(["x"]), np.zeros((0, 5)), np.array([np.nan, np.inf]), np.zeros((3, 2, 2)))
        np.save(out, kinds[rng.integers(len(kinds))])
        return out.getvalue()
    at = int(rng.integers(min(len(data), 90)))
    return data[:at] + rng.bytes(int(rng.integers(1, 6))) + data[at + 1 :]


# -- judgement ---------------------------------------------------------------------------------------------------------
@functools.cache
def _distributed() -> tuple[bytes, bytes, np.ndarray, np.ndarray]:
    """Return the file of a distributed machine, a checkpoint of its fit, inputs, and what it predicts for them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = Path(folder) / "log.jsonl"
        machine = distributed_machine(str(log)).fit(X, X[:, 0])
        bayesvm.save(machine, Path(folder) / "model.bvm")
        return (Path(folder) / "model.bvm").read_bytes(), log.read_bytes(), X, machine.predict(X)


def distributed_machine(checkpoint):
    """Return a quick distributed machine that was not fitted."""
    options = {"inducing": 8, "block_size": 12, "sample_size": 16, "n_starts": 1, "max_evaluations": 3}
    return distributed.DistributedSVR("rbf + constant", random_state=0, checkpoint=checkpoint, **options)


def judge(seed: int) -> tuple[str, str]:
    """Return how the reading of a damaged or forged file ended: "refused", "same model", or the kind of a failure."""
    rng = np.random.default_rng(seed)
    how = (
        "damaged",
        "damaged",
        "damaged",
        "forged",
        "forged",
        "forged",
        "elsewhere",
        "elsewhere",
        "elsewhere",
        "checkpoint",
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        before = _peak()
        try:
            outcome = {"damaged": _damaged, "forged": _forged, "elsewhere": _elsewhere, "checkpoint": _checkpoint}[
                how[seed % len(how)]
            ](rng, Path(folder))
        except ModelFileError as error:
            named = folder in str(error)
            outcome = ("refused", "") if named else ("internal error", f"the file is not named: {error}")
        grown = _peak() - before
        return outcome if grown < 500_000 else ("memory", f"{grown} kB for a small file")


def _peak() -> int:
    """Return the largest resident memory so far, in kilobytes."""
    return 0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _damaged(rng, folder):
    path, data = folder / "m.bvm", model_bytes()
    path.write_bytes(mutated(rng, data))
    found = bayesvm.load(path)
    same = np.array_equal(found.dual_coef_, bayesvm.load(io.BytesIO(data)).dual_coef_)
    return ("same model", "") if same else ("silent damage", "the coefficients differ")


def _forged(rng, folder):
    path = folder / "m.bvm"
    path.write_bytes(forged(rng, model_bytes()))
    found = bayesvm.load(path)
    return ("same model", "") if type(found).__module__.startswith("bayesvm.") else ("forgery", repr(type(found)))


def _elsewhere(rng, folder):
    data, _, X, expected = _distributed()
    path = folder / "m.bvm"
    path.write_bytes(mutated(rng, data) if rng.random() < 0.8 else data)
    found = bayesvm.load(path).predict(X)
    return ("same model", "") if np.array_equal(found, expected) else ("silent damage", "the predictions differ")


def _checkpoint(rng, folder):
    _, data, X, expected = _distributed()
    path = folder / "log.jsonl"
    path.write_bytes(mutated(rng, data))
    found = distributed_machine(None).fit(X, X[:, 0], resume=path).predict(X)
    close = np.allclose(found, expected, rtol=1e-6, atol=1e-9)
    return ("same model", "") if close else ("silent damage", "the resumed fit ends elsewhere")
