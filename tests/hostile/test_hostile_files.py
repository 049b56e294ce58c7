"""Files: regular ones only, replaced in one step, leftovers removed, damage found and named."""

import errno
import io
import json
import os
import signal

import numpy as np
import pytest
from hostile_files import forged, model_bytes, mutated, packed, unpacked

import bayesvm
from bayesvm.cli.app import run
from bayesvm.distributed import DistributedSVC
from bayesvm.distributed.checkpoint import CheckpointError
from bayesvm.persistence import ModelFileError
from bayesvm.persistence.atomic import write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and signals of POSIX")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    return bayesvm.RelevanceVectorRegressor(bayesvm.kernels.Gaussian(), optimizer=None).fit(X, X[:, 0])


def hidden(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


# -- what a save may replace -------------------------------------------------------------------------------------------
@posix
def test_a_link_is_followed_and_stays(model, tmp_path):
    target, link = tmp_path / "real.bvm", tmp_path / "link.bvm"
    target.write_bytes(b"old")
    link.symlink_to(target)
    bayesvm.save(model, link)
    assert link.is_symlink()
    np.testing.assert_array_equal(bayesvm.load(target).dual_coef_, model.dual_coef_)


@posix
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_only_regular_files_are_written_and_read(kind, model, tmp_path):
    path = tmp_path / "m.bvm"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = type(path)(os.devnull)
    before = os.stat(path)
    with pytest.raises(OSError, match=r"expected a regular file.*'?" + str(path)):
        bayesvm.save(model, path)
    assert os.path.samestat(before, os.stat(path))
    with pytest.raises(ModelFileError, match=f"{path}: expected a regular file"):
        bayesvm.load(path)
    assert hidden(tmp_path) == []


# -- temporary files ---------------------------------------------------------------------------------------------------
def save_and_be_killed(path):
    """Write a file in another process that is killed before the new contents are in place; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
            write_atomically(path, b"new" * 1000)
        finally:
            os._exit(1)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@posix
def test_what_a_killed_save_leaves_is_removed_by_the_next(model, tmp_path):
    path = tmp_path / "m.bvm"
    bayesvm.save(model, path)
    before = path.read_bytes()
    for _ in range(2):
        assert save_and_be_killed(path) == signal.SIGKILL
    assert path.read_bytes() == before
    assert len(hidden(tmp_path)) == 1  # the second has removed what the first had left
    other = tmp_path / ".m.bvm.abcdefgh.tmp.keep"
    other.write_bytes(b"somebody else's")
    bayesvm.save(model, path)
    assert hidden(tmp_path) == [other.name]


@posix
def test_a_save_that_is_under_way_is_left_alone(tmp_path, monkeypatch):
    path, seen = tmp_path / "m.bvm", []
    replace = os.replace

    def meanwhile(source, target):
        monkeypatch.setattr(os, "replace", replace)
        write_atomically(path, b"second")  # another writer, before the first has finished
        seen.append(os.path.exists(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", meanwhile)
    write_atomically(path, b"first")
    assert seen == [True]
    assert path.read_bytes() == b"first"
    assert hidden(tmp_path) == []


# -- full disks --------------------------------------------------------------------------------------------------------
def full(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named_and_changes_nothing(model, tmp_path, monkeypatch):
    path = tmp_path / "m.bvm"
    bayesvm.save(model, path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: .*{path.name}") as caught:
        bayesvm.save(model, path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert hidden(tmp_path) == []


def test_a_full_disk_has_an_exit_code_of_its_own(tmp_path, monkeypatch, capsys):
    table = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{x:.3f},{'ab'[int(x > 0)]}" for x in rng.normal(size=20))
    table.write_text(f"x,y\n{rows}\n")
    out = tmp_path / "m.bvm"
    arguments = ["fit", str(table), "--target", "y", "--method", "ls-svc", "--model", str(out)]
    monkeypatch.setattr(os, "fsync", full)
    assert run(arguments) == 1  # neither usage (2) nor data (3)
    assert f"{out}: cannot be written (No space left on device)" in capsys.readouterr().err
    assert not out.exists()
    assert hidden(tmp_path) == []


# -- damaged and forged files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_file_is_refused_or_is_the_same_model(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "m.bvm"
    data = model_bytes()
    path.write_bytes(mutated(rng, data))
    try:
        found = bayesvm.load(path)
    except ModelFileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
    else:
        np.testing.assert_array_equal(found.dual_coef_, bayesvm.load(io.BytesIO(data)).dual_coef_)


@pytest.mark.parametrize("seed", range(40))
def test_a_forged_file_builds_nothing_that_is_no_estimator(seed, tmp_path):
    path = tmp_path / "m.bvm"
    path.write_bytes(forged(np.random.default_rng(seed), model_bytes()))
    try:
        found = bayesvm.load(path)
    except ModelFileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
    else:
        assert type(found).__module__.startswith("bayesvm.")


@pytest.mark.parametrize("dtype", ["<U500000000", "<f8192", "V1000000000", "O", "M8[ns]"])
def test_a_declared_size_is_checked_before_memory_is_taken(dtype, tmp_path):
    manifest, members = unpacked(model_bytes())
    tree = json.loads(members["model.json"])
    tree["fields"]["n_features_in_"] = {"$": "scalar", "dtype": dtype, "value": "a" if "U" in dtype else 1}
    members["model.json"] = json.dumps(tree).encode()
    path = tmp_path / "m.bvm"
    path.write_bytes(packed(manifest, members))
    with pytest.raises(ModelFileError, match=f"{path}: "):
        bayesvm.load(path)


# -- checkpoints of distributed fits -----------------------------------------------------------------------------------
pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")


def fitted_with_checkpoint(path, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 2))
    y = np.where(X[:, 0] > 0.0, "a", "b")
    sizes = {"inducing": 8, "block_size": 12, "sample_size": 20}
    machine = DistributedSVC("rbf", **sizes, n_starts=1, random_state=0, checkpoint=path, max_evaluations=12)
    return machine.fit(X, y, **options), X


def test_a_damaged_checkpoint_is_found_and_named(tmp_path):
    path = tmp_path / "log.jsonl"
    fitted_with_checkpoint(path)
    lines = path.read_bytes().splitlines(keepends=True)
    spoilt = {
        "not utf-8": [*lines[:2], b"\xff\xfe\n", *lines[2:]],
        "not json": [*lines[:2], b"{]\n", *lines[2:]],
        "a number changed": [*lines[:2], lines[2].replace(b'"value": -', b'"value": -1'), *lines[3:]],
        "a line missing": [lines[0], *lines[2:]],
        "a key missing": [lines[0], b'{"what": "x"}\n'],
        "another file": [b"hello\n"],
        "empty": [],
    }
    for content in spoilt.values():
        path.write_bytes(b"".join(content))
        with pytest.raises(CheckpointError, match=r"log\.jsonl"):
            fitted_with_checkpoint(None, resume=path)
    with pytest.raises(CheckpointError, match=r"nowhere\.jsonl"):
        fitted_with_checkpoint(None, resume=tmp_path / "nowhere.jsonl")


def test_a_cut_off_checkpoint_leads_to_the_same_fit(tmp_path):
    path = tmp_path / "log.jsonl"
    whole, X = fitted_with_checkpoint(path)
    data = path.read_bytes()
    for share in (0.5, 0.99):
        path.write_bytes(data[: int(share * len(data))])
        again, _ = fitted_with_checkpoint(None, resume=path)
        np.testing.assert_array_equal(again.predict(X), whole.predict(X))
        np.testing.assert_allclose(again.log_evidence_, whole.log_evidence_, rtol=1e-10)
