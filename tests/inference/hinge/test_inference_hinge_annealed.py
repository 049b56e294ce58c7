"""Annealed importance sampling against exact integrals, with its errors."""

import numpy as np
import pytest
from hinge_problems import KERNEL, problem, random_problem

from bayesvm.inference.hinge import (
    Annealing,
    HingeExactOrEP,
    annealed_evidence,
)
from bayesvm.inference.hinge.annealed import scatter_of_logs
from bayesvm.likelihoods import Hinge


def test_annealed_estimates_and_their_errors():
    rng = np.random.default_rng(4)
    scores = []
    for _ in range(30):
        K, y, C = random_problem(rng)
        truth = HingeExactOrEP().infer(K, y, Hinge(C))[1].value
        run = annealed_evidence(K, y, Hinge(C), Annealing(500, 12, 1), rng)
        scores.append((run.log_mean - truth) / run.error)
    assert np.mean(np.abs(scores) < 2.0) >= 0.85
    assert abs(np.mean(scores)) < 0.6


def test_annealed_and_gaussian_agree_on_more_points():
    X, y = problem(20)
    K = KERNEL.gram(X)
    run = annealed_evidence(K, y, Hinge(2.0), Annealing(500, 100, 2), np.random.default_rng(0))
    assert run.error < 0.3
    assert abs(run.log_mean - HingeExactOrEP().infer(K, y, Hinge(2.0))[1].value) < 4.0 * run.error + 0.02


def test_runs_that_differ_by_many_nats_do_not_claim_to_know_one():
    close = np.log(np.array([1.0, 1.1, 0.9, 1.0]))[:, None]
    assert scatter_of_logs(close)[0] == pytest.approx(np.std(np.exp(close), ddof=1) / 2.0, rel=0.02)
    far = np.array([-370.0, -340.0, -390.0, -385.0])
    assert scatter_of_logs(far[:, None])[0] == pytest.approx(np.std(far, ddof=1) / 2.0)
