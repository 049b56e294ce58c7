"""Which delimiter a file has, and whether its first row holds names: found out, given, or pointed out as a guess."""

from __future__ import annotations

import warnings

import pytest

from bayesvm.tables import DataError, TableWarning, read_table


def read(tmp_path, text, name="a.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("first", "below"),
    [
        ("2019,2020,2021,target", "1.5,2.5,3.5,a\n2.5,3.5,1.5,b\n3.5,2.5,1.5,0.1\n"),
        ("2019,2020,2021,target", "1.5,2.5,3.5,7\n2.5,3.5,1.5,8\n"),
        ("inf,b", "1,2\n3,4\n"),
        ("1,b", "1,2\n3,4\n"),
        (",b", "1,2\n3,4\n"),
        ("name,label", "anna,x\nberta,y\n"),
        ("when,value", "2019-01-01,?\n2019-01-02,?\n"),
        ("price,share", '"$1,200.50",35%\n$3,20%\n'),
    ],
)
def test_a_header_with_years_and_other_numbers_is_found(tmp_path, first, below):
    rows = len(below.splitlines())
    if first.startswith("2019") and ",a\n" in below:  # labels that are text tell nothing: two guesses are allowed
        below = below.replace("0.1\n", "a\n")
        with pytest.warns(TableWarning, match=r"row 1: 2019, 2020, 2021, \.\.\. were taken for names of columns"):
            table = read(tmp_path, f"{first}\n{below}")
    else:
        table = read(tmp_path, f"{first}\n{below}")
    assert len(table) == rows
    assert list(table.columns)[1:] == first.split(",")[1:]


def test_years_above_decimals_are_names_and_that_is_pointed_out(tmp_path):
    with pytest.warns(TableWarning, match="were taken for names of columns; if they are data, say header=False"):
        table = read(tmp_path, "2019,2020,2021\n1.5,2.5,3.5\n2.5,3.5,4.5\n")
    assert list(table.columns) == ["2019", "2020", "2021"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(tmp_path, "2019,2020,2021\n1.5,2.5,3.5\n", header=False)) == 2


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "1.5,a\n2.5,b\n", "NA,1\n2,3\n", "-,1\n2,3\n", "2019,2020\n2018,2017\n"]
)
def test_data_on_top_are_data(tmp_path, text):
    table = read(tmp_path, text)
    assert list(table.columns) == ["c1", "c2"]
    assert len(table) == 2


def test_a_word_above_numbers_beside_other_numbers_is_a_guess(tmp_path):
    with pytest.warns(TableWarning, match="were taken for names"):
        read(tmp_path, "unknown,2.5\n3,4.5\n5,6.5\n")


def test_names_are_given(tmp_path):
    assert list(read(tmp_path, "1,2\n3,4\n", header=True).columns) == ["1", "2"]
    assert len(read(tmp_path, "a,b\nc,d\n", header=False)) == 2
    with pytest.raises(DataError, match="'a' occurs twice; rename"):
        read(tmp_path, "a,a\n1,2\n")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a;b;c\n1,5;2,5;x\n3,5;4,5;y\n", ["a", "b", "c"]),
        ("1,5;2,5;x\n3,5;4,5;y\n", ["c1", "c2", "c3"]),
        ("a,b\n1;2,x;y\n3;4,z;w\n", ["a", "b"]),
        ('a,b\n"1,5;2",x\n"3,5;4",y\n', ["a", "b"]),
        ("a|b\n1|2\n", ["a", "b"]),
        ("a\n1\n2\n", ["a"]),
    ],
)
def test_the_delimiter_is_found(tmp_path, text, names):
    assert list(read(tmp_path, text).columns) == names


def test_text_files_may_have_any_delimiter(tmp_path):
    assert read(tmp_path, "5.1,3.5,Iris setosa\n4.9,3.0,Iris virginica\n", "iris.data").shape == (2, 3)
    assert read(tmp_path, "5.1 3.5 a\n4.9  3.0 b\n", "iris.data").shape == (2, 3)


def test_the_delimiter_is_given(tmp_path):
    assert read(tmp_path, "a:b\n1:2\n", delimiter=":").shape == (1, 2)
    assert read(tmp_path, "a,b c\n1,2 3\n", delimiter=" ").columns.tolist() == ["a,b", "c"]
