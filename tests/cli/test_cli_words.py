"""What the command line says about a fit: by class, largest first, against guessing; B1, B4, B5, B10, F1, F2, F18."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pandas")

from bayesvm.cli.app import run


def written(path, X, y, names=None):
    """Write a table of features and target and return its name."""
    names = names or [f"x{j}" for j in range(X.shape[1])]
    lines = [",".join([*(f"{v:.4g}" for v in row), str(target)]) for row, target in zip(X, y)]
    path.write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")
    return str(path)


def fit(tmp_path, X, y, *options, names=None):
    table = written(tmp_path / "d.csv", X, y, names)
    return run(["fit", table, "--target", "y", "--model", str(tmp_path / "m.bvm"), "--starts", "2", *options])


@pytest.fixture
def iris():
    data = load_iris()
    return data.data[::3], np.asarray(data.target_names)[data.target[::3]]


def test_hyperparameters_stand_under_their_class(iris, tmp_path, capsys):
    assert fit(tmp_path, *iris, "--method", "variational-svc") in (0, 4)
    said = capsys.readouterr().out
    head = next(line for line in said.splitlines() if line.startswith("hyperparameter"))
    assert re.split(r"\s{2,}", head) == ["hyperparameter", "of setosa", "of versicolor", "of virginica"]
    assert "summed over 3 classes" in said
    assert run(["inspect", str(tmp_path / "m.bvm")]) == 0
    assert "of versicolor" in capsys.readouterr().out
    assert run(["inspect", str(tmp_path / "m.bvm"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert all(set(row["values"]) == {"setosa", "versicolor", "virginica"} for row in facts["hyperparameters"])


def test_a_report_of_a_model_file_has_the_largest_relevances_first(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 24))
    names = [f"{chr(97 + j)}" for j in range(24)]
    y = np.where(X[:, 23] + 0.2 * rng.normal(size=80) > 0.0, "up", "down")
    assert fit(tmp_path, X, y, "--ard", names=names) in (0, 4)
    out = tmp_path / "r.html"
    assert run(["report", str(tmp_path / "m.bvm"), "--out", str(out), "-q"]) == 0
    shown = re.findall(r'<span class="name">([^<]*)</span>', out.read_text())
    assert shown[0] == "x"  # the last in the alphabet, and the one that matters
    assert len(shown) == 20


def test_switched_off_features_are_one_line_and_no_warning(tmp_path, capsys):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 8))
    assert fit(tmp_path, X, X[:, 0] + 0.1 * rng.normal(size=150), "--ard", "--json") in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert sum("features are switched off" in line for line in found["remarks"]) == 1
    assert not any("bound" in line for line in found["warnings"])


def test_noise_ends_with_a_word(tmp_path, capsys):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.choice(["up", "down"], 80)
    assert fit(tmp_path, X, y, "--json") in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["good"] is False
    assert any("no better than always guessing" in line for line in found["warnings"])
    assert fit(tmp_path, X, y, "--force") in (0, 4)
    assert "No better than always guessing" in capsys.readouterr().out


def test_support_vectors_are_told_with_the_rows(iris, tmp_path, capsys):
    assert fit(tmp_path, *iris) in (0, 4)
    assert re.search(r"\d+ support vectors of 50 rows", capsys.readouterr().out)


def test_pixels_lead_to_an_option_that_exists(tmp_path, capsys):
    digits = load_digits(n_class=2)
    X, y = digits.data[:60], digits.target[:60]
    assert fit(tmp_path, X, y, "--json", "--fast") in (0, 4)
    assert any("--no-standardize" in line for line in json.loads(capsys.readouterr().out)["warnings"])
    assert fit(tmp_path, X, y, "--json", "--fast", "--no-standardize", "--force") in (0, 4)
    assert not any("standard" in line for line in json.loads(capsys.readouterr().out)["warnings"])


def test_a_test_set_is_judged_against_guessing_what_was_trained_on(tmp_path, capsys):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0.3, "up", "down")
    assert fit(tmp_path, X, y, "-q") in (0, 4)
    ups = written(tmp_path / "t.csv", X[y == "up"], y[y == "up"])
    out = tmp_path / "r.html"
    assert run(["report", str(tmp_path / "m.bvm"), "--test", ups, "--out", str(out)]) == 0
    assert "always guessing down (100.0%)" in out.read_text()
    assert "error rate: " in capsys.readouterr().out


def test_machines_without_leave_one_out_are_said_to_be_judged_by_folds(tmp_path, capsys):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    table = written(tmp_path / "d.csv", X, X[:, 0] + 0.1 * rng.normal(size=40))
    assert run(["fit", table, "--target", "y", "--model", str(tmp_path / "m.bvm"), "--method", "rvr"]) in (0, 4)
    found = capsys.readouterr()
    assert "judged by 5 fits to parts of the rows" in found.err
    assert "5-fold cross-validation" in found.out
