"""What holds for every public estimator: scikit-learn's checks, bad input, fits as transactions, attributes."""

import inspect
import pickle

import numpy as np
import pytest
from public_estimators import QUICK, choosing, estimator_names, instances, quick, small_data
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesvm
from bayesvm.kernels import Kernel
from bayesvm.models import FittedModel, fit

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),  # array libraries that are not installed
    pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning"),
]
NAMES = sorted(QUICK)
every = pytest.mark.parametrize("name", NAMES)
SELF_TUNING = [name for name in NAMES if "evidence_tol" in quick(name).get_params() and "MLP" not in name]


def test_the_registry_has_every_public_estimator():
    assert estimator_names() == NAMES


#: Checks that differ from another one of the list in the container of the data alone: memory maps of 64-bit numbers
#: (those of 32 bits stay), sparse matrices (sparse arrays stay).
ALIKE = {
    ("check_classifiers_train", (("readonly_memmap", True),)),
    ("check_regressors_train", (("readonly_memmap", True),)),
    ("check_estimator_sparse_matrix", ()),
}


def contract():
    """Return scikit-learn's checks of all estimators; those that are almost twins of others are slow."""

    def parameter(estimator, check):
        call = getattr(check, "func", check).__name__, tuple(getattr(check, "keywords", {}).items())
        return pytest.param(estimator, check, marks=pytest.mark.slow if call in ALIKE else ())

    return [parameter(*pair) for pair in parametrize_with_checks(instances()).args[1]]


@pytest.mark.parametrize(("estimator", "check"), contract(), ids=parametrize_with_checks([]).kwargs["ids"])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(choosing())
def test_scikit_learn_contract_with_a_choice_of_kernels(estimator, check):
    check(estimator)


# -- constructors ------------------------------------------------------------------------------------------------------
@every
def test_the_kernel_is_the_first_argument_and_all_others_have_names(name):
    parameters = list(inspect.signature(getattr(bayesvm, name)).parameters.values())
    names = [parameter.name for parameter in parameters]
    if "kernel" in names:
        assert names[0] == "kernel"
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[1:])
    assert not {"bias", "priors", "n_samples"} & set(names)
    assert not ({"tol", "max_iter"} & set(names) and {"evidence_tol", "max_evaluations", "max_cycles"} & set(names))


# -- bad input ---------------------------------------------------------------------------------------------------------
def spoilt(X, value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


BAD = {
    "nan": lambda X, y: (spoilt(X, np.nan), y),
    "inf": lambda X, y: (spoilt(X, np.inf), y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no features": lambda X, y: (X[:, :0], y),
    "lengths": lambda X, y: (X, y[:-1]),
    "text": lambda X, y: (np.full(X.shape, "a"), y),
    "complex": lambda X, y: (X + 1j, y),
    "one dimension": lambda X, y: (X[:, 0], y),
    "three dimensions": lambda X, y: (X[:, :, None], y),
    "no targets": lambda X, y: (X, None),
}


@every
@pytest.mark.parametrize("kind", sorted(BAD))
def test_bad_data_is_refused_and_nothing_is_fitted(name, kind):
    estimator = quick(name)
    X, y = small_data(estimator)
    with pytest.raises((ValueError, TypeError)):
        estimator.fit(*BAD[kind](X, y))
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@every
def test_targets_without_meaning_are_refused(name):
    estimator = quick(name)
    X, y = small_data(estimator)
    wrong = np.full(len(y), "yes") if is_classifier(estimator) else np.where(np.arange(len(y)) == 2, np.nan, y)
    with pytest.raises(ValueError, match=r"class|NaN"):
        estimator.fit(X, wrong)


# -- fits are transactions ---------------------------------------------------------------------------------------------
def answers(estimator, X):
    return pickle.dumps([np.asarray(estimator.predict(X)), sorted(vars(estimator))])


@every
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name):
    estimator = quick(name)
    X, y = small_data(estimator)
    estimator.fit(X, y)
    before = answers(estimator, X)
    other = np.hstack([X, X])  # another number of features
    with pytest.raises((ValueError, TypeError)):
        estimator.fit(other, y[:-1])
    with pytest.raises(ValueError, match=r"NaN|class|infinity"):
        estimator.fit(spoilt(other, np.nan), y)
    assert answers(estimator, X) == before


@pytest.mark.parametrize("name", SELF_TUNING)
def test_a_fit_that_breaks_off_leaves_the_estimator_as_it_was(name, monkeypatch):
    estimator = quick(name)
    X, y = small_data(estimator)
    estimator.fit(X, y)
    before = answers(estimator, X)

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "starting_thetas", broken)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(np.hstack([X, X]), y)
    monkeypatch.undo()
    assert answers(estimator, X) == before


# -- attributes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SELF_TUNING)
def test_attributes_have_one_form_whatever_the_number_of_outputs(name):
    estimator = quick(name)
    X, y = small_data(estimator, n=40)
    several = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7]) if is_classifier(estimator) else np.column_stack([y, X[:, 0]])
    for targets in (y, several):
        fitted = clone(estimator).fit(X, targets)
        outputs = sum(model.n_outputs for model in fitted.models_)
        assert len(fitted.kernels_) == len(fitted.likelihoods_) == outputs == len(fitted.dual_coef_)
        assert all(isinstance(kernel, Kernel) for kernel in fitted.kernels_)
        assert all(hasattr(record, "value") for record in fitted.history_)
        assert isinstance(fitted.candidates_, tuple)
        for model in fitted.models_:
            assert_satisfies_the_protocol(model, fitted._standardizer.inputs(X[:3]))


def assert_satisfies_the_protocol(model, inputs):
    for member in [m for m in vars(FittedModel) if not m.startswith("_")]:
        assert hasattr(model, member), member
    mean, var = model.latent(inputs)
    assert mean.shape == var.shape == model.mean(inputs).shape == (3, model.n_outputs)
    np.testing.assert_allclose(mean, model.mean(inputs))
    assert model.sample(inputs, 2, np.random.default_rng(0)).shape == (3, 2, model.n_outputs)
    assert model.coefficients.shape == (model.n_outputs, model.support.size)
    assert all(isinstance(problem, str) for problem in model.problems)


@pytest.mark.parametrize("name", [name for name in SELF_TUNING if "kernel" in QUICK[name] or "SV" in name])
def test_one_kernel_is_an_attribute_and_several_are_named(name):
    estimator = quick(name)
    X, y = small_data(estimator)
    assert not hasattr(estimator, "kernel_")
    estimator.fit(X, y)
    assert estimator.kernel_ is estimator.kernels_[0]
    assert estimator.likelihood_ is estimator.likelihoods_[0]


# -- metadata routing --------------------------------------------------------------------------------------------------
def test_weights_and_class_priors_are_routed_through_a_pipeline():
    from sklearn import config_context
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0.0).astype(int)
    weights = rng.uniform(0.5, 2.0, 40)
    plain = bayesvm.BayesianSVC(None, n_starts=1).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        machine = bayesvm.BayesianSVC(None, n_starts=1).set_fit_request(sample_weight=True)
        machine = machine.set_predict_proba_request(class_prior=True).set_predict_request(class_prior=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, machine).fit(X, y, sample_weight=weights)
        routed = pipeline.predict_proba(X, class_prior=[0.9, 0.1])
    expected = plain.predict_proba(StandardScaler().fit_transform(X), class_prior=[0.9, 0.1])
    np.testing.assert_allclose(routed, expected, atol=1e-6)
