"""Pictures, report, files, ONNX and calibration of machines with inducing inputs and with neighbours."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from bayesvm import BayesianSVC, GPRegressor, plots
from bayesvm.estimators import _jobs, _large
from bayesvm.hyper import large as search
from bayesvm.kernels import Constant, Gaussian, Matern32
from bayesvm.models import large as models
from bayesvm.models.large import InducingModel, LocalModel
from bayesvm.onnx_export import to_onnx
from bayesvm.persistence import load, save
from bayesvm.report import collect_facts, write_report

matplotlib.use("Agg")

KINDS = ["inducing", "neighbours"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    sizes = {
        _large: {"EXACT_ROWS": 100, "EXACT_ROWS_OF_LABELS": 100},
        search: {"SAMPLE": 60, "BLOCKS": 3, "POOL": 120, "MOST": 30, "BESIDE": 5, "FIRST": (4, 4), "THEN": (4, 8)},
        models: {"TOGETHER": 16, "FROM": 80, "BLOCK": 32, "OTHERS": 64},
    }
    for module, changes in sizes.items():
        for name, value in changes.items():
            monkeypatch.setattr(module, name, value)


def fitted(kind, labels):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (160, 2))
    f = np.sin(4.0 * X[:, 0]) + 0.5 * X[:, 1]
    y = f > 0.0 if labels else f + 0.1 * rng.normal(size=160)
    rough = Matern32(9.0 if labels else 1.0, (0.15, 0.15)) + Constant()
    kernel, size = (rough, "auto") if kind == "neighbours" else (Gaussian(1.0, (0.5, 2.0)) + Constant(), 25)
    machine = (BayesianSVC if labels else GPRegressor)(kernel, inducing=size, optimizer=None, random_state=0)
    return machine.fit(X, y), X, y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [False, True], ids=["targets", "labels"])
def test_everything_that_a_machine_is_used_for(kind, labels, tmp_path):
    machine, X, y = fitted(kind, labels)
    assert isinstance(machine.models_[0], LocalModel if kind == "neighbours" else InducingModel)
    drawn = [
        plots.EvidenceTraceDisplay.from_estimator(machine),
        plots.EvidenceSurfaceDisplay.from_estimator(machine, grid=2),
        plots.LatentFunctionDisplay.from_estimator(machine, X, y),
        plots.RelevanceDisplay.from_estimator(machine),
        plots.ReliabilityDisplay.from_estimator(machine, X, y) if labels else None,
        plots.DecisionSurfaceDisplay.from_estimator(machine, X, y, grid=5) if labels else None,
        None if labels else plots.ResidualsDisplay.from_estimator(machine, X, y),
    ]
    for display in drawn:
        if display is not None:
            display.figure_.savefig(tmp_path / "picture.png")
            plt.close(display.figure_)
    save(machine, tmp_path / "model.bvm")
    again = load(tmp_path / "model.bvm")
    np.testing.assert_array_equal(again.predict(X[:20]), machine.predict(X[:20]))
    assert machine.calibration_ is not None
    assert np.isfinite(machine.loo_log_likelihood_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [False, True], ids=["targets", "labels"])
def test_a_report_can_be_written(kind, labels, tmp_path):
    machine, X, y = fitted(kind, labels)
    write_report(tmp_path / "report.html", collect_facts(machine, X, y))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "160" in page
    assert page.rstrip().endswith("</html>")


def test_onnx_of_inducing_inputs_and_a_clear_refusal_of_neighbours():
    onnxruntime = pytest.importorskip("onnxruntime")
    machine, X, _ = fitted("inducing", True)
    session = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    (found,) = session.run(["probabilities"], {session.get_inputs()[0].name: X[:30]})
    np.testing.assert_allclose(found, machine.predict_proba(X[:30]), atol=1e-6)
    with pytest.raises(TypeError, match="predictions from neighbours have no counterpart; give a number of inducing"):
        to_onnx(fitted("neighbours", True)[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [False, True], ids=["targets", "labels"])
def test_threads_change_no_prediction(kind, labels, monkeypatch):
    monkeypatch.setattr(_jobs, "LEAST", 20)
    machine, X, _ = fitted(kind, labels)
    alone = machine.predict(X), *machine.predict_latent(X)
    machine.set_params(n_jobs=2)
    for one, two in zip(alone, (machine.predict(X), *machine.predict_latent(X)), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12)
