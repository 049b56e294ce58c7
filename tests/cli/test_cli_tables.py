"""What people have in their tables, on the command line: read rightly, or spoken of."""

from __future__ import annotations

import csv
import io
import json
import warnings

import numpy as np
import pytest

pytest.importorskip("typer")

from bayesvm.cli.app import run
from bayesvm.persistence import load, read_info


def rows_of(n=60, seed=0):
    """Return two numbers, a category and a label that depends on them, per row."""
    rng = np.random.default_rng(seed)
    a, b = np.round(rng.normal(50.0, 20.0, n), 2), np.round(rng.normal(size=n), 3)
    c = rng.choice(["north", "south"], n)
    return [(x, y, z, "up" if (x - 50) / 20 + y + 0.3 * rng.normal() > 0 else "down") for x, y, z in zip(a, b, c)]


def fit(folder, text, *options, name="d.csv", target="label", model="m.bvm"):
    """Write a table and fit a model to it; return the exit code."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    arguments = ["--target", target, "--model", str(folder / model), "--starts", "1", "--method", "ls-svc"]
    return run(["fit", str(path), *arguments, *options])


def table(rows, head=("a", "b", "place", "label"), delimiter=","):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def kinds(path):
    return [plan.kind.name for plan in load(path)[0].plans_]


# -- B6: header of years, a column called inf -------------------------------------------------------------------------
@pytest.mark.parametrize("names", [("2019", "2020", "place"), ("inf", "b", "place"), ("1", "2", "place")])
def test_a_header_of_numbers_is_a_header(tmp_path, names):
    assert fit(tmp_path, table(rows_of(), (*names, "label")), "-q") == 0
    assert [plan.name for plan in load(tmp_path / "m.bvm")[0].plans_] == list(names)


def test_a_target_that_is_not_found_in_a_table_without_names_leads_to_header(tmp_path, capsys):
    text = "1.5,2.5,a\n2.5,3.5,b\n"
    assert fit(tmp_path, text) == 3
    assert "no column 'label'; the columns are c1, c2, c3; if the first row of the file holds the names" in (
        capsys.readouterr().err
    )


# -- B7: semicolons with decimal commas -------------------------------------------------------------------------------
def test_decimal_commas_are_numbers(tmp_path):
    rows = rows_of()
    assert fit(tmp_path, table(rows), "-q") == 0
    german = [(str(a).replace(".", ","), str(b).replace(".", ","), c, y) for a, b, c, y in rows]
    assert fit(tmp_path, table(german, delimiter=";"), "-q", name="g.csv", model="g.bvm") == 0
    assert kinds(tmp_path / "g.bvm") == ["NUMERIC", "NUMERIC", "CATEGORICAL"]
    clean, other = read_info(tmp_path / "m.bvm")["facts"], read_info(tmp_path / "g.bvm")["facts"]
    assert other["performance"]["figures"] == clean["performance"]["figures"]
    (tmp_path / "new.csv").write_text("a;b;place\n50,5;0,25;north\n")
    (tmp_path / "clean.csv").write_text("a,b,place\n50.5,0.25,north\n")
    for model, data, out in (("g.bvm", "new.csv", "p.csv"), ("m.bvm", "clean.csv", "q.csv")):
        assert run(["predict", str(tmp_path / model), str(tmp_path / data), "--out", str(tmp_path / out), "-q"]) == 0
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "q.csv").read_text()


# -- B8: timestamps, currency, percent, thousands ---------------------------------------------------------------------
def test_timestamps_currency_percent_and_thousands_are_read(tmp_path, capsys):
    rng = np.random.default_rng(1)
    rows = [
        (
            f"2019-03-{1 + i % 28:02d} {i % 24:02d}:15",
            f"${a:.2f}",
            f"{abs(b) * 30:.1f}%",
            f"{1000 + 37 * i + int(rng.integers(30)):,}",
            y,
        )
        for i, (a, b, _, y) in enumerate(rows_of())
    ]
    assert fit(tmp_path, table(rows, ("when", "price", "share", "count", "label"))) == 0
    assert kinds(tmp_path / "m.bvm") == ["DATE", "NUMERIC", "NUMERIC", "NUMERIC"]
    said = capsys.readouterr().out
    for words in (
        "when: dates, as days since 2019-03-01",
        "price: amounts in $",
        "share: percent, as fractions",
        "count: thousands set apart by ','",
    ):
        assert words in said


def test_what_is_ambiguous_is_said_and_can_be_told(tmp_path, capsys):
    rows = [
        (f"{1 + i % 9},{i % 10}{i % 7}5", f"{1 + i % 12:02d}/{1 + i % 5:02d}/2019", y)
        for i, (*_, y) in enumerate(rows_of())
    ]
    text = table(rows, ("a", "when", "label"))
    assert fit(tmp_path, text, "--json") == 0
    found = capsys.readouterr()
    for words in ("',' between thousands; if it is the decimal mark", "the day first; if the month stands first"):
        assert sum(words in line for line in json.loads(found.out)["warnings"]) == 1
        assert words in found.err
    assert any("if the month stands first" in line for line in read_info(tmp_path / "m.bvm")["facts"]["warnings"])
    assert fit(tmp_path, text, "--decimal", ",", "--month-first", "--force", "--json") == 0
    left = json.loads(capsys.readouterr().out)["warnings"]
    assert [line for line in left if "no better than always guessing" not in line] == []  # the label is a draw


def test_a_wrong_cell_among_numbers_is_one_error(tmp_path, capsys):
    rows = rows_of()
    rows[20] = ("n.a.!", *rows[20][1:])
    assert fit(tmp_path, table(rows)) == 3
    error = capsys.readouterr().err
    assert "d.csv, row 22, column 'a': expected a number such as" in error
    assert "found 'n.a.!'; correct the cell (NA means missing), or name the column in drop or categories" in error
    assert fit(tmp_path, table(rows), "--drop", "a", "-q") == 0
    assert kinds(tmp_path / "m.bvm")[0] == "DROPPED"


# -- F9: columns, encodings, keys -------------------------------------------------------------------------------------
def test_features_drop_and_categories(tmp_path):
    rows = [(i % 4, *row) for i, row in enumerate(rows_of())]
    text = table(rows, ("grade", "a", "b", "place", "label"))
    assert fit(tmp_path, text, "--features", "a,b", "--features", "1", "--categories", "grade", "-q") == 0
    assert kinds(tmp_path / "m.bvm") == ["CATEGORICAL", "NUMERIC", "NUMERIC", "DROPPED"]
    assert fit(tmp_path, text, "--drop", "grade,place", "-q", "--force") == 0
    assert kinds(tmp_path / "m.bvm") == ["DROPPED", "NUMERIC", "NUMERIC", "DROPPED"]


def test_columns_that_are_misspelt_or_taken_are_refused(tmp_path, capsys):
    assert fit(tmp_path, table(rows_of()), "--drop", "plase") == 3
    assert "no column 'plase' (did you mean 'place'?)" in capsys.readouterr().err
    assert fit(tmp_path, table(rows_of()), "--drop", "label") == 2
    assert "--drop: label is the target or holds the weights" in capsys.readouterr().err


def test_encodings_are_told(tmp_path, capsys):
    text = table(rows_of()).replace("place", "straße").replace("north", "höher").encode("cp1252")
    assert fit(tmp_path, text) == 3
    assert (
        "expected text in UTF-8, found the byte 0xdf; name its encoding (--encoding), such as cp1252"
        in capsys.readouterr().err
    )
    assert fit(tmp_path, text, "--encoding", "cp1252", "-q") == 0
    assert load(tmp_path / "m.bvm")[0].plans_[2].column.categories == ("höher", "south")


def test_sheets_of_a_workbook_are_told(tmp_path, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["see the other sheet"])
    page = book.create_sheet("data")
    page.append(["a", "b", "place", "label"])
    for row in rows_of():
        page.append(row)
    out = io.BytesIO()
    book.save(out)
    assert fit(tmp_path, out.getvalue(), "--sheet", "data", "-q", name="d.xlsx") == 0
    assert fit(tmp_path, out.getvalue(), "--sheet", "dta", name="d.xlsx", model="x.bvm") == 3
    assert "no sheet 'dta' (did you mean 'data'?)" in capsys.readouterr().err


def test_keys_stand_beside_the_predictions(tmp_path, capsys):
    rows = rows_of()
    assert fit(tmp_path, table(rows), "-q") == 0
    new = [(f"p-{i}", *row) for i, row in enumerate(rows[:3])]
    (tmp_path / "new.csv").write_text(table(new, ("patient", "a", "b", "place", "label")))
    arguments = ["predict", str(tmp_path / "m.bvm"), str(tmp_path / "new.csv")]
    assert run([*arguments, "--keep", "patient,label"]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["patient"] for row in found] == ["p-0", "p-1", "p-2"]
    assert list(found[0]) == ["patient", "label", "prediction", "P(down)", "P(up)"]
    (tmp_path / "new.csv").write_text(table(new, ("prediction", "a", "b", "place", "label")))
    assert run([*arguments, "--keep", "prediction"]) == 2
    assert "--keep: the predictions have a column 'prediction' of their own" in capsys.readouterr().err


# -- F10: unseen categories -------------------------------------------------------------------------------------------
def test_categories_that_are_new_are_counted_and_said(tmp_path, capsys):
    assert fit(tmp_path, table(rows_of()), "-q") == 0
    (tmp_path / "new.csv").write_text("a,b,place\n1,2,east\n1,2,west\n1,2,north\n,2,north\n")
    arguments = ["predict", str(tmp_path / "m.bvm"), str(tmp_path / "new.csv")]
    assert run(arguments) == 0
    error = capsys.readouterr().err
    assert "column 'place': 2 rows with a category that the training data do not have ('east', 'west')" in error
    assert run([*arguments, "--json"]) == 0
    found = capsys.readouterr()
    gaps, new = json.loads(found.out)["warnings"]
    assert new.endswith("column 'place': 2 rows with a category that the training data do not have ('east', 'west')")
    assert gaps.endswith("column 'a': 1 missing, filled in; there were none in the training data")
    assert f"warning: {new}" in found.err
    assert run([*arguments, "-q"]) == 0
    assert capsys.readouterr().err == ""


# -- columns that number the rows or hold the answer ------------------------------------------------------------------
def test_row_numbers_and_copies_of_the_target_are_pointed_out(tmp_path, capsys):
    rows = [(i, *row[:3], {"up": 1, "down": 0}[row[3]], row[3]) for i, row in enumerate(rows_of())]
    assert fit(tmp_path, table(rows, ("id", "a", "b", "place", "code", "label"))) == 0
    error = capsys.readouterr().err
    assert "column 'id': it counts the rows and was left out" in error
    assert "column 'code': its values are the classes of the target under other names; if it is not known" in error
    assert kinds(tmp_path / "m.bvm") == ["IDENTIFIER", "NUMERIC", "NUMERIC", "CATEGORICAL", "NUMERIC"]


# -- targets ----------------------------------------------------------------------------------------------------------
def test_truth_values_are_classes_and_said_to_be_so(tmp_path, capsys):
    rows = [(*row[:3], {"up": ("Yes", "yes")[i % 2], "down": "no"}[row[3]]) for i, row in enumerate(rows_of())]
    assert fit(tmp_path, table(rows), "--method", "auto") == 0
    assert "task: classification (label is yes or no)" in capsys.readouterr().err
    assert load(tmp_path / "m.bvm").classes_.tolist() == ["no", "yes"]


def test_a_target_in_another_format_is_numbers(tmp_path):
    rows = [(*row[:3], f"{1000 + 10 * row[0]:,.2f} $") for row in rows_of()]
    arguments = ["--target", "price", "--model", str(tmp_path / "m.bvm"), "--starts", "1", "-q"]
    (tmp_path / "d.csv").write_text(table(rows, ("a", "b", "place", "price")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(["fit", str(tmp_path / "d.csv"), *arguments]) in (0, 4)
    facts = read_info(tmp_path / "m.bvm")["facts"]
    assert facts["task"] == "regression"
    assert facts["data"]["quantiles"][0] == pytest.approx(min(1000 + 10 * row[0] for row in rows_of()))


def test_a_method_for_numbers_on_classes_names_methods_for_classes(tmp_path, capsys):
    (tmp_path / "d.csv").write_text(table(rows_of()))
    arguments = ["fit", str(tmp_path / "d.csv"), "--target", "label", "--model", str(tmp_path / "m.bvm")]
    assert run([*arguments, "--method", "rvr"]) == 3
    error = capsys.readouterr().err
    assert "row 2, column 'label': expected a number, found" in error
    assert "the task is regression (rvr is for that): for classes use bayesian-svc" in error
    assert run([*arguments, "--method", "bayesan-svc"]) == 2
    assert "no method is called 'bayesan-svc' (did you mean 'bayesian-svc'?)" in capsys.readouterr().err
    assert run([*arguments[:3], "lable", *arguments[4:]]) == 3
    assert "no column 'lable' (did you mean 'label'?)" in capsys.readouterr().err
