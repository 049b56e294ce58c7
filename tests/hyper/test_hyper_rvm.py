"""The evidence of a kernel of a relevance vector machine, as the search over kernels sees it."""

import numpy as np
import pytest
from rvm_problems import data

from bayesvm.hyper.rvm import RelevanceObjective, occam
from bayesvm.inference.rvm import SequentialRVM
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise, Logistic
from bayesvm.testing import five_point, relative_error


def test_evidence_of_the_kernel_has_the_right_gradient():
    X, y, labels = data(40)
    for likelihood, targets in ((GaussianNoise(0.01), y), (Logistic(), labels)):
        kernel = Gaussian(1.0, 1.3, ard=True).bind(2).fix("variance")
        objective = RelevanceObjective(kernel, likelihood, SequentialRVM(), Inputs(X), targets, True, 40)
        here = objective.evaluate(kernel.theta)

        def value(theta, objective=objective, latent=here.evidence.latent):
            return objective.evaluate(theta, latent).value

        assert relative_error(here.gradient, five_point(value, kernel.theta, step=1e-4)) < 1e-4


def test_occam_factors_count_subsets():
    assert occam(5, 0) == pytest.approx(np.log(6.0))
    assert occam(5, 2) - occam(5, 3) == pytest.approx(-(occam(5, 1) - occam(5, 0) - np.log(5.0)))
