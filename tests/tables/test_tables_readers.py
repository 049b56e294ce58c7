"""Files of every format become the same table; broken ones are refused with file, row and column."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import lzma
import sys
import zipfile

import numpy as np
import pytest

from bayesvm.tables import ColumnKind, DataError, TableEncoder, TableWarning, read_table

CSV = "age,sex,weight\n30,f,1.5\n,m,2\n50,?,2.5\n"


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def assert_people(table):
    assert list(table.columns) == ["age", "sex", "weight"]
    np.testing.assert_array_equal(table["age"], [30.0, np.nan, 50.0])
    assert [None if entry != entry else entry for entry in table["sex"]] == ["f", "m", None]
    np.testing.assert_array_equal(table["weight"], [1.5, 2.0, 2.5])


JSON_LINES = """{"age": 30, "sex": "f", "weight": 1.5}
{"age": null, "sex": "m", "weight": 2}

{"age": 50, "weight": 2.5}
"""


def zipped(files):
    """Return the bytes of an archive with files of text, by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # of no time: the bytes are in the names of tests
    return out.getvalue()


ARFF = """% people
@relation people
@attribute age numeric
@attribute 'sex' {f, m}
@ATTRIBUTE "weight" real

@data
30,f,1.5
?,m,2
50,?,2.5
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", CSV),
        ("a.csv", "\ufeff" + CSV.replace("\n", "\r\n")),
        ("a.csv", CSV.replace(",", ";")),
        ("a.csv", CSV.replace(",", "|")),
        ("a.csv", CSV.replace(",", "\t")),
        ("a.csv", CSV.encode("utf-16")),
        ("a.csv", CSV.encode("utf-32")),
        ("a.csv", ",".join(f' "{cell}"' for cell in CSV.splitlines()[0].split(",")) + CSV[CSV.index("\n") :]),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("a.csv.bz2", bz2.compress(CSV.encode())),
        ("a.csv.xz", lzma.compress(CSV.encode())),
        ("a.csv.zip", zipped({"a.csv": CSV})),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.txt", CSV),
        ("a.data", "age sex weight\n30 f   1.5\n? m 2\n50 ? 2.5\n"),
        ("a.arff", ARFF),
        ("a.jsonl", JSON_LINES),
        ("a.json", "[" + ",".join(JSON_LINES.split("\n\n")[0].splitlines() + JSON_LINES.splitlines()[3:]) + "]"),
        ("a", CSV),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "",
)
def test_text_formats(tmp_path, name, text):
    assert_people(read_table(written(tmp_path, name, text)))


def test_other_encodings_are_named(tmp_path):
    path = written(tmp_path, "a.csv", "größe,b\n1,2\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"row 1: expected text in UTF-8, found the byte 0xf6; name its encoding"):
        read_table(path)
    assert list(read_table(path, encoding="cp1252").columns) == ["größe", "b"]
    with pytest.raises(DataError, match="no encoding is called 'klingon'"):
        read_table(path, encoding="klingon")


def workbook(sheets):
    """Return the bytes of a workbook with sheets of rows, by name."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_excel(tmp_path):
    day = datetime.datetime(2019, 3, 1)
    rows = [["age", "sex", "weight"], [30, "f", 1.5], [], [None, "m", 2], [50, "?", 2.5]]
    table = read_table(written(tmp_path, "a.xlsx", workbook({"people": rows})))
    assert_people(table)
    assert table.index.tolist() == [2, 4, 5]  # numbers of the rows in the sheet
    book = written(tmp_path, "b.xlsx", workbook({"one": [["when", "ok"], [day, True], [day, False]], "two": rows}))
    with pytest.warns(TableWarning, match="the sheet 'one' was read, not two"):
        table = read_table(book)
    assert table["when"].dtype.kind == "M"
    assert table["ok"].tolist() == [True, False]
    assert_people(read_table(book, sheet="two"))
    with pytest.raises(DataError, match=r"no sheet 'tow' \(did you mean 'two'"):
        read_table(book, sheet="tow")
    with pytest.raises(DataError, match=r"not a workbook of Excel 2007 or later, or a damaged one .*save it as \.xlsx"):
        read_table(written(tmp_path, "c.xls", b"\xd0\xcf\x11\xe0 an old workbook"))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [30, None, 50], "sex": ["f", "m", None], "weight": [1.5, 2.0, 2.5]}), path)
    assert_people(read_table(path))


def test_libsvm(tmp_path):
    table = read_table(written(tmp_path, "a.libsvm", "+1 1:0.5 3:2 # note\n\n-1 2:1e3\n"))
    assert list(table.columns) == ["target", "f1", "f2", "f3"]
    assert [list(table[name]) for name in table.columns] == [[1, -1], [0.5, 0], [0, 1000], [2, 0]]
    assert table.index.tolist() == [1, 3]


def test_delve(tmp_path):
    table = read_table(written(tmp_path, "Dataset.data", "# house prices\n1.5 a  3\n2.5 b ?\n"))
    assert list(table.columns) == ["c1", "c2", "c3"]
    assert table["c2"].tolist() == ["a", "b"]


def test_sparse_arff(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n{0 3, 1 y}\n{}\n"
    table = read_table(written(tmp_path, "a.arff", text))
    assert table["a"].tolist() == [3.0, 0.0]
    assert table["b"].tolist() == ["y", "x"]


def test_nominal_attributes_are_categories_even_if_they_are_numbers(tmp_path):
    text = "@relation r\n@attribute a {1,2}\n@attribute b numeric\n@data\n1,3\n2,4\n1,?\n"
    table = read_table(written(tmp_path, "a.arff", text))
    assert table["a"].dtype == "category"
    assert TableEncoder().fit(table).plans_[0].kind is ColumnKind.CATEGORICAL


def test_cells_stay_text_if_they_are_not_parsed(tmp_path):
    table = read_table(written(tmp_path, "a.csv", "a,b\n01, 2\n3,\n"), parse=False)
    assert table.to_numpy().tolist() == [["01", "2"], ["3", ""]]
    assert table.attrs["source"].endswith("a.csv")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert_people(read_table("-"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "no rows"),
        ("a.csv", "a,b\n", "no rows"),
        ("a.csv", "a,b\n1,2\n3\n", r"a\.csv, row 3: expected 2 columns as in row 1, found 1; quote"),
        ("a.csv", "a,a\n1,2\n", "'a' occurs twice"),
        ("a.csv", b"a,b\n1,2\n\xff,3\n", "row 3: expected text in UTF-8, found the byte 0xff"),
        ("a.csv", "a,b\n1,\0\n", "row 2: expected text, found a null"),
        ("a.csv", 'a,b\n"1,2\n', "row 2"),
        ("a.csv.gz", b"not compressed", "cannot be read"),
        ("a.libsvm", "1 0:3\n", "row 1: expected index:value"),
        ("a.libsvm", "1 a\n", "found 'a'"),
        ("a.libsvm", "1 999999999:1\n1 1:1\n", "too many"),
        ("a.arff", "hello\n", "row 1: expected @relation"),
        ("a.arff", "@relation r\n", "no @attribute"),
        ("a.arff", "@attribute a numeric\n", "no @data"),
        ("a.arff", "@attribute a numeric\n@data\n1,2\n", "row 3: expected 1 columns, found 2"),
        ("a.arff", "@attribute a numeric\n@data\n{5 1}\n", "attribute number below 1"),
        ("a.arff", "@attribute a {x\n@data\nx\n", "not closed"),
        ("a.parquet", "PAR1 no", "Parquet"),
        ("a.jsonl", '{"a": 1}\n{"a"\n', r"row 2: not JSON"),
        ("a.jsonl", '{"a": 1}\n3\n', "row 2: expected an object with names and values, found '3'"),
        ("a.jsonl", '{"a": 1}\n{"a": [1]}\n', "row 2, column 'a': expected a number or text, found a list"),
        ("a.csv.zip", zipped({"a.csv": CSV, "b.csv": CSV}), "expected one file in the archive, found 2"),
        ("a.csv.xz", b"no", "cannot be read"),
        ("a.csv.bz2", b"no", "cannot be read"),
    ],
)
def test_broken_files_are_named(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message):
        read_table(written(tmp_path, name, text))


def test_absent_files(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table("a\0b.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match=r"format: expected one of .*, found 'exel' \(did you mean 'excel'"):
        read_table("x", format="exel")
