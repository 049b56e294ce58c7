"""Files of every format become the same table; broken ones are refused with file, row and column."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.tables import DataError, Table, TableEncoder, as_table, read_table
from bayesvm.tables.encoder import ColumnKind

CSV = "age,sex,weight\n30,f,1.5\n,m,2\n50,?,2.5\n"


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def assert_people(table):
    assert table.names == ("age", "sex", "weight")
    np.testing.assert_array_equal(table.columns["age"], [30.0, np.nan, 50.0])
    assert table.columns["sex"].tolist() == ["f", "m", None]
    np.testing.assert_array_equal(table.columns["weight"], [1.5, 2.0, 2.5])


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
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.arff", ARFF),
    ],
)
def test_text_formats(tmp_path, name, text):
    assert_people(read_table(written(tmp_path, name, text)))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [30, None, 50], "sex": ["f", "m", None], "weight": [1.5, 2.0, 2.5]}), path)
    assert_people(read_table(path))


def test_libsvm(tmp_path):
    table = read_table(written(tmp_path, "a.libsvm", "+1 1:0.5 3:2 # note\n\n-1 2:1e3\n"))
    assert table.names == ("target", "f1", "f2", "f3")
    assert [list(column) for column in table.columns.values()] == [[1, -1], [0.5, 0], [0, 1000], [2, 0]]
    assert table.number(1) == 3


def test_delve(tmp_path):
    table = read_table(written(tmp_path, "Dataset.data", "# house prices\n1.5 a  3\n2.5 b ?\n"))
    assert table.names == ("c1", "c2", "c3")
    assert table.columns["c2"].tolist() == ["a", "b"]


def test_sparse_arff(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n{0 3, 1 y}\n{}\n"
    table = read_table(written(tmp_path, "a.arff", text))
    assert table.columns["a"].tolist() == [3.0, 0.0]
    assert table.columns["b"].tolist() == ["y", "x"]


def test_names_are_guessed_or_given(tmp_path):
    path = written(tmp_path, "a.csv", "1,2\n3,4\n")
    assert read_table(path).names == ("c1", "c2")
    assert read_table(path, header=True).names == ("1", "2")
    path = written(tmp_path, "b.csv", "a,b\nc,d\n")
    assert len(read_table(path, header=False)) == 2


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert_people(read_table("-"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "no rows"),
        ("a.csv", "a,b\n", "no rows"),
        ("a.csv", "a,b\n1,2\n3\n", r"a\.csv, row 3: expected 2 columns, found 1"),
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
    with pytest.raises(ValueError, match="format: expected one of"):
        read_table("x", format="xls")


# -- the encoder ---------------------------------------------------------------------------------------------------------
def test_the_encoder_says_what_it_does():
    table = Table(
        {
            "age": np.array([1.0, np.nan, 3.0, 5.0]),
            "sex": np.array(["f", "m", None, "f"], dtype=object),
            "same": np.full(4, 7.0),
            "none": np.full(4, np.nan),
        }
    )
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table), [[1, 0, 1, 0], [3, 0, 0, 1], [3, 1, 0, 0], [5, 0, 1, 0]])
    assert encoder.get_feature_names_out().tolist() == ["age", "sex=(missing)", "sex=f", "sex=m"]
    assert [plan.kind for plan in encoder.plans_][2:] == [ColumnKind.CONSTANT, ColumnKind.EMPTY]
    assert len(encoder.summary()) == 4


def test_the_encoder_meets_new_categories_gaps_and_columns():
    encoder = TableEncoder().fit({"a": ["x", "y", "z"] * 2, "b": [1.0, 2.0, 3.0] * 2})
    np.testing.assert_array_equal(encoder.transform({"a": ["new"], "b": [None], "c": [1]}), [[0, 0, 0, 2]])
    with pytest.raises(DataError, match="no column 'b'"):
        encoder.transform({"a": ["x"]})
    with pytest.raises(DataError, match="row 2, column 'b': expected a number, found 'q'"):
        encoder.transform({"a": ["x", "x"], "b": ["1", "q"]})
    with pytest.raises(DataError, match="expected a finite number"):
        encoder.transform({"a": ["x"], "b": [np.inf]})


def test_many_categories_share_the_last_one():
    column = [f"v{i % 30}" for i in range(90)]
    encoder = TableEncoder(max_categories=5).fit({"a": column})
    assert encoder.plans_[0].categories[0] == "(other)"
    assert encoder.transform({"a": ["v29"]}).sum() == 1.0
    identifiers = TableEncoder().fit({"a": [f"id{i}" for i in range(30)], "b": range(30)})
    assert identifiers.plans_[0].kind is ColumnKind.IDENTIFIER


def test_nothing_left_is_an_error():
    with pytest.raises(DataError, match="no column holds information"):
        TableEncoder().fit({"a": [1.0, 1.0]})
    with pytest.raises(ValueError, match="max_categories"):
        TableEncoder(max_categories=1).fit({"a": [1.0, 2.0]})


def test_data_frames_of_pandas_and_polars_are_tables():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"age": [30, None, 50], "sex": ["f", "m", None], "weight": [1.5, 2.0, 2.5]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
        assert_people(as_table(frame))


def test_pandas_out():
    pd = pytest.importorskip("pandas")
    out = TableEncoder().set_output(transform="pandas").fit_transform({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == ["a=y", "b"]


cells = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False), st.text(max_size=3))


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.dictionaries(
            st.text(min_size=1, max_size=3), st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=4
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_any_table_becomes_finite_numbers_or_an_error(columns):
    encoder = TableEncoder()
    try:
        matrix = encoder.fit(columns).transform(columns)
    except DataError:
        return
    assert matrix.shape == (len(next(iter(columns.values()))), encoder.get_feature_names_out().size)
    assert np.all(np.isfinite(matrix))
