"""The encoder: what it does with each column, says about it, remembers, and points out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesvm.tables import ColumnKind, DataError, TableEncoder, TableWarning

pd = pytest.importorskip("pandas")


def kinds(encoder):
    return [plan.kind for plan in encoder.plans_]


@parametrize_with_checks([TableEncoder()])
@pytest.mark.filterwarnings("ignore::bayesvm.tables.errors.TableWarning")  # the checks fit a column to itself
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    [
        "check_n_features_in_after_fitting",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
    ],
)
@pytest.mark.filterwarnings("ignore::bayesvm.tables.errors.TableWarning")
def test_scikit_learns_checks_of_names(name):
    getattr(estimator_checks, name)("TableEncoder", TableEncoder())


def test_the_encoder_says_what_it_does():
    table = {
        "age": [1.0, np.nan, 3.0, 5.0],
        "sex": ["f", "m", None, "f"],
        "same": [7.0] * 4,
        "none": [None] * 4,
        "plain": [1.0, 2.0, 4.0, 8.0],
    }
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(
        encoder.transform(table)[:, :5], [[1, 0, 0, 1, 0], [3, 1, 0, 0, 1], [3, 0, 1, 0, 0], [5, 0, 0, 1, 0]]
    )
    names = ["age", "age=(missing)", "sex=(missing)", "sex=f", "sex=m", "plain"]
    assert encoder.get_feature_names_out().tolist() == names
    assert kinds(encoder)[2:4] == [ColumnKind.CONSTANT, ColumnKind.EMPTY]
    assert encoder.summary() == [
        "age: 1 missing, replaced by the median 3 and marked in a column of zeros and ones.",
        "sex: 3 categories, one-hot encoded; 1 missing, a category of their own.",
        "same: left out: it has one value only.",
        "none: left out: it has no values.",
    ]


def test_new_categories_and_gaps_are_counted_and_said():
    encoder = TableEncoder().fit({"a": ["x", "y", "z"] * 2, "b": [1.0, 2.0, 3.0] * 2})
    with pytest.warns(TableWarning) as caught:
        found = encoder.transform({"a": ["new", "x", "new", "old"], "b": [None, 1, 2, 3], "c": [1] * 4})
    np.testing.assert_array_equal(found, [[0, 0, 0, 2], [1, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 3]])
    assert [str(warning.message) for warning in caught] == [
        "the data, column 'a': 3 rows with a category that the training data do not have ('new', 'old')",
        "the data, column 'b': 1 missing, filled in; there were none in the training data",
    ]
    with pytest.warns(TableWarning, match=r"1 row with a category that the training data do not have \(a gap\)"):
        encoder.transform({"a": [None], "b": [1]})


def test_new_rows_that_do_not_fit_are_refused():
    encoder = TableEncoder().fit({"a": ["x", "y", "z"] * 2, "b": [1.0, 2.0, 3.0] * 2})
    with pytest.raises(DataError, match="no column 'b'; the columns are a"):
        encoder.transform({"a": ["x"]})
    with pytest.raises(DataError, match="row 2, column 'b': expected a number, found 'q'"):
        encoder.transform({"a": ["x", "x"], "b": ["1", "q"]})
    with pytest.raises(DataError, match="expected a finite number"):
        encoder.transform({"a": ["x"], "b": [np.inf]})
    with pytest.raises(DataError, match="row 1, column 'b': expected a finite number"):
        TableEncoder().fit({"b": ["inf", "2", "3"]})
    with pytest.raises(DataError, match="columns of equal length"):
        encoder.transform({"a": ["x"], "b": [1.0, 2.0]})


def test_unknown_names_of_columns_are_answered_with_the_nearest():
    table = {"length": [1.0, 2.0, 4.0], "width": [1.0, 0.0, 2.0]}
    for options in ({"features": ["lenght"]}, {"drop": ["lenght"]}, {"categories": ["lenght"]}):
        with pytest.raises(DataError, match=r"no column 'lenght' \(did you mean 'length'"):
            TableEncoder(**options).fit(table)


def test_features_and_drop_choose_columns():
    table = {"a": [1.0, 2.0, 4.0], "b": [1.0, 0.0, 2.0], "c": [3.0, 1.0, 2.0]}
    assert TableEncoder(drop=["b"]).fit(table).get_feature_names_out().tolist() == ["a", "c"]
    encoder = TableEncoder(features=["c", "a"]).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["a", "c"]
    assert encoder.transform({"a": [1.0], "c": [2.0]}).tolist() == [[1.0, 2.0]]  # what is not used need not be there
    assert encoder.summary() == ["b: left out, as asked for."]


def test_many_categories_share_the_last_one():
    column = [f"v{i % 30}" for i in range(90)]
    encoder = TableEncoder(max_categories=5).fit({"a": column})
    assert encoder.plans_[0].column.categories[0] == "(other)"
    assert encoder.transform({"a": ["v29"]}).sum() == 1.0  # rare, but not new
    with pytest.warns(TableWarning, match="1 row with a category that the training data do not have"):
        assert encoder.transform({"a": ["v30"]}).sum() == 1.0
    assert encoder.summary() == ["a: 4 categories, one-hot encoded; 26 rarer ones share the category (other)."]


def test_texts_that_name_the_rows_are_left_out():
    rng = np.random.default_rng(0)
    b = rng.normal(size=30)
    encoder = TableEncoder().fit({"id": [f"id{i}" for i in range(30)], "b": b})
    assert kinds(encoder)[0] is ColumnKind.IDENTIFIER
    remarks = [f"remark {i // 2} about something" if i % 3 else f"only {i}" for i in range(60)]
    with pytest.warns(
        TableWarning, match="column 'remark': .* different texts such as 'only 0': it was left out; to use it"
    ):
        encoder = TableEncoder().fit({"remark": remarks, "b": np.tile(b, 2)})
    assert kinds(encoder)[0] is ColumnKind.IDENTIFIER
    assert kinds(TableEncoder(categories=["remark"]).fit({"remark": remarks}))[0] is ColumnKind.CATEGORICAL


def test_numbers_of_rows_are_pointed_out_and_left_out_if_their_name_says_so():
    rng = np.random.default_rng(0)
    counted, shuffled, b = np.arange(1, 31), rng.permutation(30), rng.normal(size=30)
    for name in ("id", "patient_id", "PatientId", "Unnamed: 0", "index", "row number", "No"):
        with pytest.warns(TableWarning, match=f"column '{name}': it counts the rows and was left out; to use it, name"):
            assert kinds(TableEncoder().fit({name: counted, "b": b})) == [ColumnKind.IDENTIFIER, ColumnKind.NUMERIC]
        with pytest.warns(TableWarning, match="it counts the rows; if it is no measurement, name it in drop"):
            TableEncoder(features=[name]).fit({name: counted})
    for name in ("id", "customer-id"):
        with pytest.warns(TableWarning, match="it names the rows and was left out"):
            TableEncoder().fit({name: shuffled * 7 + 100, "b": b})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kinds(TableEncoder().fit({"salary": shuffled * 7 + 100})) == [ColumnKind.NUMERIC]
    for values, words in ((counted, "it counts the rows"), (shuffled, "it numbers the rows, in another order")):
        with pytest.warns(TableWarning, match=f"column 'day': {words}; if it is no measurement, name it in drop"):
            assert kinds(TableEncoder().fit({"day": values})) == [ColumnKind.NUMERIC]


@pytest.mark.parametrize(
    ("column", "y", "words"),
    [
        (np.arange(12) ** 2, np.arange(12) ** 2, "it equals the target"),
        (["a", "b"] * 6, ["a", "b"] * 6, "it equals the target"),
        ([f"{v}" for v in range(0, 24, 2)], np.arange(0.0, 24.0, 2.0), "it equals the target"),
        (np.arange(12) ** 2 * 1.8 + 32, np.arange(12) ** 2, "it is a linear function of the target"),
        (["one", "two", "two"] * 4, [1, 2, 2] * 4, "its values are the classes of the target under other names"),
        ([5.0, 7.0, 7.0] * 4, [1, 0, 0] * 4, "its values are the classes of the target under other names"),
        (["3,5", "4,5", "1,25"] * 4, [3.5, 4.5, 1.25] * 4, "it equals the target"),
    ],
)
def test_columns_that_give_the_target_away_are_pointed_out(column, y, words):
    noise = np.random.default_rng(0).normal(size=12)
    with pytest.warns(
        TableWarning, match=f"column 'leak': {words}; if it is not known before the target is, name it in drop"
    ):
        TableEncoder().fit({"leak": column, "b": noise}, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder(drop=["leak"]).fit({"leak": column, "b": noise}, y)
        TableEncoder().fit({"a": noise + 0.01 * np.arange(12), "b": noise}, y)


def test_spellings_of_a_category_are_pointed_out():
    with pytest.warns(TableWarning, match="the categories 'Red' and 'red' differ in upper and lower case only"):
        TableEncoder().fit({"a": ["Red", "red", "blue", "blue"]})


def test_nothing_left_is_an_error():
    with pytest.raises(DataError, match="no column holds information"):
        TableEncoder().fit({"a": [1.0, 1.0]})
    for options in ({"max_categories": 1}, {"decimal": ";"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            TableEncoder(**options).fit({"a": [1.0, 2.0]})
    with pytest.raises(TypeError, match="drop: expected a sequence of names, found the text 'abc'"):
        TableEncoder(drop="abc").fit({"a": [1.0, 2.0]})


def test_data_frames_of_all_kinds_are_tables():
    pl = pytest.importorskip("polars")
    columns = {
        "age": [30, None, 50, 20],
        "sex": ["f", "m", None, "f"],
        "weight": [1.5, 2.0, 2.5, 4.0],
        "ok": [True, False, None, True],
    }
    frame = pd.DataFrame(columns)
    expected = TableEncoder().fit_transform(columns)
    assert expected.shape == (4, 8)
    frames = (frame, pl.DataFrame(columns), frame.convert_dtypes(), frame.astype({"sex": "category"}))
    for other in (*frames, frame.convert_dtypes(dtype_backend="pyarrow"), frame.astype(object)):
        np.testing.assert_array_equal(TableEncoder().fit_transform(other), expected)


def test_types_of_pandas_are_kept():
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2019-01-01", periods=4, freq="D", tz="Europe/Paris"),
            "took": pd.to_timedelta([1, 2, 3, 5], unit="D"),
            "size": pd.Categorical([1, 2, 1, 2]),
            "whole": pd.array([1, None, 3, 5], dtype="Int64"),
        }
    )
    encoder = TableEncoder().fit(frame)
    assert kinds(encoder) == [ColumnKind.DATE, ColumnKind.NUMERIC, ColumnKind.CATEGORICAL, ColumnKind.NUMERIC]
    np.testing.assert_allclose(encoder.transform(frame)[:, :2], [[0, 1], [1, 2], [2, 3], [3, 5]])


def test_pandas_out():
    out = TableEncoder().set_output(transform="pandas").fit_transform({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == ["a=y", "b"]


def test_a_refit_that_fails_leaves_the_encoder_as_it_was():
    encoder = TableEncoder().fit({"a": [1.0, 2.0]})
    with pytest.raises(DataError):
        encoder.fit({"b": [1.0, 1.0]})
    assert encoder.transform({"a": [3.0]}).tolist() == [[3.0]]
    assert clone(encoder).get_params() == encoder.get_params()


cells = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False), st.text(max_size=3))


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.dictionaries(
            st.text(min_size=1, max_size=3), st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=4
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_any_table_becomes_finite_numbers_or_an_error(columns):
    encoder = TableEncoder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        try:
            matrix = encoder.fit(columns).transform(columns)
        except DataError:
            return
    assert matrix.shape == (len(next(iter(columns.values()))), encoder.get_feature_names_out().size)
    assert np.all(np.isfinite(matrix))
