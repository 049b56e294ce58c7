"""Pictures of the prior and of the evidence."""

import matplotlib as mpl
import numpy as np
import pytest

from bayesvm.datasets.sollich import make_sollich
from bayesvm.estimators.probabilistic_svc import ProbabilisticSVC
from bayesvm.kernels import Gaussian
from bayesvm.plots.hinge import EvidenceCurveDisplay, SVMPriorDisplay, sample_prior

mpl.use("Agg")


def test_draws_of_the_prior_have_its_covariance():
    X = np.array([[0.0, 0.0], [0.3, 0.1], [1.0, 1.0]])
    kernel = Gaussian(2.0, 0.5)
    draws = sample_prior(kernel, X, 20000, random_state=0)
    assert np.allclose(np.cov(draws), kernel.gram(X), atol=0.08)
    assert np.array_equal(draws, sample_prior(kernel, X, 20000, random_state=0))
    with pytest.raises(ValueError, match="sample_prior: expected a matrix"):
        sample_prior(kernel, X[:, 0])


def test_the_nine_panels_of_figure_1():
    display = SVMPriorDisplay.from_kernels(resolution=12)
    assert display.ax_.shape == (3, 3)
    assert len(display.figure_.axes) == 9
    p = display.probabilities(display.samples[0][0])
    assert np.all((p >= 0.0) & (p <= 1.0))
    mpl.pyplot.close("all")


def test_the_evidence_of_figure_2():
    X, y, _ = make_sollich(50, random_state=1)
    machine = ProbabilisticSVC(Gaussian(1.25, 0.05), optimizer=None, standardize=False, random_state=0, n_nodes=30)
    machine.fit(X, y)
    display = EvidenceCurveDisplay.from_estimator(machine, C=np.geomspace(0.5, 8.0, 10))
    assert len(display.ax_.lines) == 3
    mpl.pyplot.close("all")
