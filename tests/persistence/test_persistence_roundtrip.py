"""What is saved is what is loaded, for every estimator and everything that can be part of one."""

from __future__ import annotations

import dataclasses
import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_instances import CASES
from likelihood_instances import INSTANCES
from model_zoo import data, estimator_classes, fitted, models, predictions
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, WhiteKernel
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC
from bayesvm.kernels import Constant, Gaussian
from bayesvm.persistence import ModelFileError, load, read_info, save
from bayesvm.tables import TableEncoder

shared = pytest.mark.xdist_group("fitted models of every estimator")


@pytest.fixture(scope="module")
def zoo():
    return models()


def reloaded(estimator, **options):
    file = io.BytesIO()
    save(estimator, file, **options)
    return load(file, **{key: value for key, value in options.items() if key == "classes"})


def assert_same(a, b):
    for key, value in a.items():
        np.testing.assert_array_equal(value, b[key])


@shared
def test_every_estimator_predicts_the_same_after_loading(zoo, tmp_path):
    X = data(50, seed=1)[0]
    for name, model in zoo:
        path = tmp_path / f"{name}.bvm"
        save(model, path)
        loaded = load(path)
        assert type(loaded) is type(model)
        assert vars(loaded).keys() == vars(model).keys()
        if hasattr(model, "predict"):
            assert_same(predictions(model, X), predictions(loaded, X))


@shared
def test_the_zoo_has_the_machines(zoo):
    assert {"BayesianSVC", "BayesianLSSVC", "BayesianLSSVR", "Committee"} <= {name for name, _ in zoo}


def test_a_loaded_model_can_evaluate_its_evidence_and_be_saved_again(tmp_path):
    model = fitted(BayesianSVC(None, n_starts=1, max_evaluations=20))
    first, second = tmp_path / "first.bvm", tmp_path / "second.bvm"
    save(model, first)
    loaded = load(first)
    assert loaded.log_evidence() == model.log_evidence()
    save(loaded, second)
    assert first.read_bytes() == second.read_bytes()


def test_not_fitted_estimators_are_saved_too():
    for cls in estimator_classes():
        assert repr(reloaded(cls())) == repr(cls())


@pytest.mark.parametrize("kernel", [case.kernel for case in CASES], ids=[case.id for case in CASES])
def test_every_kernel(kernel):
    loaded = reloaded(BayesianSVC(kernel)).kernel
    assert repr(loaded) == repr(kernel)
    np.testing.assert_array_equal(loaded.theta, kernel.theta)
    np.testing.assert_array_equal(loaded.bounds, kernel.bounds)


@pytest.mark.parametrize("likelihood", INSTANCES, ids=repr)
def test_every_likelihood(likelihood):
    loaded = reloaded(BayesianSVC(None, likelihood=likelihood)).likelihood
    assert repr(loaded) == repr(likelihood)
    assert loaded.limits == likelihood.limits


@pytest.mark.parametrize(
    "kernel",
    [ConstantKernel(2.0) * RBF([1.0, 2.0]) + WhiteKernel(), ExpSineSquared(periodicity_bounds="fixed")],
    ids=repr,
)
def test_kernels_of_scikit_learn(kernel):
    assert reloaded(BayesianSVC(kernel)).kernel == kernel


@pytest.mark.parametrize(
    "seed", [3, np.random.default_rng(4), np.random.RandomState(5)], ids=lambda s: type(s).__name__
)
def test_random_states(seed):
    loaded = reloaded(BayesianSVC(None, random_state=seed)).random_state
    if isinstance(seed, int):
        assert loaded == seed
    else:
        assert loaded.normal() == seed.normal()


def test_sparse_inputs_and_names_of_features():
    pd = pytest.importorskip("pandas")
    X, y, _ = data(30)
    sparse = fitted(BayesianSVC(None, n_starts=1, max_evaluations=10), sp.csr_array(X), y)
    loaded = reloaded(sparse)
    assert sp.issparse(loaded.support_vectors_)
    np.testing.assert_array_equal(loaded.predict_proba(sp.csr_array(X)), sparse.predict_proba(sp.csr_array(X)))
    frame = pd.DataFrame(X, columns=["länge", "b"])
    named = fitted(BayesianSVC(None, n_starts=1, max_evaluations=10), frame, y)
    assert reloaded(named).feature_names_in_.tolist() == ["länge", "b"]
    assert reloaded(named).classes_.dtype == named.classes_.dtype


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([np.float32(1.5), np.int64(-3), np.bool_(True), np.float64("nan"), np.str_("é")])
    | st.sampled_from(
        [np.arange(3), np.zeros((0, 2)), np.asfortranarray(np.ones((2, 3))), np.array(["a", None], dtype=object)]
    )
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(values)
@settings(max_examples=60, deadline=None)
def test_any_plain_value_comes_back(value):
    loaded = reloaded(BayesianSVC(None, class_weight=value)).class_weight
    assert type(loaded) is type(value)
    np.testing.assert_equal(loaded, value)


@dataclasses.dataclass(frozen=True)
class OwnSetting:
    width: float


def test_classes_of_the_user_are_stored_when_they_are_named(tmp_path):
    model = BayesianSVC(None, class_weight=OwnSetting(2.0))
    path = tmp_path / "own.bvm"
    with pytest.raises(ModelFileError, match="OwnSetting, which is not on the list"):
        save(model, path)
    assert not path.exists()
    save(model, path, classes=[OwnSetting])
    with pytest.raises(ModelFileError, match="class of your own"):
        load(path)
    assert load(path, classes=[OwnSetting]).class_weight == OwnSetting(2.0)


def test_only_estimators_of_this_library_are_saved(tmp_path):
    with pytest.raises(ModelFileError, match="expected an estimator"):
        save(3, tmp_path / "x.bvm")
    with pytest.raises(ModelFileError, match="RBFSampler, which is not on the list"):
        save(make_pipeline(RBFSampler(), BayesianSVC(None)), tmp_path / "x.bvm")
    with pytest.raises(ModelFileError, match="memory"):
        save(make_pipeline(BayesianSVC(None), memory="cache"), tmp_path / "x.bvm")
    with pytest.raises(ModelFileError, match="JSON"):
        save(BayesianSVC(None), tmp_path / "x.bvm", info={"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_pipelines_with_a_table():
    X, y, _ = data(30)
    table = {"a": X[:, 0].tolist(), "b": [None, *X[1:, 1].tolist()], "c": ["u", "v", None] * 10}
    model = make_pipeline(TableEncoder(), BayesianSVC(None, n_starts=1, max_evaluations=10))
    fitted(model, table, y)
    loaded = reloaded(model)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded[0].plans_ == model[0].plans_


def test_remarks_are_read_without_the_model(tmp_path):
    path = tmp_path / "m.bvm"
    save(BayesianSVC(None), path, info={"target": "y", "n": [1, 2]})
    info = read_info(path)
    assert (info["target"], info["n"], info["estimator"], info["version"]) == ("y", [1, 2], "BayesianSVC", 4)


@shared
def test_pickle_and_joblib(zoo, tmp_path):
    X = data(20, seed=1)[0]
    for _, model in zoo:
        if hasattr(model, "predict"):
            assert_same(predictions(model, X), predictions(pickle.loads(pickle.dumps(model)), X))
    joblib.dump(model, tmp_path / "m.joblib")
    assert_same(predictions(model, X), predictions(joblib.load(tmp_path / "m.joblib"), X))


@shared
def test_skops(zoo):
    skops = pytest.importorskip("skops.io")
    X = data(20, seed=1)[0]
    for _, model in zoo:
        stored = skops.dumps(model)
        loaded = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
        if hasattr(model, "predict"):
            assert_same(predictions(model, X), predictions(loaded, X))


def test_a_given_kernel_object_is_shared_in_meaning():
    kernel = Gaussian(ard=True) + Constant()
    loaded = reloaded(fitted(BayesianSVC(kernel, n_starts=1, max_evaluations=5)))
    assert loaded.kernel == kernel
