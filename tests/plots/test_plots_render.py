"""Every display is drawn to pixels and looked at: no warning, ink on the paper, the right labels."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from model_zoo import data, fitted
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC, plots
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.kernels import Constant, Gaussian, Linear
from bayesvm.likelihoods import Hinge, Huber, Logistic, SoftInsensitive, Trigonometric
from bayesvm.tables import TableEncoder

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def classifier():
    return fitted(BayesianSVC(None, n_starts=2, max_evaluations=30, posterior="laplace"), *data()[:2])


@pytest.fixture(scope="module")
def regressor():
    X, _, y = data()
    return fitted(BayesianSVR(None, likelihood="soft-insensitive", n_starts=1, max_evaluations=20), X, y)


def pixels(display):
    """Draw a display and return its pixels in grey."""
    canvas = display.figure_.canvas
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].mean(axis=2)


def assert_drawn(display):
    grey = pixels(display)
    assert np.mean(grey < 250.0) > 0.01
    for ax in np.ravel(display.ax_):
        assert ax.get_xlabel()
        assert ax.get_title() or ax.get_xlabel()


def test_evidence_trace(classifier):
    display = plots.EvidenceTraceDisplay.from_estimator(classifier)
    assert_drawn(display)
    assert len(display.records) == len(classifier.history_)
    traced = plots.EvidenceTraceDisplay.from_estimator(classifier, retrace=True)
    assert_drawn(traced)
    assert all(np.all(np.diff(trace) >= 0.0) for trace in traced.traces)


def test_evidence_surface_is_highest_at_the_optimum():
    X, y, _ = data()
    smooth = fitted(BayesianSVC(None, likelihood="logistic", posterior="laplace", n_starts=1), X, y)
    display = plots.EvidenceSurfaceDisplay.from_estimator(smooth, *data(20, seed=2)[:2], grid=5)
    assert_drawn(display)
    assert display.evidence[2, 2] == pytest.approx(smooth.log_evidence_)
    assert np.all(display.evidence <= display.evidence[2, 2] + 0.05)
    assert display.error.shape == (5, 5)
    assert_drawn(plots.EvidenceSurfaceDisplay.from_estimator(smooth, parameters=smooth.theta_names_[1:3], grid=3))
    with pytest.raises(ValueError, match="expected two of"):
        plots.EvidenceSurfaceDisplay.from_estimator(smooth, parameters=("a", "b"))


def test_decision_surface(classifier):
    X, y, _ = data()
    display = plots.DecisionSurfaceDisplay.from_estimator(classifier, X, y, grid=20)
    assert_drawn(display)
    assert display.latent is not None
    three = np.digitize(X[:, 0], [-0.4, 0.4])
    several = fitted(BayesianSVC(None, n_starts=1, max_evaluations=10), X, three)
    assert_drawn(plots.DecisionSurfaceDisplay.from_estimator(several, X, three, grid=20))


def test_decision_surface_of_a_data_frame(classifier):
    pd = pytest.importorskip("pandas")
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = fitted(BayesianSVC(None, n_starts=1, max_evaluations=10), frame, y)
    display = plots.DecisionSurfaceDisplay.from_estimator(model, frame, y, grid=10)
    assert display.ax_.get_xlabel() == "length"


def test_latent_function(classifier, regressor):
    X, labels, y = data()
    assert_drawn(plots.LatentFunctionDisplay.from_estimator(classifier, X, labels))
    display = plots.LatentFunctionDisplay.from_estimator(regressor, X, y, feature=1)
    assert_drawn(display)
    assert np.all(display.lower < display.mean)


def test_relevance():
    X, y, _ = data()
    model = fitted(BayesianSVC(None, ard=True, n_starts=1, max_evaluations=10), X, y)
    assert_drawn(plots.RelevanceDisplay.from_estimator(model))
    with pytest.raises(ValueError, match="ard=True"):
        plots.RelevanceDisplay.from_estimator(fitted(BayesianSVC(None, n_starts=1, max_evaluations=5), X, y))


def test_reliability(classifier):
    X, y, _ = data(60, seed=3)
    display = plots.ReliabilityDisplay.from_estimator(classifier, X, y)
    assert_drawn(display)
    assert display.counts.sum() == 60
    assert np.all((display.lower <= display.observed + 1e-12) | (display.observed == 0.0))
    rng = np.random.default_rng(0)
    p = rng.random(20000)
    even = plots.ReliabilityDisplay.from_predictions(rng.random(20000) < p, p)
    np.testing.assert_allclose(even.observed, even.predicted, atol=0.04)
    with pytest.raises(ValueError, match="one length"):
        plots.ReliabilityDisplay.from_predictions([1, 0], [0.5])


def test_residuals(regressor):
    X, _, y = data(60, seed=3)
    display = plots.ResidualsDisplay.from_estimator(regressor, X, y)
    assert_drawn(display)
    assert 0.5 < display.coverage <= 1.0
    exact = plots.ResidualsDisplay.from_predictions([0.0, 5.0], [0.0, 0.0], [-1.0, -1.0], [1.0, 1.0])
    assert exact.coverage == 0.5


def test_losses_and_densities():
    assert_drawn(plots.LossDisplay.from_likelihoods([Trigonometric(), Hinge(), Logistic()]))
    regression = [SoftInsensitive(), Huber()]
    assert_drawn(plots.LossDisplay.from_likelihoods(regression))
    display = plots.NoiseDensityDisplay.from_likelihoods(regression, limits=(-30.0, 30.0))
    assert_drawn(display)
    for line in display.ax_.get_lines():
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1.0, abs=0.02)
    with pytest.raises(TypeError, match="one kind"):
        plots.LossDisplay.from_likelihoods([Hinge(), Huber()])
    with pytest.raises(TypeError, match="Regression"):
        plots.NoiseDensityDisplay.from_likelihoods(Hinge())


def test_prior_samples():
    display = plots.PriorSamplesDisplay.from_kernel(Gaussian(4.0) + Linear() + Constant(), n_draws=3)
    assert_drawn(display)
    assert display.samples.shape == (200, 3)
    again = plots.PriorSamplesDisplay.from_kernel(Gaussian(4.0) + Linear() + Constant(), n_draws=3)
    np.testing.assert_array_equal(display.samples, again.samples)
    with pytest.raises(TypeError, match="expected a kernel"):
        plots.PriorSamplesDisplay.from_kernel("gaussian")


def test_comparison():
    table = {"log evidence": [-10.0, None], "error": [(0.1, 0.02), (0.2, 0.03)]}
    assert_drawn(plots.ComparisonDisplay.from_table(["a", "b"], table))
    with pytest.raises(ValueError, match="expected 2 values"):
        plots.ComparisonDisplay.from_table(["a", "b"], {"error": [0.1]})


def test_pipelines_are_drawn_by_their_last_step():
    X, y, _ = data()
    model = fitted(make_pipeline(TableEncoder(), BayesianSVC(None, n_starts=1, max_evaluations=10)), X, y)
    assert_drawn(plots.EvidenceTraceDisplay.from_estimator(model))
    assert_drawn(plots.ReliabilityDisplay.from_estimator(model, X, y))


def test_given_axes_are_used(classifier):
    _, ax = plt.subplots()
    assert plots.EvidenceTraceDisplay.from_estimator(classifier, ax=ax).ax_ is ax


def test_estimators_without_the_attributes_are_refused():
    from bayesvm.estimators.extended_svc import ExtendedSVC

    X, y, _ = data()
    with pytest.raises(TypeError, match="has no"):
        plots.LatentFunctionDisplay.from_estimator(fitted(TableEncoder(), X, y), X, y)
    with pytest.raises(TypeError, match="has no"):
        plots.ReliabilityDisplay.from_estimator(fitted(ExtendedSVC(), X, y), X, y)


def test_colours_differ_in_grey_and_surfaces_grow_lighter():
    from bayesvm.plots._display import COLOURS, SURFACE

    def grey(rgb):
        return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]

    levels = [grey(matplotlib.colors.to_rgb(colour)) for colour in COLOURS]
    assert all(abs(a - b) > 0.1 for a, b in pairwise(levels))
    ramp = [grey(rgb) for rgb in matplotlib.colormaps[SURFACE](np.linspace(0.0, 1.0, 32))[:, :3]]
    assert np.all(np.diff(ramp) > 0.0)


def test_matplotlib_is_imported_only_when_something_is_drawn():
    code = "import sys, bayesvm.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_classes_have_colours_of_their_own_and_round_levels():
    X, _, targets = data(60)
    classes = np.digitize(targets, [-0.6, 0.6])
    display = plots.DecisionSurfaceDisplay.from_estimator(
        fitted(BayesianSVC(n_starts=1), X, classes), X, classes, grid=20
    )
    points = [c for c in display.ax_.collections if c.get_label() in {"0", "1", "2"}]
    assert len({tuple(c.get_facecolor()[0]) for c in points}) == 3
    bar = display.figure_.axes[-1]
    assert all(round(tick, 1) == pytest.approx(tick) for tick in bar.get_yticks())
    assert "slice" not in display.ax_.get_title()


def test_margins_are_in_the_legend_and_a_slice_is_called_one(classifier):
    X, y, _ = data(60)
    wide = np.column_stack([X, X])
    display = plots.DecisionSurfaceDisplay.from_estimator(fitted(BayesianSVC(n_starts=1), wide, y), wide, y, grid=20)
    assert "a slice: 2 other features at the median" in display.ax_.get_title()
    assert "margins" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_legends_cover_no_data(classifier):
    X, y, _ = data(60)
    display = plots.DecisionSurfaceDisplay.from_estimator(fitted(BayesianSVC(n_starts=1), X, y), X, y, grid=20)
    display.figure_.canvas.draw()
    assert display.ax_.get_legend().get_window_extent().y1 <= display.ax_.get_window_extent().y0
