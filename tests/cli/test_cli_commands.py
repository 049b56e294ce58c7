"""The commands: what they write, what they say, and how they end."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")

from bayesvm.cli.app import app, run
from bayesvm.cli.console import Reporter
from bayesvm.cli.demo import demo
from bayesvm.cli.methods import METHODS
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.persistence import load, read_info

pytestmark = pytest.mark.xdist_group("models of the command line")
COMMANDS = ("fit", "predict", "report", "compare", "inspect", "demo", "reproduce", "serve")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with data for both tasks, and a model of each."""
    path = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    n = 90
    a, b = rng.normal(size=n), rng.choice(["red", "blue"], n)
    f = a + 0.8 * (b == "red") + 0.3 * rng.normal(size=n)
    rows = [
        [
            f"id{i}",
            "" if i % 9 == 0 else f"{a[i]:.3f}",
            "NA" if i % 11 == 0 else b[i],
            7,
            "up" if f[i] > 0.4 else "down",
            f"{f[i]:.4f}",
            1 + i % 2,
        ]
        for i in range(n)
    ]
    head = ["id", "size", "colour", "same", "label", "value", "weight"]
    for name, part in (("train.csv", rows[:60]), ("test.csv", rows[60:])):
        with open(path / name, "w", newline="") as out:
            csv.writer(out).writerows([head, *part])
    assert (
        run(
            [
                *call(path, "fit", "train.csv"),
                "--target",
                "label",
                "--model",
                str(path / "label.bvm"),
                "--starts",
                "1",
                "-q",
            ]
        )
        == 0
    )
    assert (
        run(
            [
                *call(path, "fit", "train.csv"),
                "--target",
                "value",
                "--model",
                str(path / "value.bvm"),
                "--starts",
                "1",
                "-q",
            ]
        )
        == 0
    )
    return path


def call(folder, command, *files):
    return [command, *(str(folder / name) for name in files)]


def test_fit_says_what_it_did(folder, tmp_path, capsys):
    out = str(tmp_path / "m.bvm")
    code = run(
        [
            *call(folder, "fit", "train.csv"),
            "--target",
            "label",
            "--model",
            out,
            "--starts",
            "1",
            "--report",
            str(tmp_path / "r.html"),
        ]
    )
    said = capsys.readouterr()
    assert code == 0
    assert "task: classification (label holds text)" in said.err
    for text in (
        "id: left out",
        "size: 7 missing, replaced by the median",
        "colour: 3 categories",
        "same: left out",
        "log evidence",
    ):
        assert text in said.out
    assert "<section" in (tmp_path / "r.html").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.bvm", "r.html"]
    model = load(out)
    assert model[-1].feature_names_in_.tolist()[0] == "size"


def test_the_task_is_guessed_and_stated(folder):
    assert read_info(folder / "value.bvm")["facts"]["task"] == "regression"
    assert read_info(folder / "label.bvm")["facts"]["task"] == "classification"


def test_json_is_one_object(folder, tmp_path, capsys):
    code = run(
        [
            *call(folder, "fit", "train.csv"),
            "--target",
            "label",
            "--model",
            str(tmp_path / "m.bvm"),
            "--starts",
            "1",
            "--json",
            "-q",
        ]
    )
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert code == 0
    assert result["converged"] is True
    assert said.err == ""
    assert run(["inspect", str(tmp_path / "m.bvm"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["method"] == "bayesian-svc"


def test_quiet_says_nothing(folder, tmp_path, capsys):
    assert run([*call(folder, "predict", "label.bvm", "test.csv"), "--out", str(tmp_path / "p.csv"), "--quiet"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_predict_labels_and_probabilities(folder, tmp_path):
    out = tmp_path / "p.csv"
    assert run([*call(folder, "predict", "label.bvm", "test.csv"), "--out", str(out)]) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 30
    for row in rows:
        down, up = float(row["P(down)"]), float(row["P(up)"])
        assert down + up == pytest.approx(1.0)
        assert row["prediction"] == ("up" if up > down else "down")


def test_predict_means_and_intervals(folder, capsys):
    assert run([*call(folder, "predict", "value.bvm", "test.csv"), "--confidence", "0.5"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 30
    assert all(float(row["lower"]) < float(row["prediction"]) < float(row["upper"]) for row in rows)
    assert all(float(row["upper"]) - float(row["prediction"]) < float(row["std"]) for row in rows)  # half, not 95 %


def test_parquet_in_and_out(folder, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "size": [0.5, None],
        "colour": ["red", "green"],
        "id": ["a", "b"],
        "same": [1, 1],
        "value": [0, 1],
        "weight": [1, 1],
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    assert (
        run(
            [
                "predict",
                str(folder / "label.bvm"),
                str(tmp_path / "x.parquet"),
                "--out",
                str(tmp_path / "p.parquet"),
                "-q",
            ]
        )
        == 0
    )
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 2


def test_pipes(folder, monkeypatch, capsysbinary):
    content = (folder / "train.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["fit", "-", "--target", "label", "--model", "-", "--starts", "1", "--fast", "-q"]) == 0
    model = capsysbinary.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(model)))
    assert run(["predict", "-", str(folder / "test.csv"), "-q"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"prediction,P(down),P(up)\n")


def test_report_with_test_data(folder, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert run([*call(folder, "report", "label.bvm"), "--test", str(folder / "test.csv"), "--out", str(out)]) == 0
    assert "test data test.csv" in out.read_text()
    assert "error rate" in capsys.readouterr().out
    assert run([*call(folder, "report", "value.bvm"), "--test", str(folder / "test.csv"), "--out", "-", "-q"]) == 0
    assert "Residuals against predictions" in capsys.readouterr().out


def test_compare(folder, capsys):
    code = run(
        [
            *call(folder, "compare", "train.csv"),
            "--target",
            "label",
            "--methods",
            "bayesian-svc,ls-svc",
            "--folds",
            "2",
            "--starts",
            "1",
            "--json",
            "-q",
        ]
    )
    rows = json.loads(capsys.readouterr().out)["methods"]
    assert code == 0
    assert {row["method"] for row in rows} == {"bayesian-svc", "ls-svc"}
    losses = [row["figures"]["negative log-likelihood [nats]"][0] for row in rows]
    assert losses == sorted(losses)


def test_kernel_weights_and_other_options(folder, tmp_path):
    arguments = [*call(folder, "fit", "train.csv"), "--target", "5", "--model", str(tmp_path / "m.bvm"), "-q"]
    assert (
        run(
            [
                *arguments,
                "--kernel",
                "gaussian(ard) + linear.on(size) + constant",
                "--weights",
                "weight",
                "--jobs",
                "1",
                "--starts",
                "1",
            ]
        )
        == 0
    )
    model = load(tmp_path / "m.bvm")[-1]
    assert model.relevance_ is not None
    assert "weight" not in model.feature_names_in_.tolist()


# -- how commands end -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 0, ""),
        (["fly"], 2, "No such command"),
        (["fit", "train.csv"], 2, "--target"),
        (["fit", "train.csv", "--target", "nothing", "--model", "m"], 3, "no column 'nothing'"),
        (["fit", "absent.csv", "--target", "label", "--model", "m"], 3, "absent.csv: cannot be read"),
        (["fit", "train.csv", "--target", "label", "--model", "no/such/folder/m"], 2, "folder that exists"),
        (["fit", "train.csv", "--target", "label", "--model", "m", "--method", "magic"], 2, "no method is called"),
        (
            ["fit", "train.csv", "--target", "label", "--model", "m", "--method", "bayesian-svr"],
            3,
            "row 2, column 'label': expected a number",
        ),
        (
            [
                "fit",
                "train.csv",
                "--target",
                "value",
                "--model",
                "m",
                "--task",
                "regression",
                "--method",
                "bayesian-svc",
            ],
            2,
            "is for classification",
        ),
        (["fit", "train.csv", "--target", "label", "--model", "m", "--kernel", "gauss"], 2, "no kernel is called"),
        (["fit", "train.csv", "--target", "label", "--model", "m", "--format", "xls"], 2, "format: expected one of"),
        (["fit", "train.csv", "--target", "label", "--model", "m", "--weights", "colour"], 3, "expected a weight"),
        (["fit", "train.csv", "--target", "label", "--model", "m", "--starts", "0"], 2, "--starts"),
        (["fit", "train.csv", "--target", "same", "--model", "m"], 3, "at least 2 classes"),
        (["fit", "train.csv", "--target", "label", "--model", "-", "--json"], 2, "choose one"),
        (["predict", "absent.bvm", "test.csv"], 3, "absent.bvm: cannot be read"),
        (["predict", "train.csv", "test.csv"], 3, "not a complete bayesvm model file"),
        (["predict", "label.bvm", "label.bvm"], 3, "label.bvm, row"),
        (["predict", "-", "-"], 2, "standard input"),
        (["predict", "value.bvm", "test.csv", "--confidence", "2"], 2, "between 0 and 1"),
        (["report", "train.csv"], 3, "not a complete"),
        (["compare", "train.csv", "--target", "label", "--methods", ","], 2, "at least one"),
        (["compare", "train.csv", "--target", "label", "--folds", "1000"], 2, "folds: expected"),
        (["inspect", "train.csv"], 3, "not a complete"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_have_a_code_and_a_message(folder, capsys, monkeypatch, arguments, code, message):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    found = run(arguments)
    said = capsys.readouterr()
    assert found == code or (arguments == [] and found in (0, 2))
    assert message in said.err.replace("\n", " ").replace("│", "")
    assert "Traceback" not in said.err
    assert sorted(os.listdir(folder)) == before


def test_bad_cells_are_named(folder, tmp_path, capsys):
    (tmp_path / "x.csv").write_text("id,size,colour,same\nx,1.5,red,7\ny,tall,red,7\n")
    assert run(["predict", str(folder / "label.bvm"), str(tmp_path / "x.csv")]) == 3
    assert "x.csv, row 3, column 'size': expected a number, found 'tall'" in capsys.readouterr().err


def test_methods_that_are_missing_say_so(folder, capsys, monkeypatch):
    from bayesvm.cli import methods

    ghost = methods.Method("ghost", "GhostSVC", "classification")
    monkeypatch.setattr(methods, "METHODS", (*METHODS, ghost))
    code = run(
        [*call(folder, "fit", "train.csv"), "--target", "label", "--model", str(folder / "x.bvm"), "--method", "ghost"]
    )
    assert code == 2
    assert (
        "ghost is not available in this release; available for classification: bayesian-svc" in capsys.readouterr().err
    )


def test_every_help_has_an_example(capsys):
    assert run(["--help"]) == 0
    assert "Example: bayesvm" in capsys.readouterr().out
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert names == set(COMMANDS)
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        assert f"Example: bayesvm {name}" in capsys.readouterr().out


def test_did_not_converge(folder, tmp_path, capsys, monkeypatch):
    from bayesvm import BayesianSVC

    keep = BayesianSVC.__init__

    def hasty(self, *args, **options):
        keep(self, *args, **options)
        self.max_evaluations = 1

    hasty.__signature__ = __import__("inspect").signature(keep)
    monkeypatch.setattr(BayesianSVC, "__init__", hasty)
    model = ["--model", str(tmp_path / "m.bvm")]
    code = run([*call(folder, "fit", "train.csv"), "--target", "label", *model, "--starts", "1", "--fast"])
    assert code == 4
    assert "did not converge; the model was saved" in capsys.readouterr().err
    assert load(tmp_path / "m.bvm")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_saves_the_best_so_far(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0, "a", "b")
    with open(tmp_path / "d.csv", "w", newline="") as out:
        csv.writer(out).writerows(
            [[*(f"x{j}" for j in range(8)), "y"], *([*row, label] for row, label in zip(X.tolist(), y))]
        )
    command = [
        sys.executable,
        "-c",
        INTERRUPTED,
        "fit",
        "d.csv",
        "--target",
        "y",
        "--model",
        "m.bvm",
        "--ard",
        "--starts",
        "6",
    ]
    child = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    err = child.stderr
    assert child.returncode == 130, err
    assert int(child.stdout.split()[-1]) < 30  # evaluations: none of the later stages was begun
    assert "interrupted: the best model so far was saved" in err
    assert "Traceback" not in err
    assert load(tmp_path / "m.bvm").predict({f"x{j}": [0.0] for j in range(8)})[0] in ("a", "b")


#: Interrupts itself in its twentieth evaluation of the evidence, and tells how many there were.
INTERRUPTED = """
import os, signal, sys
from bayesvm.cli.app import run
from bayesvm.hyper.objective import EvidenceObjective
plain, calls = EvidenceObjective.evaluate, []
def evaluate(self, *arguments, **options):
    calls.append(self)
    if len(calls) == 20:
        os.kill(os.getpid(), signal.SIGINT)
    return plain(self, *arguments, **options)
EvidenceObjective.evaluate = evaluate
code = run(sys.argv[1:])
print(len(calls))
sys.exit(code)
"""


def test_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bayesvm.cli.demo.SigmoidSVC", lambda: SigmoidSVC((1,), (0.0,)))
    demo(tmp_path / "out", Reporter(), n=60, n_test=200)
    said = capsys.readouterr().out
    assert "SVC, grid and sigmoid" in said
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"report.html", "model.bvm", "probability.png"}


@pytest.mark.slow
def test_demo_command(tmp_path, capsys):
    assert run(["demo", "--out", str(tmp_path / "out")]) == 0
    assert "written:" in capsys.readouterr().out
