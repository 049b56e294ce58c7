"""Which work a method does unless it is told otherwise: options are promises to users, written out again."""

import dataclasses

import pytest

import bayesvm.likelihoods as lib
from bayesvm.inference import EP, PREDICTIVE_EP, Exact, FactorAnalysed, Laplace, Variational
from bayesvm.inference.hinge import Annealing, HingeExactOrEP, NaiveHinge, Normalizer, SliceSampling
from bayesvm.inference.ls_svm import Design
from bayesvm.inference.mlp import Network, NetworkTrainer
from bayesvm.inference.names import MANY_ROWS_EP
from bayesvm.inference.rvm import SequentialRVM

EP_OPTIONS = {"tol": 1e-7, "max_iter": 200, "drop": 1e-8, "prune": 0.0}
OPTIONS = [
    (EP(), EP_OPTIONS),
    (PREDICTIVE_EP, {**EP_OPTIONS, "tol": 1e-4, "prune": 0.05}),
    (MANY_ROWS_EP, {**EP_OPTIONS, "tol": 1e-4}),
    (Variational(), {"tol": 1e-9, "max_iter": 200, "starts": 2}),
    (FactorAnalysed(), {"rank": 2, "tol": 1e-5, "max_iter": 2000}),
    (NaiveHinge(), {"guarded": True}),
    (HingeExactOrEP(), {"doubt": 5.0, "exact_up_to": 3}),
    (Annealing(), {"paths": 1000, "temperatures": 1, "moves": 1, "power": 2.0, "resample": 0.0}),
    (SliceSampling(), {"draws": 400, "chains": 20, "burn_in": 50, "thin": 10}),
    (SequentialRVM(), {"tol": 1e-2, "max_iter": 1000}),
    (Design(5), {"bias": True, "least_noise": 1e-7}),
    (Network(2, 3, 1), {"ard": True}),
    (NetworkTrainer(), {"tol": 0.01, "max_cycles": 100, "steps": 200}),
]


@pytest.mark.parametrize(
    ("method", "options"), OPTIONS, ids=[f"{type(m).__name__}{i}" for i, (m, _) in enumerate(OPTIONS)]
)
def test_options(method, options):
    assert {name: getattr(method, name) for name in options} == options


def test_the_seed_of_a_normaliser():
    assert {f.name: f.default for f in dataclasses.fields(Normalizer)}["seed"] == 0


@pytest.mark.parametrize(
    "method", [Exact(), Laplace(), EP(), Variational(), HingeExactOrEP()], ids=lambda m: type(m).__name__
)
def test_a_method_that_can_treat_a_likelihood_is_suited_as_it_is(method):
    likelihood = {Exact: lib.GaussianNoise(), HingeExactOrEP: lib.Hinge()}.get(type(method), lib.Logistic())
    assert method.suited(likelihood) is method
