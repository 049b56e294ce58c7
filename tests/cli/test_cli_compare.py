"""``bayesvm compare``: our machines beside what they must beat, on the same folds, with a plain verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from bayesvm.cli import baselines
from bayesvm.cli.app import run
from bayesvm.cli.comparison import Judged, _verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table of two classes, and one of a number."""
    path = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    f = X[:, 0] + np.sin(2.0 * X[:, 1])
    for name, cells in (("label", np.where(f > 0.0, "up", "down")), ("value", np.round(f + 0.1, 4))):
        lines = [f"{a:.3f},{b:.3f},{cell}" for (a, b), cell in zip(X, cells)]
        (path / f"{name}.csv").write_text("\n".join([f"a,b,{name}", *lines]) + "\n")
    return path


@pytest.fixture(autouse=True)
def small_grid(monkeypatch):
    monkeypatch.setattr(baselines, "GRID", {"C": np.array([1.0, 10.0]), "gamma": np.array([0.1, 1.0])})


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("label", {"bayesian-svc", "majority", "logistic", "tuned-svc", "boosting"}),
        ("value", {"bayesian-svr", "mean", "ridge", "tuned-svr", "boosting"}),
    ],
)
def test_by_default_the_usual_method_is_compared_with_baselines(folder, capsys, target, names):
    arguments = ["compare", str(folder / f"{target}.csv"), "--target", target, "--folds", "2", "--starts", "1"]
    assert run([*arguments, "--json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["method"] for row in found["methods"]} == names
    assert found["methods"][0]["difference"] == [0.0, 0.0]
    assert all(row["difference"][0] >= 0.0 for row in found["methods"])
    assert found["methods"][-1]["method"] in ("majority", "mean", "boosting")
    assert found["verdict"].startswith(f"{found['methods'][0]['method']} has the smallest")
    assert found["log_evidence"] == found["log_model_evidence"] == {}


def test_evidences_are_shown_only_where_they_can_be_compared(folder, capsys):
    arguments = [
        "compare",
        str(folder / "label.csv"),
        "--target",
        "label",
        "--folds",
        "2",
        "--starts",
        "1",
    ]
    assert run([*arguments, "--methods", "bayesian-svc,gpc,ls-svc"]) == 0
    said = capsys.readouterr().out
    table, evidence = said.split("Log evidence of all rows, for the methods of which it can be compared")
    assert "evidence" not in table
    assert "log model evidence" in evidence
    assert "bayesian-svc" in evidence
    assert "gpc" in evidence
    assert "ls-svc" not in evidence
    assert max(len(line) for line in table.splitlines() if line.startswith("bayesian-svc")) < 120


def test_columns_are_spoken_of_once(folder, tmp_path, capsys):
    lines = (folder / "label.csv").read_text().splitlines()
    path = tmp_path / "d.csv"
    path.write_text("\n".join([f"id,{lines[0]}", *(f"{i},{line}" for i, line in enumerate(lines[1:]))]) + "\n")
    arguments = ["compare", str(path), "--target", "label", "--folds", "2", "--starts", "1"]
    assert run([*arguments, "--methods", "ls-svc"]) == 0
    assert capsys.readouterr().err.count("it counts the rows and was left out") == 1


def test_the_verdict_is_plain():
    n = 100
    noise = np.random.default_rng(0).normal(size=n)
    rows = [
        Judged(name, {}, losses, 1.0) for name, losses in (("a", np.zeros(n)), ("b", 0.01 * noise), ("c", 1.0 + noise))
    ]
    differences = [(0.0, 0.0), (0.0, 0.001), (1.0, 0.1)]
    assert _verdict(rows, differences, "classification") == (
        "a has the smallest NLL; b cannot be told apart from it on these rows; c is clearly worse"
    )
    assert "alone" in _verdict(rows[:1], differences[:1], "classification")
