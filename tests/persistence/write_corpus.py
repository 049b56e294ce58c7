"""Write the corpus of small model files; run it once per release, before the release, into a folder of that release.

Files of earlier releases are never written again: that they still load is what the test is about.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.kernels import Constant, Gaussian, Linear
from bayesvm.persistence import save
from bayesvm.tables import TableEncoder

sys.path.append(str(Path(__file__).parent))
from model_zoo import data, fitted, models, predictions


def variants():
    """Return further models that store something of their own."""
    X, y, _ = data(24)
    three = np.digitize(X[:, 0], [-0.4, 0.4])
    kernel = Gaussian(ard=True).on([0, 1]) * Linear().fix() + Constant()
    yield "three-classes", fitted(BayesianSVC(None, n_starts=1, max_evaluations=20), X, three), X
    yield "kernel-algebra", fitted(BayesianSVC(kernel, n_starts=1, max_evaluations=20), X, y), X
    yield (
        "sparse",
        fitted(BayesianSVC(None, n_starts=1, max_evaluations=20), sp.csr_array(np.where(X > 0, X, 0.0)), y),
        X,
    )
    yield from averages()
    yield "not-fitted", BayesianSVC(kernel, ard=True), None


def averages():
    """Return averages of several kinds: over theta, of noise models, with one scale of the inputs."""
    X, y, targets = data(24)
    uneven = X * np.array([1.0, 40.0])
    outliers = targets + 4.0 * (np.arange(24) % 8 == 0)
    yield "integrated-labels", fitted(BayesianSVC(kernel=None, theta="integrate"), X[:12], y[:12]), X
    yield "integrated-targets", fitted(GPRegressor(kernel=None, theta="integrate"), X[:12], targets[:12]), X
    yield "noise-models", fitted(BayesianSVR(), X, outliers), X
    yield "scales", fitted(GPClassifier(), uneven, np.where(uneven[:, 1] > 0.0, "yes", "no")), X
    yield "outputs", fitted(GPRegressor(), X, np.column_stack([targets, X[:, 1]])), X


def table_model():
    """Return a pipeline as the command line saves it."""
    X, y, _ = data(24)
    table = {"a": [None, *X[1:, 0].tolist()], "b": X[:, 1].tolist(), "c": ["u", "v", None, "u"] * 6}
    return make_pipeline(TableEncoder(), BayesianSVC(None, n_starts=1, max_evaluations=20)), table, y


def main() -> None:
    """Write all files to the folder that is named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=False)
    X = data(24)[0]
    for name, model, inputs in [*((n, m, X) for n, m in models()), *variants()]:
        expected = {} if inputs is None else predictions(model, inputs[:5])
        info = {"X": X[:5].tolist(), "expected": {key: value.tolist() for key, value in expected.items()}}
        save(model, folder / f"{name}.bvm", info=info)
    pipeline, table, y = table_model()
    fitted(pipeline, table, y)
    few = {name: column[:5] for name, column in table.items()}
    expected = {key: value.tolist() for key, value in predictions(pipeline, few).items()}
    save(pipeline, folder / "table-pipeline.bvm", info={"X": few, "expected": expected})


if __name__ == "__main__":
    main()
