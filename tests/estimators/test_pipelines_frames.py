"""Data frames in, names out: pandas, polars, pipelines, HTML representation."""

from __future__ import annotations

import numpy as np
import pytest
from model_zoo import data, estimator_classes, fitted, quick
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesvm import BayesianSVC
from bayesvm.tables import TableEncoder

pd = pytest.importorskip("pandas")
NAMES = ["length", "width"]


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
def test_names_of_pandas_columns_are_kept_and_checked(cls):
    X, labels, targets = data(24)
    frame = pd.DataFrame(X, columns=NAMES)
    model = quick(cls)
    fitted(model, frame, labels if is_classifier(model) else targets)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.copy()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])


def test_polars_in():
    pl = pytest.importorskip("polars")
    X, y, _ = data()
    frame = pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})
    model = fitted(BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10), frame, pl.Series(y))
    assert model.feature_names_in_.tolist() == NAMES
    assert set(model.named_relevance_) == set(NAMES)
    plain = fitted(BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10), X, y)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X))


def test_names_reach_relevances_and_hyperparameters():
    X, y, _ = data()
    model = fitted(BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10), pd.DataFrame(X, columns=NAMES), y)
    assert set(model.named_relevance_) == set(NAMES)
    assert "gaussian.lengthscale[width]" in model.theta_names_
    assert set(model.select_features("0.1*mean").get_feature_names_out()) <= set(NAMES)


def test_pandas_out_of_a_pipeline():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=NAMES).assign(colour=["red", "blue", "red"] * 12)
    frame.loc[3, "length"] = np.nan
    steps = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NAMES),
            ("text", OneHotEncoder(sparse_output=False), ["colour"]),
        ]
    )
    model = make_pipeline(steps, BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10)).set_output(
        transform="pandas"
    )
    fitted(model, frame, y)
    assert "text__colour_red" in model[-1].feature_names_in_.tolist()
    own = make_pipeline(TableEncoder(), BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10)).set_output(
        transform="pandas"
    )
    fitted(own, frame, y)
    assert own[-1].feature_names_in_.tolist() == ["length", "length=(missing)", "width", "colour=red"]
    assert isinstance(own[:-1].transform(frame), pd.DataFrame)


def test_selected_features_are_a_data_frame_if_asked_for():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=NAMES)
    model = fitted(BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10), frame, y)
    selector = model.select_features("0.1*mean").set_output(transform="pandas")
    assert list(selector.transform(frame).columns) == list(selector.get_feature_names_out())


@pytest.mark.parametrize("cls", [*estimator_classes(), TableEncoder], ids=lambda cls: cls.__name__)
def test_html_representation(cls):
    html = cls()._repr_html_()
    assert cls.__name__ in html
    assert html.lstrip().startswith("<")


def test_the_encoder_is_a_transformer_like_others():
    from sklearn.base import clone

    encoder = clone(TableEncoder(max_categories=3))
    assert encoder.get_params()["max_categories"] == 3
    X = data()[0]
    np.testing.assert_array_equal(encoder.fit(X).transform(X), X)
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2"):
        encoder.transform(np.column_stack([X, X[:, 0]]))
