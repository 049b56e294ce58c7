"""One clear error for every kind of bad input to BayesianSVC."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as skk

from bayesvm import BayesianSVC
from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
from bayesvm.kernels import MLP, Constant, Gaussian, Precomputed
from bayesvm.likelihoods import GaussianNoise

N = 20
X = np.random.default_rng(0).normal(size=(N, 2))
y = np.where(X[:, 0] > 0.0, 1, 0)


def fit(X=X, y=y, sample_weight=None, **arguments):
    return BayesianSVC(**{"kernel": None, **arguments}).fit(X, y, sample_weight)


def with_entry(value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


@pytest.fixture(scope="module")
def fitted():
    return BayesianSVC(None, n_starts=1).fit(X, y)


# -- data -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": with_entry(np.nan)}, "Input X contains NaN"),
        ({"X": with_entry(np.inf)}, "Input X contains infinity"),
        ({"X": with_entry(-np.inf)}, "Input X contains infinity"),
        ({"y": np.ones(N)}, r"y: expected at least two classes, found one class, 1\.0"),
        ({"y": np.array(["yes"] * N)}, "y: expected at least two classes, found one class, 'yes'"),
        (
            {"X": X[:1], "y": y[:1]},
            r"Found array with 1 sample\(s\) .* while a minimum of 2 is required by BayesianSVC",
        ),
        (
            {"X": X[:0], "y": y[:0]},
            r"Found array with 0 sample\(s\) .* while a minimum of 2 is required by BayesianSVC",
        ),
        ({"X": X[:, :0]}, r"Found array with 0 feature\(s\) .* while a minimum of 1 is required by BayesianSVC"),
        ({"y": y[:-1]}, r"inconsistent numbers of samples: \[20, 19\]"),
        ({"X": np.array([["a", "b"]] * N)}, "could not convert string to float"),
        ({"X": X + 1j}, "Complex data not supported"),
        ({"X": X[:, 0]}, "Expected 2D array, got 1D array"),
        ({"X": X[:, :, None]}, "Found array with dim 3"),
        ({"y": None}, "requires y to be passed"),
        ({"y": X[:, 0]}, "Unknown label type: continuous"),
        ({"y": np.where(y > 0, np.nan, 0.0)}, "Input y contains NaN"),
        ({"y": np.c_[y, y]}, r"y should be a 1d array, got an array of shape \(20, 2\)"),
        ({"sample_weight": -np.ones(N)}, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": np.ones(N - 1)}, r"sample_weight.shape == \(19,\), expected \(20,\)"),
        ({"sample_weight": np.full(N, np.nan)}, "Input sample_weight contains NaN"),
        (
            {"sample_weight": y.astype(float)},
            "weights: expected a positive weight in every class, found none in class 0",
        ),
        (
            {"sample_weight": np.zeros(N)},  # the first since scikit-learn 1.7
            "Sample weights must contain at least one non-zero number|expected a positive weight in every class",
        ),
    ],
)
def test_data(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit(**arguments)


# -- kernels ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Gaussian().bounded(lengthscale=(-1.0, 2.0)),
            r"Gaussian.lengthscale: expected 0 < low <= high < inf, found \(-1.0, 2.0\)",
        ),
        (
            lambda: Gaussian().bounded(variance=(0.0, 2.0)),
            r"Gaussian.variance: expected 0 < low <= high < inf, found \(0.0, 2.0\)",
        ),
        (lambda: Gaussian().bounded(variance=(3.0, 2.0)), r"expected 0 < low <= high < inf, found \(3.0, 2.0\)"),
        (lambda: Gaussian().bounded(variance=(1.0, np.inf)), r"expected 0 < low <= high < inf, found \(1.0, inf\)"),
        (
            lambda: Gaussian().bounded(variance=(1.0, 2.0, 3.0)),
            r"expected a pair \(low, high\), found \(1.0, 2.0, 3.0\)",
        ),
        (
            lambda: Gaussian().bounded(scale=(1.0, 2.0)),
            "Gaussian has no parameter 'scale'; its parameters are variance, lengthscale",
        ),
        (lambda: Gaussian(1.0, -1.0), r"Gaussian.lengthscale: expected a positive number .*, found -1.0"),
        (lambda: fit(kernel=Gaussian().on([5])), "kernel.on: expected columns between 0 and 1, found 5"),
        (
            lambda: fit(kernel=Gaussian().on("age")),
            "kernel.on: column 'age' is given by name but the data has no feature names",
        ),
        (
            lambda: fit(kernel=Gaussian(1.0, (1.0, 2.0, 3.0), ard=True)),
            "Gaussian.lengthscale: expected one value for each of the 2 features of the data, found 3 values",
        ),
        (
            lambda: fit(kernel=Precomputed(), standardize=False),
            r"Precomputed: expected a symmetric square Gram matrix .*, found a matrix of shape \(20, 2\)",
        ),
    ],
)
def test_kernel_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


INDEFINITE = np.random.default_rng(1).normal(size=(N, N))
INDEFINITE = INDEFINITE + INDEFINITE.T


@pytest.mark.parametrize("optimizer", ["bfgs", None])
@pytest.mark.parametrize(
    ("data", "kernel"),
    [(INDEFINITE, Precomputed()), (X, MLP(1.0, 5.0, 5.0)), (X, MLP(1.0, 5.0, 5.0) + Constant())],
    ids=["precomputed", "mlp", "sum"],
)
def test_a_kernel_that_is_not_positive_definite(data, kernel, optimizer):
    message = r"the Gram matrix of .*(Precomputed|MLP).* \(20 x 20\) is not positive definite even with .* added"
    with pytest.raises(NotPositiveDefiniteError, match=message) as caught:
        fit(data, kernel=kernel, standardize=False, optimizer=optimizer)
    assert isinstance(caught.value, ValueError)


# -- constructor ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "adam"}, "optimizer: expected 'bfgs' or None, found 'adam'"),
        ({"n_starts": 0}, "n_starts: expected an integer of at least 1, found 0"),
        ({"n_starts": 2.5}, "n_starts: expected an integer of at least 1, found 2.5"),
        ({"n_starts": True}, "n_starts: expected an integer of at least 1, found True"),
        ({"max_evaluations": 0}, "max_evaluations: expected an integer of at least 1, found 0"),
        ({"evidence_tol": 0.0}, "evidence_tol: expected a positive number of nats, found 0.0"),
        ({"evidence_tol": -1}, "evidence_tol: expected a positive number of nats, found -1"),
        ({"evidence_tol": np.nan}, "evidence_tol: expected a positive number of nats, found nan"),
        ({"evidence_tol": np.inf}, "evidence_tol: expected a positive number of nats, found inf"),
        ({"evidence_tol": "small"}, "evidence_tol: expected a positive number of nats, found 'small'"),
        ({"hyperprior": "flat"}, "hyperprior: expected None or a bayesvm.hyper.Hyperprior, found 'flat'"),
        ({"kernel": "rgb"}, "kernel: .*rgb"),
        (
            {"kernel": 3},
            "kernel: expected a bayesvm kernel, a scikit-learn Gaussian process kernel or text .*, found 3",
        ),
        ({"kernel": Gaussian}, "kernel: expected a bayesvm kernel, .*, found <class"),
        ({"likelihood": "cauchy"}, "no likelihood is called 'cauchy'; the names are trigonometric, raised-cosine"),
        ({"likelihood": "hinge"}, "likelihood: expected 'trigonometric', .* normalised probability, found 'hinge'"),
        ({"likelihood": GaussianNoise()}, "likelihood: expected 'trigonometric', .*, found GaussianNoise"),
        ({"likelihood": 3}, "likelihood: expected 'trigonometric', .*, found 3"),
        ({"inference": "exact"}, "inference: expected one of 'laplace', 'ep', 'variational', found 'exact'"),
        ({"posterior": "exact"}, "posterior: expected None, 'ep' or the method of inference, 'laplace', found 'exact'"),
        ({"calibrate": "platt"}, "calibrate: expected 'auto', 'loo' or None, found 'platt'"),
        ({"class_weight": "even"}, "The 'class_weight' parameter .* Got 'even'"),
        ({"class_weight": {0: 1.0, 5: 2.0}}, r"The classes, \[1\], are not in class_weight"),
    ],
    ids=str,
)
def test_constructor_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit(**arguments)


def test_a_likelihood_that_laplace_cannot_treat():
    message = "Laplace's method cannot treat NormalizedHinge: it needs 1 continuous derivative.* and a convex loss"
    with pytest.raises(IncompatibleError, match=message):
        fit(likelihood="normalized-hinge")


def test_nothing_is_fitted_after_an_error():
    machine = BayesianSVC(None, optimizer="adam")
    with pytest.raises(ValueError, match="optimizer"):
        machine.fit(X, y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        machine.predict(X)


def test_a_scikit_learn_kernel_is_welcome():
    assert fit(kernel=skk.RBF(0.7), n_starts=1).score(X, y) > 0.8


# -- after fitting ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_latent"]
)
def test_prediction_checks_its_inputs(fitted, method):
    call = getattr(fitted, method)
    with pytest.raises(ValueError, match="X has 1 features, but BayesianSVC is expecting 2 features as input"):
        call(X[:, :1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        call(with_entry(np.nan))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(BayesianSVC(None), method)(X)


@pytest.mark.parametrize("shape", [(1,), (4,), (0,), (3, 1)], ids=str)
def test_log_evidence_wants_one_logarithm_per_parameter(fitted, shape):
    names = r"gaussian.variance, gaussian.lengthscale, constant.variance"
    found = str(shape).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"theta: expected 3 logarithms \({names}\), found an array of shape {found}"):
        fitted.log_evidence(np.zeros(shape))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.log_evidence([np.nan] * 3), "Gaussian.variance: expected a positive number .*, found nan"),
        (
            lambda m: m.select_features(),
            "select_features: expected a machine with one relevance per feature; fit it with ard=True",
        ),
        (lambda m: m.label_doubt(X, y[:3]), r"label_doubt: expected 20 labels, found shape \(3,\)"),
        (lambda m: m.label_doubt(X, y + 5), "label_doubt: expected labels among .*, found 5"),
        (
            lambda m: m.predict_proba(X, class_prior=[1.0]),
            r"class_prior: expected 2 positive frequencies .*, found \[1.0\]",
        ),
        (lambda m: m.predict_proba(X, class_prior=[1.0, -1.0]), "class_prior: expected 2 positive frequencies"),
        (
            lambda m: m.predict_proba(X, class_prior="flat"),
            "class_prior: expected None, 'empirical' or frequencies, found 'flat'",
        ),
    ],
)
def test_methods_of_a_fitted_machine(fitted, call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted)
