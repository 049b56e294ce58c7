"""On a Dask cluster: equal results from every source, faults, progress, joblib's backend."""

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


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] + np.sin(2.0 * X[:, 1])
    return X, np.where(f + 0.4 * rng.normal(size=n) > 0.0, 1, 0), f + 0.2 * rng.normal(size=n)


X, LABELS, TARGETS = data()


def svc(**options):
    return DistributedSVC(**{"n_starts": 1, "random_state": 0, "block_size": 30, "posterior": "laplace", **options})


def svr(**options):
    return DistributedSVR(**{"n_starts": 1, "random_state": 0, "block_size": 30, "likelihood": "huber", **options})


@pytest.fixture(scope="module")
def local():
    return svc().fit(X, LABELS)


# -- sources -----------------------------------------------------------------------------------------------------------
def test_arrays_in_memory(client, local):
    machine = svc(client=client).fit(X, LABELS)
    assert machine.log_evidence_ == pytest.approx(local.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)
    collected = machine.collect()
    np.testing.assert_allclose(collected.predict_proba(X), local.predict_proba(X), atol=1e-9)


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
def test_a_directory_of_parquet_files(client, tmp_path, on_cluster):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for i in range(3):
        rows = slice(40 * i, 40 * (i + 1))
        pd.DataFrame(X[rows], columns=list("abc")).assign(y=LABELS[rows]).to_parquet(tmp_path / f"{i}.parquet")
    machine = svc(client=client if on_cluster else None).fit(tmp_path, "y")
    assert machine.n_rows_ == 120
    assert machine.score(pd.DataFrame(X, columns=list("abc")), LABELS) > 0.8
    with pytest.raises(ValueError, match="expected a column 'z'"):
        svc().fit(tmp_path, "z")
    with pytest.raises(ValueError, match="expected a directory"):
        svc().fit(tmp_path / "none", "y")


def test_a_cluster_that_the_fit_starts_and_closes(local):
    machine = svc(client=1).fit(X, LABELS)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


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
    assert set(events[0][1]) == {"evidence", "gradient_norm", "seconds", "blocks"}
    assert any("|gradient|" in record.message and "4 blocks" in record.message for record in caplog.records)


# -- faults ------------------------------------------------------------------------------------------------------------
INTERRUPTED = """
import os
import numpy as np
from bayesvm.distributed import DistributedSVC
from bayesvm.distributed import checkpoint

append = checkpoint.Log.append
count = 0

def dying(self, what, theta, part):
    global count
    append(self, what, theta, part)
    count += 1
    if count == 7:
        os.kill(os.getpid(), 9)

checkpoint.Log.append = dying
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.4 * rng.normal(size=120) > 0.0, 1, 0)
DistributedSVC(n_starts=1, block_size=12, posterior="laplace", checkpoint="log.jsonl").fit(X, y)
"""


def test_a_killed_client_resumes_from_its_checkpoint(client, tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(INTERRUPTED))
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=False, timeout=120)
    assert result.returncode == -signal.SIGKILL
    log = tmp_path / "log.jsonl"
    seed = json.loads(log.read_text().splitlines()[0])["seed"]
    with open(log, "a") as out:
        out.write('{"what": "cut sho')
    options = {"n_starts": 1, "block_size": 12, "posterior": "laplace"}
    resumed = DistributedSVC(**options, client=client).fit(X, LABELS, resume=log)
    assert resumed.models_[0].objective.context.seed == seed
    whole = DistributedSVC(**options, checkpoint=tmp_path / "other.jsonl")
    header, _, _ = log.read_text().partition("\n")
    (tmp_path / "empty.jsonl").write_text(header + "\n")  # the same blocks, nothing known
    whole.fit(X, LABELS, resume=tmp_path / "empty.jsonl")
    np.testing.assert_allclose(resumed.models_[0].theta, whole.models_[0].theta, atol=1e-6)
    assert resumed.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(resumed.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert len(log.read_text().splitlines()) >= 1 + whole.n_iter_
    with pytest.raises(ValueError, match="the checkpoint is of another fit"):
        DistributedSVC(**{**options, "block_size": 13}).fit(X, LABELS, resume=log)
    with pytest.raises(ValueError, match="expected a checkpoint"):
        DistributedSVC(**options).fit(X, LABELS, resume=script)


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
        bayesvm.BayesianSVC(None, n_starts=1, n_jobs=2, posterior="laplace").fit(X, y)
    assert sent.count(len(X)) == 1  # four models, one copy


def test_a_distributed_fit_inside_joblibs_dask_backend(client, local):
    import joblib

    with client.as_current(), joblib.parallel_config(backend="dask"):
        machine = svc(client=client).fit(X, LABELS)
    np.testing.assert_allclose(machine.predict_proba(X), local.predict_proba(X), atol=1e-9)


def test_a_killed_worker_costs_nothing_but_time(client):
    X, y, _ = data(400, 3)
    undisturbed = svc(n_jobs=1, block_size=100).fit(X, y)
    victim = next(iter(client.run(os.getpid).values()))
    before = len(client.get_events("bayesvm"))

    def kill():
        while len(client.get_events("bayesvm")) < before + 3:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    machine = svc(client=client, block_size=100).fit(X, y)
    killer.join()
    assert victim not in client.run(os.getpid).values()
    np.testing.assert_allclose(machine.models_[0].theta, undisturbed.models_[0].theta, atol=1e-6)
    np.testing.assert_allclose(machine.predict_proba(X), undisturbed.predict_proba(X), atol=1e-6)
