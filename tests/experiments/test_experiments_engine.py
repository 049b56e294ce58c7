"""The engine: what is finished is kept, what is missing is named, and differences are in standard errors."""

from __future__ import annotations

import csv
import io
import math
import os

import numpy as np
import pytest
from scipy.stats import ttest_rel

pytest.importorskip("bayesvm.experiments", reason="the experiments are part of the source, not of the wheel")

from bayesvm.experiments import Case, Column, Experiment, Options, Published, Source, Table, run
from bayesvm.experiments.measures import calibration_error, classification
from bayesvm.experiments.store import Store
from bayesvm.experiments.summary import HEAD, as_csv, as_markdown, summarise


def noted(params, seed, source):
    """Return numbers that depend on case and seed, and leave a note that it ran."""
    with open(params["notes"], "a") as file:
        file.write(f"{params['shift']} {seed}\n")
    if params.get("fails_at") == seed:
        raise RuntimeError("power cut")
    value = float(np.random.default_rng(seed).normal()) + params["shift"]
    return {"value": value, "parts": {"a": value, "b": None}, "array": np.arange(3), "count": np.int64(seed)}


def experiment(tmp_path, **more):
    cases = tuple(
        Case(name, {"notes": str(tmp_path / "notes"), "shift": shift, **more}, units=4, needs=needs)
        for name, shift, needs in (("one", 0.0, ()), ("one (rival)", 0.5, ()), ("other", 1.0, ("absent",)))
    )
    columns = (
        Column("value", "value", 3, {"one": Published(0.1, 1.0, runs=25), "other": Published(1.0)}, better="lower"),
        Column("value", "gap", 3, against=" (rival)"),
        Column("parts.a", "part", 3),
        Column("parts.b", "nothing", 3),
    )
    return Experiment("test-it", "Test2000 Table 1", "a test", cases, noted, (Table("main", "All", columns),))


def options(tmp_path, **more):
    return Options(tmp_path / "out", Source(None), **more)


def calls(tmp_path):
    notes = tmp_path / "notes"
    return notes.read_text().splitlines() if notes.exists() else []


def test_units_are_kept_and_only_missing_ones_are_run(tmp_path):
    first = run(experiment(tmp_path), options(tmp_path, partitions=2))
    assert len(calls(tmp_path)) == 4
    again = run(experiment(tmp_path), options(tmp_path, partitions=2))
    assert len(calls(tmp_path)) == 4
    assert again.found == first.found
    more = run(experiment(tmp_path), options(tmp_path))
    assert len(calls(tmp_path)) == 8
    assert [unit["seed"] for unit in more.found["one"]] == [0, 1, 2, 3]


def test_an_interrupted_run_continues(tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        run(experiment(tmp_path, fails_at=2), options(tmp_path))
    kept = list(Store(tmp_path / "out" / "test-it" / "units.jsonl").units())
    assert [(unit["case"], unit["seed"]) for unit in kept] == [("one", 0), ("one", 1)]


def test_other_settings_are_other_units(tmp_path):
    run(experiment(tmp_path), options(tmp_path, partitions=1))
    run(experiment(tmp_path, extra=3), options(tmp_path, partitions=1))
    assert len(calls(tmp_path)) == 4


def test_a_line_that_was_cut_off_is_passed_over(tmp_path):
    store = Store(tmp_path / "units.jsonl")
    store.append("a", 0, {}, 1.0, {"x": 1.0})
    with store.path.open("a") as file:
        file.write('{"case": "a", "seed": 1, "sett')
    store.append("a", 2, {}, 1.0, {"x": 3.0})
    assert store.finished("a", {}) == {0: {"x": 1.0}, 2: {"x": 3.0}}


def test_parallel_and_serial_agree(tmp_path):
    serial = run(experiment(tmp_path), options(tmp_path)).found
    parallel = run(experiment(tmp_path), Options(tmp_path / "two", Source(None), None, 2)).found
    assert serial == parallel


def test_missing_data_is_named_and_the_rest_runs(tmp_path):
    said = []
    outcome = run(experiment(tmp_path), options(tmp_path, partitions=2), said.append)
    assert outcome.skipped == {"other": ["absent.npz"]}
    assert "test-it: other skipped, missing absent.npz" in said
    assert "missing absent.npz" in outcome.markdown
    assert list(outcome.found) == ["one", "one (rival)"]
    assert all(path.is_file() for path in outcome.files)


def test_differences_are_in_standard_errors_and_paired_ones_are_a_t_test(tmp_path):
    outcome = run(experiment(tmp_path), options(tmp_path))
    lines = {(line.case, line.head): line for line in summarise(outcome.experiment.tables[0], outcome.found)}
    values = np.array([unit["value"] for unit in outcome.found["one"]])
    line = lines["one", "value"]
    error = values.std(ddof=1) / 2.0
    assert line.mean == pytest.approx(values.mean())
    assert line.deviation == pytest.approx((values.mean() - 0.1) / math.hypot(error, 0.2))
    gap = lines["one", "gap"]
    assert gap.mean == pytest.approx(-0.5)
    assert gap.units == 4
    assert lines["one", "part"].mean == pytest.approx(values.mean())
    assert ("one", "nothing") not in lines
    assert ("one (rival)", "gap") not in lines


@pytest.mark.parametrize(
    ("paper", "deviation"),
    [
        (Published(1.0, runs=1), (2.0 - 1.0) / math.hypot(1.0 / math.sqrt(3.0), 1.0)),  # one run, as scattered as ours
        (Published(1.0, runs=4), (2.0 - 1.0) / math.hypot(1.0 / math.sqrt(3.0), 0.5)),
        (Published(1.0), math.sqrt(3.0)),
        (Published(1.0, 3.0, runs=9), (2.0 - 1.0) / math.hypot(1.0 / math.sqrt(3.0), 1.0)),
    ],
)
def test_a_paper_without_a_spread_is_taken_to_scatter_as_ours(paper, deviation):
    found = {"x": [{"v": v, "seed": i} for i, v in enumerate([1.0, 2.0, 3.0])]}
    (line,) = summarise(Table("t", "t", (Column("v", "v", published={"x": paper}),), ("x",)), found)
    assert line.deviation == pytest.approx(deviation)


def test_equal_numbers_have_no_difference_in_standard_errors():
    """The mean of equal numbers is off by rounding, and must not pass for a standard error."""
    found = {"x": [{"v": 0.1, "seed": i} for i in range(7)]}
    (line,) = summarise(Table("t", "t", (Column("v", "v", published={"x": Published(0.2)}),), ("x",)), found)
    assert line.mean == 0.1
    assert line.error == 0.0
    assert math.isnan(line.deviation)
    assert line.verdict == ""


def test_the_t_test_of_a_paired_column_is_scipys():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=12), rng.normal(size=12) + 0.4
    found = {"x": [{"v": v, "seed": i} for i, v in enumerate(a)], "x!": [{"v": v, "seed": i} for i, v in enumerate(b)]}
    (line,) = summarise(Table("t", "t", (Column("v", "v", against="!"),), ("x",)), found)
    assert line.probability == pytest.approx(ttest_rel(a, b).pvalue)


@pytest.mark.parametrize(
    ("ours", "better", "verdict"),
    [
        (0.0, "lower", "equal"),
        (-5.0, "lower", "better"),
        (5.0, "lower", "worse"),
        (5.0, "higher", "better"),
        (5.0, None, "differs"),
    ],
)
def test_verdicts(ours, better, verdict):
    found = {"c": [{"v": ours + shift, "seed": i} for i, shift in enumerate((-0.5, 0.5, 0.0))]}
    (line,) = summarise(
        Table("t", "t", (Column("v", "v", 2, {"c": Published(0.0, 1.0, runs=4)}, better=better),)), found
    )
    assert line.verdict == verdict


def test_a_single_run_of_a_paper_is_taken_to_scatter_as_ours():
    found = {"c": [{"v": v, "seed": i} for i, v in enumerate((1.0, 2.0, 3.0, 4.0))]}
    (line,) = summarise(Table("t", "t", (Column("v", "v", 2, {"c": Published(0.0, runs=1)}),)), found)
    spread = np.std([1, 2, 3, 4], ddof=1)
    assert line.deviation == pytest.approx(2.5 / (spread * math.sqrt(1.25)))


def test_tables_for_people_and_machines():
    found = {"c": [{"v": 1.0, "w": 2.0, "seed": 0}, {"v": 2.0, "w": 2.0, "seed": 1}]}
    table = Table(
        "t", "Title", (Column("v", "v", 2, {"c": Published(1.0, 1.0, runs=4)}), Column("w", "w", 1)), note="A note."
    )
    lines = summarise(table, found)
    text = as_markdown(table, lines)
    assert "| c | 1.50 ± 0.50 | 1.00 ± 0.50 | +0.7 equal | 2.0 ± 0.0 |" in text
    assert text.endswith("A note.\n")
    turned = as_markdown(Table("t", "Title", table.columns, transposed=True), lines)
    assert "| v | 1.50 ± 0.50 |" in turned
    rows = list(csv.reader(io.StringIO(as_csv(lines))))
    assert tuple(rows[0]) == HEAD
    assert len(rows) == 3


def test_calibration_error_of_perfect_and_of_constant_probabilities():
    assert calibration_error(np.array([0.0, 1.0, 1.0]), [False, True, True]) == 0.0
    assert calibration_error(np.full(10, 0.9), np.arange(10) < 5) == pytest.approx(0.4)


def test_classification_measures_agree_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.0, 1, -1)
    machine = LogisticRegression()
    found = classification(machine, X[:50], y[:50], X[50:], y[50:])
    assert found["nll"] == pytest.approx(log_loss(y[50:], machine.predict_proba(X[50:])))
    assert found["error"] == pytest.approx(100.0 * (1.0 - machine.score(X[50:], y[50:])))
    assert "vectors" not in found


def test_the_source_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("BAYESVM_DATA", str(tmp_path))
    assert Source.of(None).directory == tmp_path
    monkeypatch.delenv("BAYESVM_DATA")
    assert Source.of(None).directory is None
    assert Source.of(os.fspath(tmp_path)).missing(["a"]) == ["a.npz"]
