"""Loaders: every form of file gives the same data set, and what is missing is named."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from bayesvm.datasets import (
    DataSet,
    MissingDataError,
    data_directory,
    load_delve,
    load_ida,
    load_ida_asc,
    load_ida_mat,
    load_npz,
    load_sklearn,
)

SHARED = Path(os.environ.get("BAYESVM_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def benchmark():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1, 1], 30)
    rows = np.array([rng.permutation(30) for _ in range(4)])
    return DataSet("toy", X, y, rows[:, :20], rows[:, 20:], np.array([1, 2, 1, 2]))


def assert_same_splits(found, data, order=None):
    for k in range(data.partitions):
        plain = DataSet(data.name, data.X, data.y, data.train, data.test)
        for a, b in zip(found.split(k), plain.split(k if order is None else order[k]), strict=True):
            np.testing.assert_allclose(a, b)


def test_npz_and_the_published_partitions_first(benchmark, tmp_path):
    b = benchmark
    np.savez(tmp_path / "ida_toy.npz", X=b.X, y=b.y, train=b.train, test=b.test, origin=b.origin)
    found = load_ida("toy", tmp_path)
    assert found.name == "toy"
    assert found.partitions == 4
    assert_same_splits(found, b, order=[1, 3, 0, 2])


def test_the_original_collection(benchmark, tmp_path):
    b = benchmark
    part = {"x": b.X, "t": b.y[:, None].astype(float), "train": b.train + 1.0, "test": b.test + 1.0}
    savemat(tmp_path / "benchmarks.mat", {"toy": part, "benchmarks": np.array(["toy"], dtype=object)})
    assert_same_splits(load_ida("toy", tmp_path), b)
    with pytest.raises(MissingDataError, match=r"no data set 'nonsense'; it has benchmarks, toy"):
        load_ida_mat(tmp_path / "benchmarks.mat", "nonsense")


def test_the_asc_files(benchmark, tmp_path):
    b = benchmark
    for k in range(b.partitions):
        for kind, rows in (("train", b.train[k]), ("test", b.test[k])):
            np.savetxt(tmp_path / f"toy_{kind}_data_{k + 1}.asc", b.X[rows])
            np.savetxt(tmp_path / f"toy_{kind}_labels_{k + 1}.asc", b.y[rows])
    assert_same_splits(load_ida("toy", tmp_path), b)
    (tmp_path / "toy_test_labels_3.asc").unlink()
    with pytest.raises(MissingDataError, match=r"missing toy_test_data_3.asc or toy_test_labels_3.asc"):
        load_ida_asc("toy", tmp_path)
    with pytest.raises(MissingDataError, match=r"missing data set other_train_data_1.asc"):
        load_ida_asc("other", tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_delve_files(tmp_path, packed):
    text = "# a comment\n1.5 M \\\n 3 ?\n\n2.5 F 4 7e-1\n0 I 5 2\n"
    path = tmp_path / ("toy.data.gz" if packed else "toy.data")
    with gzip.open(path, "wt") if packed else path.open("w") as file:
        file.write(text)
    found = load_delve(path, target=2)
    np.testing.assert_array_equal(found.y, [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(found.X, [[1.5, 2.0, np.nan], [2.5, 0.0, 0.7], [0.0, 1.0, 2.0]])
    assert found.name == "toy"


def test_delve_lines_of_different_length_are_refused(tmp_path):
    (tmp_path / "bad.data").write_text("1 2\n1 2 3\n")
    with pytest.raises(ValueError, match=r"bad.data: expected lines of one length, found \[2, 3\]"):
        load_delve(tmp_path / "bad.data")
    with pytest.raises(MissingDataError, match=r"missing data set none.data"):
        load_delve(tmp_path / "none.data")


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match=r"missing data set ida_banana.npz"):
        load_ida("banana", tmp_path)
    monkeypatch.delenv("BAYESVM_DATA", raising=False)
    assert data_directory() is None
    with pytest.raises(MissingDataError, match="BAYESVM_DATA is not set"):
        load_npz("boston")
    np.savez(tmp_path / "odd.npz", A=np.zeros(2))
    with pytest.raises(ValueError, match=r"odd.npz: expected arrays X and y, found A"):
        load_npz("odd", tmp_path)


def test_splits_are_checked(benchmark):
    with pytest.raises(ValueError, match="expected a partition from 0 to 3, found 4"):
        benchmark.split(4)
    plain = DataSet("toy", benchmark.X, benchmark.y)
    with pytest.raises(ValueError, match="has no partitions"):
        plain.split()
    with pytest.raises(ValueError, match="expected 1 to 29 training rows, found 30"):
        plain.random_split(30, 0)
    X, _, X_test, _ = plain.random_split(20, 0)
    np.testing.assert_allclose(np.sort(np.vstack([X, X_test]), axis=0), np.sort(benchmark.X, axis=0))


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_sets_that_scikit_learn_ships(name):
    found = load_sklearn(name)
    assert len(found.X) == len(found.y)


def test_a_set_that_scikit_learn_does_not_ship():
    with pytest.raises(MissingDataError, match="ships no data set 'boston'"):
        load_sklearn("boston")


@pytest.mark.skipif(not (SHARED / "ida_banana.npz").is_file(), reason="ida_banana.npz is absent")
def test_the_shared_banana_set():
    found = load_ida("banana", SHARED)
    assert found.partitions == 100
    X, y, X_test, _ = found.split(99)
    assert (X.shape, X_test.shape) == ((400, 2), (4900, 2))
    assert set(np.unique(y)) == {-1, 1}
