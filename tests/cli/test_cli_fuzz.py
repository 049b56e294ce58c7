"""Damaged and random files: always an exit code of the list and one message, never a traceback, never half a file."""

from __future__ import annotations

import functools
import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_zoo import data, fitted
from sklearn.pipeline import make_pipeline

pytest.importorskip("typer")
pytest.importorskip("openpyxl")

from bayesvm import BayesianSVC
from bayesvm.cli.app import run
from bayesvm.persistence import load, save
from bayesvm.report import collect_facts
from bayesvm.tables import TableEncoder

CODES = {0, 2, 3, 4, 130}
ENDINGS = ["csv", "tsv", "data", "libsvm", "arff", "parquet", "xlsx", "jsonl", "csv.gz", "csv.bz2", "csv.xz", "csv.zip"]
PIECES = [
    b",",
    b"\n",
    b'"',
    b"\t",
    b":",
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"\x00",
    b"\xff",
    b"\xc3",
    b"{",
    b"}",
    b"@data\n",
    b"'",
    b"#",
    b" ",
]


@functools.cache
def corpus():
    """Return small valid files of every text format with two features and a label, by ending."""
    X, y, _ = data(14)
    rows = [(f"{a:.3f}", f"{b:.3f}", str(label)) for (a, b), label in zip(X, y)]
    lines = {"csv": ",", "tsv": "\t"}
    files = {end: sep.join("abc") + "\n" + "".join(sep.join(row) + "\n" for row in rows) for end, sep in lines.items()}
    files["data"] = "".join(" ".join(row) + "\n" for row in rows)
    files["libsvm"] = "".join(f"{1 if c == 'yes' else -1} 1:{a} 2:{b}\n" for a, b, c in rows)
    files["jsonl"] = "".join(f'{{"a": {a}, "b": {b}, "c": "{c}"}}\n' for a, b, c in rows)
    head = "@relation r\n@attribute a numeric\n@attribute b real\n@attribute c {yes,no}\n@data\n"
    files["arff"] = head + "".join(",".join(row) + "\n" for row in rows)
    return {**{end: text.encode() for end, text in files.items()}, "xlsx": workbook([("a", "b", "c"), *rows])}


def workbook(rows):
    """Return the bytes of a workbook whose members are not compressed, so that damage reaches its cells."""
    import openpyxl

    book, packed, out = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(packed)
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def mutated(content, rng):
    """Return the content with some of its bytes changed, cut out, doubled, or replaced by awkward ones."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if not content:
            break
        a, b = sorted(rng.integers(0, len(content) + 1, size=2).tolist())
        b = min(b, a + int(rng.integers(1, 40)))
        kind = int(rng.integers(5))
        if kind == 0:
            content[a:b] = bytes(rng.integers(0, 256, size=b - a).tolist())
        elif kind == 1:
            del content[a:b]
        elif kind == 2:
            content[a:a] = content[a:b]
        elif kind == 3:
            content[a:a] = PIECES[int(rng.integers(len(PIECES)))]
        else:
            del content[a:]
    return bytes(content)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return models for the columns of the formats, by the name of the first column."""
    folder = tmp_path_factory.mktemp("models")
    X, y, _ = data(14)
    for first, second in (("a", "b"), ("c1", "c2"), ("f1", "f2")):
        table = {first: X[:, 0], second: X[:, 1]}
        pipeline = fitted(make_pipeline(TableEncoder(), BayesianSVC(n_starts=1, max_evaluations=5)), table, y)
        save(pipeline, folder / f"{first}.bvm", info={"facts": collect_facts(pipeline, table, y)})
    return folder


@pytest.fixture
def ended_well(capsys):
    """Return a function that runs a command and checks how it ended."""

    def check(arguments):
        code = run(arguments)
        said = capsys.readouterr()
        assert code in CODES, (arguments, said.err)
        assert "Traceback" not in said.err
        if code in (2, 3):
            assert said.err.startswith("bayesvm: "), said.err
            assert said.err.count("\n") == 1, said.err
        return code

    return check


def one_data_case(rng, models, folder, check):
    """Predict, and now and then fit, from a damaged data file."""
    files = corpus()
    end = sorted(files)[int(rng.integers(len(files)))]
    path, out = folder / f"x.{end}", folder / "out.csv"
    path.write_bytes(mutated(files[end], rng))
    first = {"data": "c1", "libsvm": "f1"}.get(end, "a")
    code = check(["predict", str(models / f"{first}.bvm"), str(path), "--out", str(out), "-q"])
    assert out.exists() == (code == 0)
    if code == 0:
        lines = out.read_text().splitlines()
        assert all(line.count(",") == lines[0].count(",") for line in lines)
        out.unlink()
    if rng.random() < 0.06:
        model, target = folder / "m.bvm", {"libsvm": "target", "data": "c3"}.get(end, "c")
        code = check(
            ["fit", str(path), "--target", target, "--model", str(model), "--method", "ls-svc", "--starts", "1", "-q"]
        )
        assert model.exists() == (code in (0, 4))
        if model.exists():
            load(model)
            model.unlink()
    path.unlink()
    assert os.listdir(folder) == []


def one_model_case(rng, models, folder, check):
    """Predict from, inspect and report a damaged model file."""
    path, table, out = folder / "x.bvm", folder / "x.csv", folder / "r.html"
    path.write_bytes(mutated((models / "a.bvm").read_bytes(), rng))
    table.write_text("a,b\n0.5,1\n")
    command = (
        ["predict", str(path), str(table), "-q"],
        ["inspect", str(path), "-q"],
        ["report", str(path), "--out", str(out), "-q"],
    )
    code = check(command[int(rng.choice(3, p=[0.6, 0.3, 0.1]))])
    assert code in (0, 3)
    assert not out.exists() or out.read_text().endswith("</html>\n")
    for file in folder.iterdir():
        assert file in (path, table, out)
        file.unlink()


def cases(first, count, models, folder, check):
    for case in range(first, first + count):
        rng = np.random.default_rng(case)
        (one_data_case if case % 5 < 3 else one_model_case)(rng, models, folder, check)


def test_damaged_files(models, tmp_path, ended_well):
    cases(0, 100, models, tmp_path, ended_well)


@pytest.mark.slow
def test_damaged_files_at_length(models, tmp_path, ended_well):
    cases(1000, 2000, models, tmp_path, ended_well)


@given(st.binary(max_size=200), st.sampled_from(ENDINGS))
@settings(max_examples=50, deadline=None)
def test_any_bytes_as_data(tmp_path_factory, models, content, end):
    folder = tmp_path_factory.mktemp("bytes")
    path = folder / f"x.{end}"
    path.write_bytes(content)
    assert run(["predict", str(models / "a.bvm"), str(path), "--out", str(folder / "out.csv"), "-q"]) in (0, 3)


@given(st.binary(max_size=300))
@settings(max_examples=30, deadline=None)
def test_any_bytes_as_model(models, content):
    from bayesvm.persistence import ModelFileError

    with pytest.raises(ModelFileError):
        load(io.BytesIO(content))
