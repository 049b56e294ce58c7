"""On a Dask cluster: equal results from every source and partition, faults, progress, joblib's backend."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import bayesvm
from bayesvm.distributed import DistributedSVC, DistributedSVR

pytest.importorskip("dask", reason="dask and distributed are not installed")
pytestmark = pytest.mark.xdist_group("dask cluster")  # one for all


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] + np.sin(2.0 * X[:, 1])
    return X, np.where(f + 0.4 * rng.normal(size=n) > 0.0, 1, 0), f + 0.2 * rng.normal(size=n)


X, LABELS, TARGETS = data()


KERNEL = "rbf + constant"
QUICK = {"n_starts": 1, "random_state": 0, "block_size": 30, "inducing": 20, "sample_size": 70}


def svc(**options):
    return DistributedSVC(KERNEL, **{**QUICK, **options})


def svr(**options):
    return DistributedSVR(KERNEL, **{**QUICK, "likelihood": "huber", **options})


@pytest.fixture(scope="module")
def local():
    return svc().fit(X, LABELS)


# -- sources -----------------------------------------------------------------------------------------------------------
def test_arrays_in_memory(client, local):
    machine = svc(client=client).fit(X, LABELS)
    assert machine.log_evidence_ == pytest.approx(local.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(("rows", "labels"), [((50, 50, 20), 40), ((7, 100, 13), 120), (120, 120)])
def test_every_partition_gives_the_same_machine(client, local, rows, labels):
    import dask.array as da

    dX, dy = da.from_array(X, chunks=(rows, 3)), da.from_array(LABELS, chunks=labels)
    machine = svc(client=client).fit(dX, dy)
    assert machine.log_evidence_ == pytest.approx(local.log_evidence_, rel=1e-10)
    np.testing.assert_array_equal(machine.basis_, local.basis_)
    np.testing.assert_allclose(machine.models_[0].theta, local.models_[0].theta, atol=1e-10)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-10)


def test_dask_arrays_and_lazy_predictions(client):
    import dask.array as da

    dX, dy = da.from_array(X, chunks=(50, 2)), da.from_array(LABELS, chunks=40)
    machine = svc(client=client).fit(dX, dy)
    assert machine.n_blocks_ == 4
    with client.as_current():
        proba = machine.predict_proba(dX)
        assert proba.shape == (120, 2)
        np.testing.assert_allclose(proba.compute(), machine.predict_proba(X), atol=1e-12)
        mean, std = machine.predict_latent(dX)
        np.testing.assert_allclose(da.compute(mean, std), machine.predict_latent(X), atol=1e-12)
        assert machine.predict(dX).dtype == LABELS.dtype


def test_dask_frames_with_weights(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=TARGETS, weight=np.arange(120) % 3)
    ddf = dd.from_pandas(frame, npartitions=3)
    machine = svr(client=client).fit(ddf[["a", "b", "c"]], ddf["target"], ddf["weight"])
    assert machine.n_rows_ == 80
    assert machine.feature_names_in_.tolist() == ["a", "b", "c"]
    with client.as_current():
        low, high = machine.predict_interval(ddf[["a", "b", "c"]])
        expected = machine.predict_interval(frame[["a", "b", "c"]])
        np.testing.assert_allclose(low.compute(), expected[0], atol=1e-9)
        np.testing.assert_allclose(high.compute(), expected[1], atol=1e-9)


@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_directory_of_parquet_files(client, local, tmp_path, on_cluster):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for i, rows in enumerate((slice(0, 30), slice(30, 30), slice(30, 120))):
        pd.DataFrame(X[rows], columns=list("abc")).assign(y=LABELS[rows]).to_parquet(tmp_path / f"{i}.parquet")
    machine = svc(client=client if on_cluster else None).fit(tmp_path, "y")
    assert machine.n_rows_ == 120
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_allclose(machine.predict_proba(frame), local.predict_proba(X), atol=1e-10)
    with pytest.raises(ValueError, match="expected a column 'z'"):
        svc().fit(tmp_path, "z")
    with pytest.raises(ValueError, match="expected a directory"):
        svc().fit(tmp_path / "none", "y")


def in_files(folder, **columns):
    """Write rows to three Parquet files, one of them empty, and return the inputs as a frame."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc"))
    for i, rows in enumerate((slice(0, 30), slice(30, 30), slice(30, 120))):
        frame.assign(**columns)[rows].to_parquet(folder / f"{i}.parquet")
    return frame


THREE = np.array(["low", "middle", "high"])[np.digitize(TARGETS, [-0.7, 0.7])]
WEIGHTS = np.arange(120) % 3 + 0.5


@pytest.fixture(scope="module")
def of_three_classes():
    return svc(class_weight="balanced").fit(X, THREE, WEIGHTS).predict_proba(X)


@pytest.mark.parametrize("kind", [str, "category", int])
def test_several_weighted_classes_from_files(tmp_path, of_three_classes, kind):
    pd = pytest.importorskip("pandas")
    labels = np.array(["high", "low", "middle"]).searchsorted(THREE) if kind is int else THREE
    frame = in_files(tmp_path, y=pd.Series(labels).astype(kind), w=WEIGHTS)
    machine = svc(class_weight="balanced").fit(tmp_path, "y", "w")
    assert machine.classes_.tolist() == ([0, 1, 2] if kind is int else ["high", "low", "middle"])
    assert machine.predict(frame[:1]).dtype.kind == ("i" if kind is int else "U")
    np.testing.assert_allclose(machine.predict_proba(frame), of_three_classes, atol=1e-10)


@pytest.mark.parametrize("partitions", [2, 5])
def test_several_weighted_classes_from_dask_frames(client, of_three_classes, partitions):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=THREE, w=WEIGHTS)
    ddf = dd.from_pandas(frame, npartitions=partitions)
    for own in (None, client):  # without a cluster the partitions are read by threads
        machine = svc(class_weight="balanced", client=own).fit(ddf[list("abc")], ddf["y"], ddf["w"])
        np.testing.assert_allclose(machine.predict_proba(frame[list("abc")]), of_three_classes, atol=1e-8)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_named(tmp_path, missing):
    labels = THREE.astype(object) if missing is None else LABELS.astype(float)
    labels[5] = missing
    in_files(tmp_path, y=labels)
    with pytest.raises(ValueError, match="part 0 of the data: expected a label in every row, found none in row 5"):
        svc().fit(tmp_path, "y")


def test_a_number_of_workers_starts_a_cluster_and_closes_it(client, local, monkeypatch):
    seen = []

    @contextlib.contextmanager
    def own(n_workers):
        seen.append(n_workers)
        yield client
        seen.append("closed")

    monkeypatch.setattr("bayesvm.distributed.engine.local_cluster", own)
    machine = svc(client=3).fit(X, LABELS)
    assert seen == [3, "closed"]
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


@pytest.mark.slow
def test_a_cluster_that_the_fit_starts_and_closes(local):
    machine = svc(client=1).fit(X, LABELS)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


def test_parts_with_bad_values_are_named(client):
    import dask.array as da

    spoilt = np.ones((30, 2))
    spoilt[25] = np.nan
    with pytest.raises(ValueError, match="part 2 of the data: expected finite inputs"):
        DistributedSVR(client=client).fit(
            da.from_array(spoilt, chunks=(10, 2)), da.from_array(np.arange(30.0), chunks=10)
        )


def test_pickles_need_no_cluster(client):
    import pickle

    machine = svc(client=client).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(machine))
    assert again.client is None
    np.testing.assert_allclose(again.predict_proba(X), machine.predict_proba(X), atol=1e-12)


# -- progress ----------------------------------------------------------------------------------------------------------
def test_every_evaluation_is_reported(client, caplog):
    before = len(client.get_events("bayesvm"))
    with caplog.at_level("INFO", logger="bayesvm.distributed"):
        machine = svr(client=client, verbose=1).fit(X, TARGETS)
    events = client.get_events("bayesvm")[before:]
    assert machine.n_iter_ <= len(events)
    assert set(events[0][1]) == {"evidence", "gradient_norm", "seconds"}
    assert any("|gradient|" in record.message for record in caplog.records)


# -- faults ------------------------------------------------------------------------------------------------------------
INTERRUPTED = """
import os
import numpy as np
from bayesvm.distributed import DistributedSVC
from bayesvm.distributed import checkpoint

append = checkpoint.Log.append
count = 0

def dying(self, what, theta, found):
    global count
    append(self, what, theta, found)
    count += 1
    if count == STOP:
        os.kill(os.getpid(), 9)

checkpoint.Log.append = dying
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.4 * rng.normal(size=120) > 0.0, 1, 0)
DistributedSVC("rbf + constant", **OPTIONS, checkpoint="log.jsonl").fit(X, y)
"""


@pytest.mark.parametrize(
    "seed", [pytest.param(None, id="in the sample", marks=pytest.mark.slow), pytest.param(0, id="on all rows")]
)
def test_a_killed_client_resumes_from_its_checkpoint(client, tmp_path, seed):
    options = {"n_starts": 1, "inducing": 20, "block_size": 12, "sample_size": 60, "random_state": seed}
    stop = 3 if seed is None else DistributedSVC(KERNEL, **options).fit(X, LABELS).n_iter_ - 1
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(INTERRUPTED).replace("STOP", str(stop)).replace("OPTIONS", repr(options)))
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=False, timeout=120)
    assert result.returncode == -signal.SIGKILL
    log = tmp_path / "log.jsonl"
    assert len(log.read_text().splitlines()) == 1 + stop
    with open(log, "a") as out:
        out.write('{"what": "cut sho')
    header, _, _ = log.read_text().partition("\n")
    resumed = DistributedSVC(KERNEL, **options, client=client).fit(X, LABELS, resume=log)
    assert json.loads(log.read_text().partition("\n")[0])["seed"] == json.loads(header)["seed"]
    (tmp_path / "empty.jsonl").write_text(header + "\n")  # the same sample, nothing known
    whole = DistributedSVC(KERNEL, **options, checkpoint=tmp_path / "other.jsonl")
    whole.fit(X, LABELS, resume=tmp_path / "empty.jsonl")
    np.testing.assert_allclose(resumed.models_[0].theta, whole.models_[0].theta, atol=1e-6)
    assert resumed.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(resumed.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert len(log.read_text().splitlines()) >= 1 + whole.n_iter_
    with pytest.raises(ValueError, match="the checkpoint is of another fit"):
        DistributedSVC(KERNEL, **{**options, "block_size": 13}).fit(X, LABELS, resume=log)
    with pytest.raises(ValueError, match="expected a checkpoint"):
        DistributedSVC(KERNEL, **options).fit(X, LABELS, resume=script)


def test_a_checkpoint_of_an_earlier_release_is_refused(tmp_path):
    (tmp_path / "old.jsonl").write_text('{"format": "bayesvm-checkpoint", "version": 2, "seed": 1}\n')
    with pytest.raises(ValueError, match="an earlier release, which fitted committees of blocks; begin the fit afresh"):
        svc().fit(X, LABELS, resume=tmp_path / "old.jsonl")


# -- independent work --------------------------------------------------------------------------------------------------
def test_plain_estimators_inside_joblibs_dask_backend(client):
    import joblib
    from sklearn.model_selection import cross_val_score

    y = np.digitize(TARGETS, [-1.0, 1.0])
    for make, target in (
        (lambda: bayesvm.BayesianSVC(None, n_starts=3, n_jobs=2, posterior="laplace"), LABELS),
        (lambda: bayesvm.BayesianSVC(None, n_starts=1, n_jobs=2, posterior="laplace"), y),
    ):
        here = make().fit(X, target)
        with client.as_current(), joblib.parallel_config(backend="dask"):
            there = make().fit(X, target)
        assert there.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-8)
        np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
    plain = bayesvm.BayesianSVC(None, n_starts=1, posterior="laplace")
    expected = cross_val_score(plain, X, LABELS, cv=3, n_jobs=1)
    with client.as_current(), joblib.parallel_config(backend="dask"):
        np.testing.assert_allclose(cross_val_score(plain, X, LABELS, cv=3, n_jobs=2), expected, atol=1e-12)


def test_joblibs_dask_backend_sends_the_data_once(client, monkeypatch):
    import joblib

    from bayesvm.kernels.inputs import Inputs

    sent = []
    state = Inputs.__getstate__
    monkeypatch.setattr(Inputs, "__getstate__", lambda self: (sent.append(len(self)), state(self))[1])
    y = np.digitize(TARGETS, [-1.0, 0.0, 1.0])
    with client.as_current(), joblib.parallel_config(backend="dask"):
        bayesvm.BayesianSVC(None, multi_class="ovr", n_starts=1, n_jobs=2, posterior="laplace").fit(X, y)
    assert sent.count(len(X)) == 1  # four models, one copy


def test_a_distributed_fit_inside_joblibs_dask_backend(client, local):
    import joblib

    with client.as_current(), joblib.parallel_config(backend="dask"):
        machine = svc(client=client).fit(X, LABELS)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


def test_a_killed_worker_costs_nothing_but_time(client):
    X, y, _ = data(400, 3)
    undisturbed = svc(n_jobs=1, block_size=100, sample_size=80).fit(X, y)
    victim = next(iter(client.run(os.getpid).values()))
    before = len(client.get_events("bayesvm"))
    sampled = undisturbed.n_iter_ - sum(record.evaluations for record in undisturbed.history_[-2:])

    def kill():
        while len(client.get_events("bayesvm")) < before + sampled + 2:  # in the search on all rows
            time.sleep(0.002)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    machine = svc(client=client, block_size=100, sample_size=80).fit(X, y)
    killer.join()
    assert victim not in client.run(os.getpid).values()
    np.testing.assert_allclose(machine.models_[0].theta, undisturbed.models_[0].theta, atol=1e-8)
    np.testing.assert_allclose(machine.predict_proba(X), undisturbed.predict_proba(X), atol=1e-8)
