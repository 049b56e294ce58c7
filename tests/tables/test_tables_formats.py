"""What text means: numbers in the ways in which people write them, dates, truth values."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.tables import ColumnKind, DataError, TableEncoder, TableWarning
from bayesvm.tables.date_format import DateFormat
from bayesvm.tables.number_format import MARKS, NumberFormat

OTHER = {"other": [1.5, 2.5, 3.5]}


def encoded(texts, **options):
    """Return the first of the columns that a column of text becomes, and its plan."""
    columns = {"a": texts, "n": np.linspace(0.0, 1.0, len(texts)) ** 2}
    encoder = TableEncoder(**options).fit(columns)
    return encoder.transform(columns)[:, 0], encoder.plans_[0], encoder


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["12,5", "0,25", "-3,0"], [12.5, 0.25, -3.0]),
        (["1.234,5", "12,0"], [1234.5, 12.0]),
        (["1,234.5", "12.0"], [1234.5, 12.0]),
        (["1,234,567", "12"], [1234567.0, 12.0]),
        (["1 234,5", "12,5"], [1234.5, 12.5]),
        (["1\u202f234", "12\u00a0345"], [1234.0, 12345.0]),
        (["1'234.50", "3.5"], [1234.5, 3.5]),
        (["$12.30", "$1,200", "-$3"], [12.3, 1200.0, -3.0]),
        (["12,30 €", "1.200 €", "5"], [12.3, 1200.0, 5.0]),
        (["EUR 12.30", "EUR 3"], [12.3, 3.0]),
        (["35%", "12.5 %", "0"], [0.35, 0.125, 0.0]),
        (["(12.5)", "3"], [-12.5, 3.0]),
        (["\u22123.5", "2"], [-3.5, 2.0]),
        (["1e3", "2.5E-1"], [1000.0, 0.25]),
        (["+1", ".5"], [1.0, 0.5]),
        (["-", "3.5", "2", "."], [2.75, 3.5, 2.0, 2.75]),  # gaps become the median
        (["#N/A", "3.5", "2.5"], [3.0, 3.5, 2.5]),
    ],
)
def test_numbers_are_read_as_people_write_them(texts, numbers):
    found, plan, _ = encoded(texts)
    assert plan.kind is ColumnKind.NUMERIC
    np.testing.assert_allclose(found, numbers, rtol=1e-15)


def test_a_comma_before_three_digits_is_pointed_out_unless_the_table_or_the_caller_tells():
    with pytest.warns(
        TableWarning, match="column 'a': '12,345' was read as 12345, .*if it is the decimal mark, say decimal=','"
    ):
        found = encoded(["12,345", "1,250"])[0]
    assert found.tolist() == [12345.0, 1250.0]
    assert encoded(["12,345", "1,250"], decimal=",")[0].tolist() == [12.345, 1.25]
    assert encoded(["12,345", "1,250"], decimal=".")[0].tolist() == [12345.0, 1250.0]
    table = {"a": ["12,345", "1,250"], "b": ["0,5", "1,5"], "c": ["1.234", "2.345"]}
    assert TableEncoder().fit_transform(table).tolist() == [[12.345, 0.5, 1234.0], [1.25, 1.5, 2345.0]]
    table = {"a": ["12,345", "1,250"], "b": ["0.5", "1.5"], "c": ["1.234", "2.345"]}
    assert TableEncoder().fit_transform(table).tolist() == [[12345.0, 0.5, 1.234], [1250.0, 1.5, 2.345]]


def test_a_point_before_three_digits_stands_between_thousands_of_money_or_beside_whole_numbers():
    for texts, numbers in (
        (["1.200", "950", "12.345"], [1200, 950, 12345]),
        (["312.345 €", "1.200 €"], [312345, 1200]),
    ):
        with pytest.warns(TableWarning, match=r"was read as .*, '\.' between thousands; if it is the decimal mark"):
            assert encoded(texts)[0].tolist() == numbers
    assert encoded(["1.200", "950"], decimal=".")[0].tolist() == [1.2, 950.0]
    assert encoded(["1.200", "0.950"])[0].tolist() == [1.2, 0.95]
    assert encoded(["1.200", "2.950"])[0].tolist() == [1.2, 2.95]  # all with three decimals


def test_new_rows_are_read_as_the_training_data_were():
    encoder = TableEncoder().fit({"a": ["12,5", "1.234,5", "3"], "b": [1.0, 2.0, 4.0]})
    assert encoder.transform({"a": ["1,234"], "b": [1]})[0, 0] == 1.234
    assert encoder.transform({"a": ["1.234"], "b": [1]})[0, 0] == 1234.0
    assert encoder.transform({"a": [12.5], "b": [1]})[0, 0] == 12.5
    with pytest.raises(DataError, match=r"row 2, column 'a': expected a number, found '12\.5'; correct the cell"):
        encoder.transform({"a": ["1", "12.5"], "b": [1, 2]})


def test_codes_with_leading_zeros_are_categories_and_that_is_pointed_out():
    with pytest.warns(TableWarning, match="'00501' has a leading zero: taken for a code, not for a number"):
        plan = encoded(["00501", "10001", "00501", "10001"])[1]
    assert plan.kind is ColumnKind.CATEGORICAL


def test_a_wrong_cell_among_numbers_is_an_error_with_a_remedy():
    texts = [f"{i / 7:.2f}" for i in range(60)]
    texts[17] = "abc"
    with pytest.raises(
        DataError, match=r"row 18, column 'a': expected a number such as '0\.00', found 'abc'; .*drop or cat"
    ):
        encoded(texts)
    dates = [f"2019-{1 + i % 12:02d}-{1 + i // 12:02d}" for i in range(60)]
    dates[17] = "0000-00-00"
    with pytest.raises(DataError, match="row 18, column 'a': expected a date such as '2019-01-01', found '0000-00-00'"):
        encoded(dates)
    assert encoded(texts, drop=["a"])[1].kind is ColumnKind.DROPPED
    assert encoded(texts, categories=["a"])[1].kind is ColumnKind.CATEGORICAL


def test_a_few_numbers_beside_text_are_categories_and_that_is_pointed_out():
    with pytest.warns(TableWarning, match=r"numbers beside text such as '3\+': all of them were taken for categories"):
        assert encoded(["1", "2", "3+", "1", "2"])[1].kind is ColumnKind.CATEGORICAL


def test_two_currencies_are_not_added():
    with pytest.warns(TableWarning, match="numbers beside text such as '€2'"):
        assert encoded(["$1", "€2", "$3", "$1", "€2", "$3"])[1].kind is ColumnKind.CATEGORICAL


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32), st.sampled_from(MARKS), st.sampled_from(["", "$", "%"])
)
@settings(max_examples=200, deadline=None)
def test_what_a_format_writes_it_reads(number, marks, symbol):
    decimal, thousands = marks
    plain = f"{number:,.4f}" if thousands else f"{number:.4f}"
    written = plain.replace(",", "T").replace(".", decimal).replace("T", thousands) + symbol
    read = NumberFormat(decimal, thousands, symbol).parse([written])[0]
    assert read == pytest.approx(float(f"{number:.4f}") / (100.0 if symbol == "%" else 1.0), rel=1e-15, abs=0.0)


# -- dates ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "texts",
    [
        ["2019-01-03", "2019-01-05", "2019-01-31"],
        ["03.01.2019", "05.01.2019", "31.01.2019"],
        ["1/3/2019", "1/5/2019", "1/31/2019"],
        ["03/01/2019", "05/01/2019", "31/01/2019"],
        ["3 Jan 2019", "5 Jan 2019", "31 Jan 2019"],
        ["January 3, 2019", "January 5, 2019", "January 31, 2019"],
        ["2019/01/03 00:00", "2019/01/05 00:00", "2019/01/31 00:00"],
        ["2019-01-03T00:00:00Z", "2019-01-05T01:00:00+01:00", "2019-01-31 00:00:00+00:00"],
        ["03.01.19", "05.01.19", "31.01.19"],
        ["1/3/2019 12:00 AM", "1/5/2019 12:00 AM", "1/31/2019 12:00 AM"],
    ],
)
def test_dates_become_days_since_the_first(texts):
    found, plan, encoder = encoded(texts)
    assert plan.kind is ColumnKind.DATE
    np.testing.assert_allclose(found, [0.0, 2.0, 28.0])
    assert encoder.get_feature_names_out()[0] == "a (days)"
    assert "a: dates, as days since 2019-01-03" in encoder.summary()[0]


def test_whole_numbers_that_are_dates_are_dates_and_that_is_said():
    with pytest.warns(TableWarning, match="whole numbers such as 20190103 are dates"):
        found, plan, encoder = encoded(["20190103", "20190105", "20190131"])
    assert plan.kind is ColumnKind.DATE
    assert found.tolist() == [0.0, 2.0, 28.0]
    assert encoder.transform({"a": [20190201.0], "n": [0.0]})[0, 0] == 29.0


def test_day_and_month_that_may_be_exchanged_are_pointed_out():
    texts = ["03/04/2019", "05/04/2019"]
    with pytest.warns(
        TableWarning, match="'03/04/2019' was read as 2019-04-03, the day first; if the month stands first"
    ):
        assert encoded(texts)[0].tolist() == [0.0, 2.0]
    assert encoded(texts, day_first=False)[0].tolist() == [0.0, 61.0]
    assert encoded(texts, day_first=True)[0].tolist() == [0.0, 2.0]


def test_cycles_that_the_data_cover_have_phases():
    days = np.datetime64("2018-01-01") + np.arange(1100)
    columns = {"when": days, "n": np.sin(np.arange(1100.0))}
    encoder = TableEncoder().fit(columns)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["when (days)", *(f"when ({w} of {c})" for c in ("year", "week") for w in ("sin", "cos")), "n"]
    X = encoder.transform({"when": ["2019-06-01", "2019-06-08", "2020-06-01"], "n": [0.0] * 3})
    np.testing.assert_allclose(X[0, 3:5], X[1, 3:5], atol=1e-9)  # the same weekday
    np.testing.assert_allclose(X[0, 1:3], X[2, 1:3], atol=0.02)  # the same day of the year
    hours = np.datetime64("2018-01-01T00") + np.arange(60)
    encoder = TableEncoder().fit({"when": hours, "n": np.arange(60.0) ** 2})
    assert encoder.get_feature_names_out().tolist()[1:3] == ["when (sin of day)", "when (cos of day)"]


def test_times_of_day_have_the_cycle_of_the_day():
    found, plan, encoder = encoded(["06:00", "12:00", "23:59"])
    assert plan.kind is ColumnKind.DATE
    np.testing.assert_allclose(found, [0.25, 0.5, 1439 / 1440])
    X = encoder.transform({"a": ["00:00", "23:59"], "n": [0, 0]})
    assert np.linalg.norm(X[0, 1:3] - X[1, 1:3]) < 0.01  # midnight lies beside the minute before
    assert encoder.summary()[0].startswith("a: times of day; with the cycle of the day")


def test_gaps_in_dates_are_filled_and_marked():
    _, _, encoder = encoded(["2019-01-01", None, "2019-01-03", "-", "2019-01-02"])
    assert encoder.get_feature_names_out().tolist()[:2] == ["a (days)", "a=(missing)"]
    X = encoder.transform({"a": ["", "2019-01-05"], "n": [0, 0]})
    assert X[:, :2].tolist() == [[1.0, 1.0], [4.0, 0.0]]
    with pytest.raises(
        DataError, match=r"row 1, column 'a': expected a date written as in the training data, found '5\. May'"
    ):
        encoder.transform({"a": ["5. May"], "n": [0]})
    with pytest.raises(DataError, match=r"row 1, column 'a': expected a date, found 3\.0"):
        encoder.transform({"a": [3.0], "n": [0]})


@given(st.datetimes(min_value=datetime.datetime(1700, 1, 1), max_value=datetime.datetime(2200, 1, 1)))
@settings(max_examples=50, deadline=None)
def test_iso_dates_come_back(moment):
    assert DateFormat().parse(np.array([moment.isoformat()], dtype=object))[0] == np.datetime64(moment)


# -- truth values -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "texts",
    [["yes", "No", "YES"], ["true", "False", "TRUE"], [True, False, True], ["Y", "n", "y"], ["on", "off", "on"]],
)
def test_truth_values_are_0_and_1(texts):
    found, plan, encoder = encoded(texts)
    assert plan.kind is ColumnKind.TRUTH
    assert found.tolist() == [1.0, 0.0, 1.0]
    assert encoder.get_feature_names_out()[0] == "a"
    assert encoder.transform({"a": [0, 1], "n": [0, 0]})[:, 0].tolist() == [0.0, 1.0]
    with pytest.raises(DataError, match=r"row 1, column 'a': expected .* or .*, found 'perhaps'"):
        encoder.transform({"a": ["perhaps"], "n": [0]})


def test_gaps_in_truth_values_are_marked():
    _, _, encoder = encoded(["yes", None, "no", "yes", "?"])
    assert encoder.get_feature_names_out().tolist()[:2] == ["a", "a=(missing)"]
    assert encoder.summary()[0] == (
        "a: no is 0, yes is 1; 2 missing, replaced by the median 1 and marked in a column of zeros and ones."
    )
