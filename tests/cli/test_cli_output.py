"""What commands write and where: nothing is overwritten or spoilt, formats are what names say, errors are JSON too."""

from __future__ import annotations

import csv
import errno
import inspect
import io
import json
import os
import stat
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from model_zoo import data, fitted
from sklearn.pipeline import make_pipeline

pytest.importorskip("typer")

import typer

import bayesvm
from bayesvm import BayesianSVC
from bayesvm.cli import fitting, output
from bayesvm.cli.app import run
from bayesvm.cli.prediction_files import is_formula, write_predictions
from bayesvm.persistence import load, save
from bayesvm.report import collect_facts
from bayesvm.tables import TableEncoder

#: Whether commands that may be meant are named by Typer (since 0.20).
SUGGESTS = "suggest_commands" in inspect.signature(typer.Typer).parameters


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and a model of it."""
    path = tmp_path_factory.mktemp("output")
    X, y, _ = data(24)
    columns = {"a": X[:, 0], "b": X[:, 1]}
    model = fitted(make_pipeline(TableEncoder(), BayesianSVC(n_starts=1, max_evaluations=5)), columns, y)
    save(model, path / "m.bvm", info={"facts": collect_facts(model, columns, y)})
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X.round(3), y)]
    (path / "d.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def fit_arguments(folder, model, *options):
    return ["fit", str(folder / "d.csv"), "--target", "y", "--model", str(model), "--method", "ls-svc", "-q", *options]


def predict_arguments(folder, out, *options):
    return ["predict", str(folder / "m.bvm"), str(folder / "d.csv"), "--out", str(out), "-q", *options]


# -- F13: nothing is overwritten --------------------------------------------------------------------------------------
def test_nothing_is_overwritten_without_force(folder, tmp_path, capsys):
    kept = tmp_path / "kept"
    kept.write_text("precious")
    commands = [
        fit_arguments(folder, kept),
        fit_arguments(folder, tmp_path / "new.bvm", "--report", str(kept)),
        ["report", str(folder / "m.bvm"), "--out", str(kept)],
    ]
    for arguments in commands:
        assert run(arguments) == 2
        assert f"{kept}: exists already; say --force to replace it" in capsys.readouterr().err
        assert kept.read_text() == "precious"
    csv_file = tmp_path / "kept.csv"
    csv_file.write_text("precious")
    assert run(predict_arguments(folder, csv_file)) == 2
    assert csv_file.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "kept.csv"]
    assert run(predict_arguments(folder, csv_file, "--force")) == 0
    assert csv_file.read_text().startswith("prediction,")
    assert run(fit_arguments(folder, kept, "-f")) in (0, 4)
    load(kept)


def test_the_demo_overwrites_nothing_without_force(tmp_path, capsys):
    (tmp_path / "report.html").write_text("precious")
    assert run(["demo", "--out", str(tmp_path)]) == 2
    assert "report.html: exists already" in capsys.readouterr().err


# -- links, devices, a full disk --------------------------------------------------------------------------------------
@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_are_followed(folder, tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    link.symlink_to(target)  # to a file that does not exist yet
    for options in ((), ("--force",)):
        assert run(predict_arguments(folder, link, *options)) == 0
        assert link.is_symlink()
        assert target.read_text().startswith("prediction,")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_and_devices_are_written_to_and_not_replaced(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(predict_arguments(folder, pipe)) == 0
        assert stat.S_ISFIFO(os.stat(pipe).st_mode)
        assert os.read(reader, 100).startswith(b"prediction,")
    finally:
        os.close(reader)


def test_a_full_disk_is_no_mistake_of_the_caller(folder, tmp_path, capsys, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert run([*predict_arguments(folder, tmp_path / "p.csv"), "--json"]) == 1
    found = capsys.readouterr()
    assert f"{tmp_path / 'p.csv'}: cannot be written (No space left on device)" in found.err
    assert json.loads(found.out)["error"]["kind"] == "failed"
    assert list(tmp_path.iterdir()) == []


# -- B12: formats -----------------------------------------------------------------------------------------------------
def test_a_workbook_is_a_workbook(folder, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    out = tmp_path / "p.xlsx"
    assert run(predict_arguments(folder, out)) == 0
    rows = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
    assert rows[0] == ("prediction", "P(no)", "P(yes)")
    assert len(rows) == 25
    assert isinstance(rows[1][1], float)


def test_json_lines_are_json_lines(folder, tmp_path):
    out = tmp_path / "p.jsonl"
    assert run(predict_arguments(folder, out)) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(records) == 24
    assert records[0].keys() == {"prediction", "P(no)", "P(yes)"}


@pytest.mark.parametrize("name", ["p.xls", "p.csv.gz", "p", "p.txt"])
def test_names_that_tell_no_format_are_refused(folder, tmp_path, capsys, name):
    assert run(predict_arguments(folder, tmp_path / name)) == 2
    assert "expected a name that ends in .csv, .tsv, .jsonl, .parquet, .xlsx" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# -- text that spreadsheets run ---------------------------------------------------------------------------------------
HOSTILE = '=HYPERLINK("http://example.org")'


def test_formulas_are_made_harmless(tmp_path):
    columns = {"=id": np.array([HOSTILE, "+1", "-x"], dtype=object), "value": np.array([-1.5, 2.0, 3.0])}
    write_predictions(columns, str(tmp_path / "p.csv"))
    rows = list(csv.reader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert rows == [["'=id", "value"], [f"'{HOSTILE}", "-1.5"], ["+1", "2"], ["'-x", "3"]]
    write_predictions(columns, str(tmp_path / "q.csv"), escape=False)
    assert list(csv.reader(io.StringIO((tmp_path / "q.csv").read_text())))[1][0] == HOSTILE


def test_formulas_are_text_in_workbooks(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    write_predictions({"label": np.array([HOSTILE], dtype=object)}, str(tmp_path / "p.xlsx"))
    cell = openpyxl.load_workbook(tmp_path / "p.xlsx").active["A2"]
    assert (cell.data_type, cell.value) == ("s", HOSTILE)


@pytest.mark.parametrize(
    ("text", "expected"), [("=1+1", True), ("@x", True), ("\tx", True), ("-3.5", False), ("a=b", False)]
)
def test_what_a_formula_is(text, expected):
    assert is_formula(text) is expected


def test_labels_of_predictions_are_escaped_unless_told_not_to(tmp_path, capsys):
    rows = "\n".join(f"{i},{HOSTILE[:3] if i % 2 else 'plain'}" for i in range(30))
    (tmp_path / "d.csv").write_text(f"a,y\n{rows}\n")
    arguments = ["fit", str(tmp_path / "d.csv"), "--target", "y", "--model", str(tmp_path / "m.bvm")]
    assert run([*arguments, "--method", "ls-svc", "-q"]) in (0, 4)
    for options, words in (((), "'=HY"), (("--no-escape",), "=HY")):
        assert run(["predict", str(tmp_path / "m.bvm"), str(tmp_path / "d.csv"), "-q", *options]) == 0
        labels = {row["prediction"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
        assert labels <= {words, "plain"}
        assert words in labels


# -- F12: JSON --------------------------------------------------------------------------------------------------------
def test_predictions_are_json_by_default(folder, capsys):
    assert run(["predict", str(folder / "m.bvm"), str(folder / "d.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == len(found["predictions"]) == 24
    assert found["predictions"][0]["prediction"] in ("yes", "no")
    assert found["predictions"][0]["P(yes)"] + found["predictions"][0]["P(no)"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "words"),
    [
        (["fit", "d.csv", "--json"], 2, "usage", "Missing option '--target'"),
        (
            ["fit", "d.csv", "--tarrget", "y", "--json"],
            2,
            "usage",
            "No such option: --tarrget (did you mean --target?)",
        ),
        (["ftt", "--json"], 2, "usage", "Did you mean 'fit'" if SUGGESTS else "No such command 'ftt'"),
        (["fit", "d.csv", "--target", "z", "--model", "x", "--json"], 3, "data", "no column 'z'"),
        (["predict", "absent.bvm", "d.csv", "--json"], 3, "data", "absent.bvm: cannot be read"),
        (["inspect", "d.csv", "--json"], 3, "data", "not a complete bayesvm model file"),
        (
            ["compare", "d.csv", "--target", "y", "--methods", "lss-svc", "--json"],
            2,
            "usage",
            "(did you mean 'ls-svc'?)",
        ),
        (
            ["compare", "d.csv", "--target", "y", "--task", "regresion", "--json"],
            2,
            "usage",
            "(did you mean 'regression'?)",
        ),
        (["predict", "m.bvm", "d.csv", "--format", "exel", "--json"], 2, "usage", "(did you mean 'excel'?)"),
        pytest.param(
            ["reproduce", "chu2003-tabel4", "--json"],
            2,
            "usage",
            "(did you mean 'chu2003-table4'?)",
            marks=pytest.mark.skipif(find_spec("bayesvm.experiments") is None, reason="no experiments in the wheel"),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_json_too_and_name_what_may_be_meant(folder, capsys, monkeypatch, arguments, code, kind, words):
    monkeypatch.chdir(folder)
    assert run(arguments) == code
    found = capsys.readouterr()
    error = json.loads(found.out)["error"]
    assert (error["kind"], error["code"]) == (kind, code)
    assert words in error["message"]
    assert found.err == f"bayesvm: {error['message']}\n"


# -- faults of the library --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "fault", [TypeError("'NoneType' object is not callable"), KeyError("x"), ValueError("broadcast")]
)
def test_a_fault_of_the_library_is_not_called_bad_data(folder, tmp_path, capsys, monkeypatch, fault):
    def broken(*arguments, **options):
        raise fault

    monkeypatch.setattr(fitting, "collect_facts", broken)
    assert run([*fit_arguments(folder, tmp_path / "x.bvm"), "--json"]) == 1
    found = capsys.readouterr()
    assert "Traceback" in found.err
    assert "the data cannot be used" not in found.err
    assert "a fault of bayesvm, please report it" in json.loads(found.out)["error"]["message"]
    assert list(tmp_path.iterdir()) == []


def test_what_an_estimator_refuses_is_bad_data(folder, tmp_path, capsys, monkeypatch):
    def refuse(self, X, y, **options):
        raise ValueError("expected finite numbers, found none")

    monkeypatch.setattr(bayesvm.BayesianLSSVC, "fit", refuse)
    assert run(fit_arguments(folder, tmp_path / "x.bvm")) == 3
    assert capsys.readouterr().err == "bayesvm: the data cannot be used: expected finite numbers, found none\n"


def test_too_little_memory_is_said(folder, tmp_path, capsys, monkeypatch):
    def refuse(self, X, y, **options):
        raise MemoryError

    monkeypatch.setattr(bayesvm.BayesianLSSVC, "fit", refuse)
    assert run(fit_arguments(folder, tmp_path / "x.bvm")) == 3
    assert "not enough memory" in capsys.readouterr().err


def test_an_interrupt_before_a_result_is_said(folder, tmp_path, capsys, monkeypatch):
    def interrupted(self, X, y, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(bayesvm.BayesianLSSVC, "fit", interrupted)
    assert run([*fit_arguments(folder, tmp_path / "x.bvm"), "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "interrupted"
    assert output.check_output(str(tmp_path / "x.bvm"), force=False) is None


# -- F14: version, help, start ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told(capsys, option):
    assert run([option]) == 0
    assert capsys.readouterr().out == f"bayesvm {bayesvm.__version__}\n"


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], [], ["fit", "-h"]])
def test_help_is_given(capsys, arguments):
    assert run(arguments) == 0
    assert "Usage: bayesvm" in capsys.readouterr().out


def test_the_package_can_be_run():
    found = subprocess.run([sys.executable, "-m", "bayesvm", "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"bayesvm {bayesvm.__version__}\n"


def test_help_loads_neither_the_machines_nor_scikit_learn_nor_pandas():
    code = "import sys; from bayesvm.cli.app import run; run(['fit', '--help']); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"sklearn", "scipy", "numpy", "pandas", "bayesvm.estimators"} & set(found.stderr.split()) == set()


# -- B9: what is shown ------------------------------------------------------------------------------------------------
def test_relevances_are_shown_largest_first_and_what_is_left_out_is_counted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 15))
    y = np.where(X[:, 11] + 0.5 * X[:, 3] + 0.2 * rng.normal(size=50) > 0.0, "up", "down")
    lines = [",".join([*(f"{v:.3f}" for v in row), label]) for row, label in zip(X, y)]
    (tmp_path / "d.csv").write_text("\n".join([",".join([*(f"x{j}" for j in range(15)), "y"]), *lines]) + "\n")
    arguments = ["fit", str(tmp_path / "d.csv"), "--target", "y", "--model", str(tmp_path / "m.bvm"), "--starts", "1"]
    assert run([*arguments, "--ard"]) in (0, 4)
    lines = capsys.readouterr().out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.split() == ["feature", "relevance"])
    shown = [line.split() for line in lines[begin + 1 : begin + 13]]
    assert shown[0][0] == "x11"
    relevances = [float(value) for _, value in shown]
    assert relevances == sorted(relevances, reverse=True)
    assert lines[begin + 13].strip() == "and 3 more; 'bayesvm inspect' shows them all"
    assert run(["inspect", str(tmp_path / "m.bvm")]) == 0
    said = capsys.readouterr().out
    assert all(f"x{j} " in said for j in range(15))


def test_hyperparameters_that_are_left_out_are_counted(capsys):
    from bayesvm.cli.console import Reporter

    rows = [{"name": f"p{j}", "value": 1.0} for j in range(15)]
    fitting.show_learnt({"hyperparameters": rows, "relevance": None}, Reporter())
    assert capsys.readouterr().out.splitlines()[-1].strip() == "and 3 more; 'bayesvm inspect' shows them all"


def test_tables_are_never_cut(capsys):
    from bayesvm.cli.console import Reporter

    Reporter().table(["method", *(f"a long heading {j}" for j in range(9))], [["x" * 30, *["1.2345 ± 0.01"] * 9]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].count("a long heading") == 9
    assert lines[1].count("1.2345 ± 0.01") == 9
