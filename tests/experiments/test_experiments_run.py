"""Every experiment runs in its smallest setting, on stand-ins for the data files, and leaves tables and a picture."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("bayesvm.experiments", reason="the experiments are part of the source, not of the wheel")

from bayesvm.experiments import EXPERIMENTS, Options, Source, find, run
from bayesvm.models.chosen_process import ChosenProcess


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with small files in the form of the real ones; most sets are absent."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)

    def classes(name, d, partitions=None, k=2):
        X = rng.normal(size=(120, d))
        y = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0.0, 1, -1)
        if k > 2:
            y = rng.permutation(np.arange(120) % k)
            X[:, 0] += y
        arrays = {"X": X, "y": y}
        if partitions:
            rows = np.array([rng.permutation(120) for _ in range(partitions)])
            arrays |= {"train": rows[:, :70], "test": rows[:, 70:]}
        np.savez(folder / f"{name}.npz", **arrays)

    classes("ida_banana", 2, 2)
    classes("ida_waveform", 3, 2)
    classes("cra", 6)
    classes("pima_ripley", 3, 1)
    classes("rsy", 2, 1)
    classes("usps", 8, 1, 10)
    X = rng.normal(size=(60, 13))
    np.savez(folder / "boston.npz", X=X, y=X[:, 0] + 0.1 * rng.normal(size=60))
    return folder


def thinned(experiment, source):
    """Return the experiment with a few of the cases that can run, so that no table is empty, and those that cannot."""
    able = [case.name for case in experiment.cases if not source.missing(case.needs)]
    some = {*able[:: max(1, len(able) // 4)], *(c.name for c in experiment.cases if c.name not in able)}
    for table in experiment.tables:
        some |= set([name for name in able if name in (table.cases or able)][:2])
    return dataclasses.replace(experiment, cases=tuple(case for case in experiment.cases if case.name in some))


#: Experiments that take longest even in their smallest setting; others of the same papers and machines stay.
LONG = ("chu2003-figure4", "sollich1999-figure2", "thesis-figure4.2")


def parameter(experiment):
    return pytest.param(experiment, id=experiment.name, marks=pytest.mark.slow if experiment.name in LONG else ())


@pytest.mark.parametrize("experiment", [parameter(experiment) for experiment in EXPERIMENTS])
def test_every_experiment_runs_in_its_smallest_setting(experiment, data, tmp_path, monkeypatch):
    def chosen(*_):
        raise AssertionError("a machine chose its kernel or noise: those of the papers are given")

    monkeypatch.setattr(ChosenProcess, "model", chosen)
    said = []
    experiment = thinned(experiment, Source.of(data))
    outcome = run(experiment, Options(tmp_path, Source.of(data), 1, 1, quick=True), said.append)
    expected = [case.name for case in experiment.cases if case.name not in outcome.skipped]
    assert list(outcome.found) == expected
    assert expected, "no case ran: the stand-ins lack a file"
    for name, files in outcome.skipped.items():
        assert any(name in line and files[0] in line for line in said)
    for table in experiment.tables:
        with open(tmp_path / experiment.name / f"{table.name}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows, f"{table.name} is empty"
        assert all(np.isfinite(float(row["ours"])) for row in rows)
    assert (tmp_path / experiment.name / f"{experiment.name}.png").stat().st_size > 5000
    assert outcome.markdown.startswith(f"## {experiment.reference}")
    assert any("left" in line for line in said)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_number_of_a_paper_belongs_to_a_case(experiment):
    names = {case.name for case in experiment.cases}
    for table in experiment.tables:
        assert set(table.cases or ()) <= names
        for column in table.columns:
            assert set(column.published) <= names
            assert column.better in (None, "lower", "higher")


def test_names_are_unique_and_findable():
    names = [name for e in EXPERIMENTS for name in (e.name, *e.also)]
    assert len(set(names)) == len(names)
    for e in EXPERIMENTS:
        assert all(find([name]) == [e] for name in (e.name, *e.also))
    assert {e.name for e in find(["thesis"])} == {e.name for e in EXPERIMENTS if e.name.startswith("thesis-")}
    assert find() == list(EXPERIMENTS)
    with pytest.raises(ValueError, match="no experiment 'nonsense'; there are chu2003-table1"):
        find(["nonsense"])


def test_the_promised_tables_and_figures_are_there():
    promised = [f"chu2003-table{i}" for i in range(1, 6)] + [f"chu2003-figure{i}" for i in range(1, 6)]
    promised += [f"thesis-table4.{i}" for i in range(3, 11)] + ["thesis-tableH.1"]
    promised += [f"thesis-figure{f}" for f in ("2.3", "2.4", "2.5", "3.6", "3.7", "3.8", "3.9", "4.1", "4.2", "4.3")]
    promised += [f"thesis-figureA.{i}" for i in range(1, 5)]
    promised += ["seeger1999-table1", "vangestel2002-table1", "vangestel2002-figure2", "vangestel2002-figure3"]
    promised += ["vangestel2002-section7.1", "sollich1999-figure1", "sollich1999-figure2"]
    for name in promised:
        assert len(find([name])) == 1


def test_the_command_runs_lists_and_refuses(data, tmp_path, capsys):
    pytest.importorskip("typer")
    from bayesvm.cli.app import run as command

    assert command(["reproduce", "--list"]) == 0
    assert "chu2003-table4" in capsys.readouterr().out
    out = str(tmp_path / "out")
    names = ["chu2003-figure1", "thesis-figuresA"]
    assert command(["reproduce", *names, "--data", str(data), "--quick", "--out", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [part["name"] for part in report["experiments"]] == names
    assert all(part["files"] for part in report["experiments"])
    assert command(["reproduce", "nonsense", "--out", out]) == 2
    assert "no experiment 'nonsense'" in capsys.readouterr().err
    assert command(["reproduce", "thesis-tableH.1", "--data", str(tmp_path), "--out", out]) == 0
    assert "missing usps.npz" in capsys.readouterr().err


def test_the_excess_of_table_2_is_that_over_the_optimal_classifier():
    (experiment,) = find(["chu2003-table2"])
    sizes = {"n": 60, "m": 4000, "size": 2}
    optimal, other = (
        experiment.run({"method": method, **sizes}, 1, Source(None)) for method in ("optimal", "Bayes, estimated")
    )
    assert optimal["excess"] == pytest.approx(0.0, abs=1e-6)
    assert other["excess"] == pytest.approx(other["nll"] - optimal["nll"])
    assert other["excess"] > 0.0


def test_table_3_fits_with_the_mean_of_the_first_partitions_and_reports_their_own(data, monkeypatch):
    import bayesvm.experiments.chu2003_table3 as table3

    kernels = []
    plain = table3.classification
    monkeypatch.setattr(table3, "classification", lambda m, *rest: (kernels.append(m.kernel), plain(m, *rest))[1])
    params, source = {"data": "banana", "rows": 40, "first": 2}, Source.of(data)
    found = [table3.run(params, seed, source) for seed in range(2)]
    for kernel in kernels:
        variance, scale, bias = np.exp(kernel.theta)
        means = [np.mean([unit[key] for unit in found]) for key in table3.KEYS]
        np.testing.assert_allclose([variance, scale**-2.0, bias], means)
    assert table3.KEYS[0] not in table3.run({**params, "first": 1}, 1, source)
