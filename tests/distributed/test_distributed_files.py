"""Saved machines: one file, and what is said of the committees of earlier releases."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import bayesvm
from bayesvm.distributed import DistributedSVC, DistributedSVR, load, save
from bayesvm.persistence.errors import ModelFileError

CORPUS = Path(__file__).parent / "corpus" / "0.1-format-2"


@pytest.mark.parametrize("name", ["svc", "svr"])
def test_committees_of_release_0_1_are_refused_with_a_way_out(name):
    with pytest.raises(ModelFileError, match=rf"{name}\.bvm: it holds a committee of blocks.*fit the same data anew"):
        bayesvm.load(CORPUS / f"{name}.bvm")


@pytest.mark.parametrize("name", ["svc-three-classes", "svr-two-outputs"])
def test_folders_of_release_0_1_are_refused_with_a_way_out(name):
    with pytest.warns(FutureWarning), pytest.raises(ModelFileError, match=r"a committee of blocks.*bayesvm 0\.1"):
        load(CORPUS / name)


def test_an_estimator_of_release_0_1_that_was_not_fitted():
    model = bayesvm.load(CORPUS / "not-fitted.bvm")
    assert model.get_params() == DistributedSVC(None, block_size=7, likelihood="trigonometric").get_params()
    assert not {"partition", "committee", "posterior"} & set(vars(model))


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=90)
    machine = DistributedSVR("rbf + constant", inducing=15, block_size=40, sample_size=60, n_starts=1, random_state=0)
    return machine.fit(X, y), X, y


def test_one_file_holds_a_machine(fitted, tmp_path):
    machine, X, y = fitted
    bayesvm.save(machine, tmp_path / "model.bvm")
    loaded = bayesvm.load(tmp_path / "model.bvm")
    np.testing.assert_array_equal(loaded.predict(X), machine.predict(X))
    np.testing.assert_array_equal(loaded.log_density(X, y), machine.log_density(X, y))
    np.testing.assert_array_equal(loaded.leave_one_out().mean, machine.leave_one_out().mean)
    assert loaded.leave_one_out().mean.shape == (machine.n_sampled_,)
    with pytest.raises(ValueError, match="no longer there"):
        loaded.log_evidence()
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(copy.predict(X), machine.predict(X))


def test_folders_are_written_and_read_with_a_warning(fitted, tmp_path):
    machine, X, _ = fitted
    with pytest.warns(FutureWarning, match=r"use bayesvm\.save"):
        save(machine, tmp_path / "model")
    with pytest.warns(FutureWarning, match=r"use bayesvm\.load"):
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), machine.predict(X))
    with pytest.warns(FutureWarning), pytest.raises(ModelFileError, match="holds a model already"):
        save(machine, tmp_path / "model")
    with pytest.warns(FutureWarning), pytest.raises(ModelFileError, match=r"expected model\.bvm"):
        load(tmp_path)
    with pytest.warns(FutureWarning, match="predictions need no cluster"):
        assert machine.collect() is machine
