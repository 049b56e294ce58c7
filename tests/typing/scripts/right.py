"""A user's program that type checkers accept, with the types that they must find."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import bayesvm
from bayesvm import (
    BayesianSVC,
    BayesianSVR,
    Committee,
    GPClassifier,
    compare,
    kernels,
    likelihoods,
    load,
    save,
    suggest,
)
from bayesvm.comparison import Comparison
from bayesvm.kernels import Constant, Gaussian, Kernel, Linear
from bayesvm.kernels.combine import Product, Sum

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
y = np.where(X[:, 0] > 0.0, 1, -1)

assert_type(bayesvm.__version__, str)
assert_type(bayesvm.show_versions(), None)

model = BayesianSVC(ard=True, n_starts=2, random_state=0)
assert_type(model, BayesianSVC)
assert_type(model.fit(X, y), BayesianSVC)
assert_type(model.fit(X, y, sample_weight=np.ones(20)).predict_proba(X), NDArray[np.float64])

regressor = BayesianSVR().fit(X, X[:, 0])
assert_type(regressor, BayesianSVR)
assert_type(GPClassifier().fit(X, y), GPClassifier)

assert_type(Gaussian() + Constant(), Sum)
assert_type(2.0 * Gaussian(lengthscale=0.5) * Linear(), Product)
kernel: Kernel = kernels.Gaussian(variance=2.0).on([0, 1]) + Constant()
BayesianSVC(kernel, likelihood=likelihoods.Trigonometric())

assert_type(compare({"svc": BayesianSVC(), "gp": GPClassifier()}, X, y), Comparison)
assert_type(suggest(model, X, 3), NDArray[np.intp])
save(model, "model.bvm", info={"made by": "a script"})
again: BayesianSVC | Committee = load("model.bvm")
