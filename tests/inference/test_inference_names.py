"""Inference methods by name or as objects."""

import numpy as np
import pytest

from bayesvm import inference
from bayesvm.inference import EP, PREDICTIVE_EP, Exact, Laplace, Variational
from bayesvm.inference.names import METHODS
from bayesvm.likelihoods import GaussianNoise, Logistic, Trigonometric, Weighted
from bayesvm.solvers import SMO, Auto, Newton


def test_every_name_makes_a_method():
    assert {name: type(inference.from_name(name)) for name in METHODS} == {
        "laplace": Laplace,
        "ep": EP,
        "variational": Variational,
    }


def test_the_solver_is_a_name_or_an_object():
    assert inference.from_name("laplace") == Laplace(Newton())
    assert inference.from_name("laplace", "smo") == Laplace(SMO())
    assert inference.from_name("laplace", Auto(memory=7)) == Laplace(Auto(memory=7))


def test_objects_are_taken_as_they_are():
    method = EP(tol=1e-3)
    assert inference.from_name(method, "smo", GaussianNoise()) is method


@pytest.mark.parametrize("name", METHODS)
def test_a_quadratic_loss_is_treated_exactly(name):
    assert inference.from_name(name, likelihood=GaussianNoise()) == Exact()
    assert inference.from_name(name, likelihood=Weighted(GaussianNoise(), np.ones(3))) == Exact()
    assert inference.from_name(name, likelihood=Logistic()) == inference.from_name(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "laplas",
            r"inference: expected one of 'laplace', 'ep', 'variational', found 'laplas'; did you mean 'laplace'\?",
        ),
        ("EP", r"found 'EP'; did you mean 'ep'\?"),
        ("mcmc", "found 'mcmc'; an object of type Inference is accepted too"),
        (3, "found 3; an object of type Inference"),
        (Laplace, "found <class"),
    ],
)
def test_other_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        inference.from_name(name, likelihood=GaussianNoise())


def test_a_wrong_solver_is_named_even_if_it_is_not_needed():
    with pytest.raises(ValueError, match="solver: expected one of 'newton', 'smo', 'auto', found 'simplex'"):
        inference.from_name("ep", "simplex")


def test_predictions_by_expectation_propagation_leave_weak_sites_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0.0, 1.0, -1.0)
    K = 4.0 * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1.0
    (few, _, status, _), (all_sites, *_) = (m.posterior(K, y, Trigonometric()) for m in (PREDICTIVE_EP, EP()))
    assert status.ok
    assert few.support.size < all_sites.support.size
    deviation = np.sqrt(all_sites.var(K[:, all_sites.support], np.diagonal(K)))
    moved = few.mean(K[:, few.support]) - all_sites.mean(K[:, all_sites.support])
    assert np.max(np.abs(moved) / deviation) < 0.05
