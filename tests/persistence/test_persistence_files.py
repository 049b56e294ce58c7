"""Damaged, foreign, newer and interrupted files; the corpus of older files; leaks."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_zoo import data, fitted, predictions

from bayesvm import BayesianSVC
from bayesvm.persistence import ModelFileError, container, load, read_info, save

CORPUS = sorted((Path(__file__).parent / "corpus").rglob("*.bvm"))


@pytest.fixture(scope="module")
def stored():
    file = io.BytesIO()
    save(fitted(BayesianSVC(None, n_starts=1, max_evaluations=10), *data(16)[:2]), file)
    return file.getvalue()


@pytest.fixture(scope="module")
def answers(stored):
    return predictions(load(io.BytesIO(stored)), data(5)[0])


def forged(stored, change):
    """Return the file with its parts changed and all checksums made good."""
    with zipfile.ZipFile(io.BytesIO(stored)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    manifest["members"] = {name: hashlib.sha256(body).hexdigest() for name, body in members.items()}
    manifest.pop("checksum")
    manifest["checksum"] = container._digest(manifest)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in {"manifest.json": json.dumps(manifest).encode(), **members}.items():
            archive.writestr(name, body)
    return out.getvalue()


def load_bytes(content):
    return load(io.BytesIO(content))


# -- damage ------------------------------------------------------------------------------------------------------------
def test_a_truncated_file_is_refused(stored):
    for length in [0, 1, 4, 30, 100, len(stored) // 3, len(stored) // 2, len(stored) - 200, len(stored) - 1]:
        with pytest.raises(ModelFileError, match="model file"):
            load_bytes(stored[:length])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_is_found_or_harmless(stored, answers, choices):
    changed = bytearray(stored)
    for _ in range(choices.draw(st.integers(1, 3))):
        place = choices.draw(st.integers(0, len(stored) - 1))
        changed[place] ^= choices.draw(st.integers(1, 255))
    try:
        model = load_bytes(bytes(changed))
    except ModelFileError:
        return
    else:  # a byte that no reader looks at, such as a date
        for key, value in predictions(model, data(5)[0]).items():
            np.testing.assert_array_equal(value, answers[key])


def test_every_byte_of_every_member_is_guarded(stored):
    with zipfile.ZipFile(io.BytesIO(stored)) as archive:
        spans = [(e.header_offset + 30 + len(e.filename), e.file_size) for e in archive.infolist()]
    for begin, size in spans:
        for place in (begin, begin + size // 2, begin + size - 1):
            changed = bytearray(stored)
            changed[place] ^= 1
            with pytest.raises(ModelFileError):
                load_bytes(bytes(changed))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.bvm"
    for content in (b"", b"PK\x03\x04", pickle.dumps(3), b"{}"):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"x\.bvm: not a complete bayesvm model file"):
            load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(ModelFileError, match="no manifest"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.bvm")


def test_a_newer_version_is_named(stored):
    content = forged(stored, lambda manifest, members: manifest.update(version=container.VERSION + 1))
    with pytest.raises(ModelFileError, match="version 5 of the format, this release of bayesvm reads versions up to 4"):
        load_bytes(content)
    with pytest.raises(ModelFileError, match="newer release"):
        read_info(io.BytesIO(content))


# -- forged files: checksums fit, contents do not ----------------------------------------------------------------------
def with_tree(stored, tree):
    return forged(stored, lambda manifest, members: members.update({"model.json": json.dumps(tree).encode()}))


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "object", "class": "os.system", "fields": {"command": "true"}},
        {"$": "object", "class": "builtins.eval", "fields": {}},
        {"$": "object", "class": "bayesvm.estimators.bayesian_svc.BayesianSVC", "fields": {}},
        {"$": "object", "class": ["a"], "fields": {}},
        {"$": "object", "class": "kernels.gaussian.Gaussian", "fields": {"variance": -1.0}},
        {"$": "object", "class": "kernels.gaussian.Gaussian", "fields": {"colour": 1.0}},
        {"$": "object", "class": "numpy.Generator", "fields": {"kind": "default_rng", "state": {}}},
        {"$": "object", "class": "solvers.base.Status", "fields": {}},
        {"$": "enum", "class": "solvers.base.Status", "name": "PERFECT"},
        {"$": "enum", "class": "kernels.gaussian.Gaussian", "name": "x"},
        {"$": "array", "name": "arrays/9999.npy"},
        {"$": "scalar", "dtype": "O", "value": 1},
        {"$": "objects", "shape": [7, 7], "items": []},
        {"$": "call", "function": "print"},
        {"no": "kind"},
        [1, 2],
        "text",
    ],
    ids=str,
)
def test_a_forged_tree_gives_one_clear_error(stored, tree):
    with pytest.raises(ModelFileError) as caught:
        load_bytes(with_tree(stored, tree))
    assert "\n" not in str(caught.value)


def test_a_deep_tree_is_refused(stored):
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(ModelFileError):
        load_bytes(forged(stored, lambda manifest, members: members.update({"model.json": deep})))


def replaced_array(stored, body):
    def change(manifest, members):
        members[min(name for name in members if name.endswith(".npy"))] = body

    return forged(stored, change)


def test_arrays_are_never_unpickled_and_never_larger_than_the_file(stored):
    out = io.BytesIO()
    np.save(out, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(ModelFileError, match="not allowed"):
        load_bytes(replaced_array(stored, out.getvalue()))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with pytest.raises(ModelFileError, match="another size"):
        load_bytes(replaced_array(stored, header.getvalue() + b"\0" * 80))
    with pytest.raises(ModelFileError):
        load_bytes(replaced_array(stored, b"nonsense"))


def test_members_that_are_not_listed_or_are_compressed_are_refused(stored):
    out = io.BytesIO(stored)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("extra.txt", "x")
    with pytest.raises(ModelFileError, match="were added"):
        load_bytes(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(stored)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ModelFileError, match="compressed"):
        load_bytes(out.getvalue())


# -- writing -----------------------------------------------------------------------------------------------------------
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m.bvm"
    save(BayesianSVC(None), path)
    before = path.read_bytes()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(BayesianSVC(None, ard=True), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.bvm"]


KILL = textwrap.dedent("""
    import os, random, signal, sys, time
    import numpy as np
    from bayesvm import BayesianSVC
    from bayesvm.persistence import load, save

    path, rng, body = sys.argv[1], random.Random(0), np.zeros(200_000)
    save(BayesianSVC(None, class_weight=body, evidence_tol=1.0), path)

    def killed(work, after):
        child = os.fork()
        if child == 0:
            work()
            os._exit(0)
        if after is not None:  # wait for the first complete file, then some more
            inode = os.stat(path).st_ino
            while os.stat(path).st_ino == inode:
                time.sleep(0.001)
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), "the child was not killed"
        return load(path).evidence_tol

    def die(*arguments, **options):
        os.kill(os.getpid(), signal.SIGKILL)

    # at chosen points: when the bytes are written, when they are on the disk, when they should be put in place
    for name in ("fsync", "chmod", "replace"):
        def work(name=name):
            setattr(os, name, die)
            save(BayesianSVC(None, class_weight=body, evidence_tol=2.0), path)
        assert killed(work, None) == 1.0, name

    # and at random moments
    def forever():
        tol = 2.0
        while True:
            save(BayesianSVC(None, class_weight=body, evidence_tol=tol), path)
            tol += 1.0

    seen = {killed(forever, 0.03 * rng.random()) for _ in range(8)}
    print(min(seen))
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_during_save_leaves_a_complete_file(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    command = [sys.executable, "-c", KILL, str(folder / "m.bvm")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) >= 2.0  # every child had replaced the file before it was killed
    assert len([p for p in folder.iterdir() if p.suffix == ".tmp"]) <= 1  # each has removed what the one before it left


LEAK = """
import gc, os, sys
from pathlib import Path
from bayesvm import load

def state():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd")), len(gc.get_objects())

for _ in range(200):
    load(sys.argv[1])
before = state()
for _ in range(1000):
    load(sys.argv[1])
print(*(a - b for a, b in zip(state(), before)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_thousand_loads_leak_nothing(stored, tmp_path):
    path = tmp_path / "m.bvm"
    path.write_bytes(stored)
    # A process of its own: in one that has run other tests the allocator's free lists move by megabytes.
    done = subprocess.run([sys.executable, "-c", LEAK, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    memory, files, objects = (int(word) for word in done.stdout.split())
    assert memory < 200 * len(stored)  # keeping every file's contents would be five times as much
    assert files <= 0
    assert objects < 200


def test_a_pipe_can_be_read(stored):
    read_end, write_end = os.pipe()

    def write():
        with os.fdopen(write_end, "wb") as end:
            end.write(stored)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(read_end, "rb") as pipe:
        assert isinstance(load(pipe), BayesianSVC)
    writer.join()


# -- the past ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_of_the_corpus_load_and_predict_as_they_did(path):
    model, info = load(path), read_info(path)
    X = info["X"] if isinstance(info["X"], dict) else np.array(info["X"])
    for method, expected in info["expected"].items():
        found = predictions(model, X)[method]
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        else:
            assert found.tolist() == expected


def test_there_is_a_corpus():
    if (Path(__file__).parents[2] / "PKG-INFO").exists():
        pytest.skip("the collection of stored models is part of the checkout, not of the source distribution")
    assert len(CORPUS) >= 10
