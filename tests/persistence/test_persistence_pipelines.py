"""Pipelines of scikit-learn's common transformers are saved and loaded without further words."""

from __future__ import annotations

import numpy as np
import pytest
from model_zoo import data, fitted
from sklearn import compose, decomposition, feature_selection, impute, preprocessing
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union

from bayesvm import BayesianSVC, BayesianSVR, load, save
from bayesvm.persistence import ModelFileError
from bayesvm.persistence.transformers import TRANSFORMERS

NUMERIC = [
    decomposition.PCA(2),
    decomposition.TruncatedSVD(2, random_state=0),
    feature_selection.VarianceThreshold(),
    impute.SimpleImputer(strategy="median", add_indicator=True),
    make_union(preprocessing.MaxAbsScaler(), decomposition.PCA(1)),
    preprocessing.FunctionTransformer(),
    preprocessing.KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.Normalizer(),
    preprocessing.PolynomialFeatures(2),
    preprocessing.PowerTransformer(),
    preprocessing.QuantileTransformer(n_quantiles=10),
    preprocessing.RobustScaler(),
    preprocessing.StandardScaler(),
]


def again(model, tmp_path):
    save(model, tmp_path / "m.bvm")
    return load(tmp_path / "m.bvm")


@pytest.mark.parametrize("transformer", NUMERIC, ids=lambda one: type(one).__name__)
def test_transformers_of_numbers(transformer, tmp_path):
    X, y, _ = data()
    if isinstance(transformer, impute.SimpleImputer):
        X = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    model = fitted(make_pipeline(transformer, BayesianSVC(None, n_starts=1, max_evaluations=10)), X, y)
    found = again(model, tmp_path)
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
    assert repr(found[0]) == repr(model[0])


def test_a_table_through_a_column_transformer(tmp_path):
    pd = pytest.importorskip("pandas")
    X, _, targets = data(60)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0.5, "red", "blue"), "d": X[:, 0] > 0})
    columns = compose.ColumnTransformer(
        [
            ("numbers", preprocessing.StandardScaler(), ["a"]),
            ("text", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["c"]),
            ("codes", preprocessing.OrdinalEncoder(), ["d"]),
        ],
        remainder="passthrough",
    )
    model = fitted(make_pipeline(columns, BayesianSVR(n_starts=1, max_evaluations=10)), table, targets)
    found = again(model, tmp_path)
    np.testing.assert_array_equal(found.predict(table), model.predict(table))
    assert found[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()


def test_the_list_is_tested():
    tested = {type(one) for one in NUMERIC} | {
        compose.ColumnTransformer,
        impute.MissingIndicator,  # part of the imputer
        preprocessing.OneHotEncoder,
        preprocessing.OrdinalEncoder,
        FeatureUnion,
    }
    assert tested == set(TRANSFORMERS)


def test_functions_are_no_data(tmp_path):
    model = make_pipeline(preprocessing.FunctionTransformer(np.log1p), BayesianSVC())
    with pytest.raises(ModelFileError, match="func"):
        save(model, tmp_path / "m.bvm")


def test_another_release_of_scikit_learn_is_warned_about(tmp_path, monkeypatch):
    X, y, _ = data()
    model = fitted(make_pipeline(preprocessing.StandardScaler(), BayesianSVC(n_starts=1)), X, y)
    save(model, tmp_path / "m.bvm")
    monkeypatch.setattr("sklearn.__version__", "99.1.0")
    with pytest.warns(InconsistentVersionWarning, match="StandardScaler"):
        load(tmp_path / "m.bvm")
