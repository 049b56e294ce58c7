"""A user's program with mistakes; the comments give the rule by which each type checker must find them."""

import numpy as np

import bayesvm
from bayesvm import BayesianSVC, BayesianSVR, compare, load, save, show_versions
from bayesvm import BayesianSVM  # mypy: attr-defined, pyright: reportAttributeAccessIssue
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Likelihood

X, y = np.zeros((20, 2)), np.arange(20) % 2

bayesvm.kernel.Gaussian()  # mypy: attr-defined, pyright: reportAttributeAccessIssue
BayesianSVC(C=10.0)  # mypy: call-arg, pyright: reportCallIssue
BayesianSVC(ard="yes")  # mypy: arg-type, pyright: reportArgumentType
BayesianSVR(n_starts="many")  # mypy: arg-type, pyright: reportArgumentType
BayesianSVC().fit(X)  # mypy: call-arg, pyright: reportCallIssue
BayesianSVC().fit(X, y).predict_probabilities(X)  # mypy: none, pyright: reportAttributeAccessIssue
number: int = BayesianSVC().fit(X, y)  # mypy: none, pyright: reportAssignmentType
label: str = BayesianSVC().fit(X, y).predict_proba(X)  # mypy: assignment, pyright: reportAssignmentType
Gaussian(width=1.0)  # mypy: call-arg, pyright: reportCallIssue
Gaussian(lengthscale="long")  # mypy: arg-type, pyright: reportArgumentType
likelihood: Likelihood = Gaussian() + Constant()  # mypy: assignment, pyright: reportAssignmentType
save(BayesianSVC())  # mypy: call-arg, pyright: reportCallIssue
save(BayesianSVC(), 3)  # mypy: arg-type, pyright: reportArgumentType
load("a.bvm", [dict])  # mypy: call-arg, pyright: reportCallIssue
compare({"svc": BayesianSVC()}, X, y).nonsense  # mypy: attr-defined, pyright: reportAttributeAccessIssue
show_versions(file="bug.txt")  # mypy: call-arg, pyright: reportCallIssue
