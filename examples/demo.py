"""A Bayesian support vector machine trains itself: summary in the terminal, pictures and a short report in a folder.

Two classes, each a mixture of two Gaussians, with a known best possible error. The machine is compared with a support
vector machine tuned by cross-validation and calibrated by Platt's method, the usual way to get probabilities.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
import time
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayesvm import BayesianSVC


def mixture(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw n points of two classes, each of two equal Gaussian bumps in the plane."""
    centres = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    y = rng.integers(2, size=n)
    bump = rng.integers(2, size=n)
    return centres[y, bump] + np.sqrt(0.03) * rng.normal(size=(n, 2)), y


def cross_validated_svc() -> CalibratedClassifierCV:
    """Return a support vector machine on a 7 x 7 grid with five folds, calibrated on five folds."""
    grid = {"svc__C": np.logspace(-1, 3, 7), "svc__gamma": np.logspace(-2, 1.5, 7)}
    return CalibratedClassifierCV(
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5), ensemble=False, cv=5
    )


def picture(machine: BayesianSVC, X: np.ndarray, y: np.ndarray) -> bytes:
    """Return a PNG of the probability surface with the training points; support vectors are circled."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    side = [np.linspace(low[i], high[i], 150) for i in range(2)]
    grid = np.stack(np.meshgrid(*side), axis=-1)
    proba = machine.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    figure, axes = plt.subplots(figsize=(7, 5.2), layout="constrained")
    surface = axes.contourf(*side, proba, levels=np.linspace(0, 1, 11), cmap="cividis", alpha=0.85)
    lines = axes.contour(*side, proba, levels=[0.1, 0.5, 0.9], colors="black", linewidths=[0.8, 1.8, 0.8])
    axes.clabel(lines, fmt="%.1f", fontsize=8)
    for label, marker in ((0, "s"), (1, "o")):
        axes.scatter(
            *X[y == label].T, s=14, marker=marker, c="white", edgecolors="black", linewidths=0.6, label=f"class {label}"
        )
    axes.scatter(
        *X[machine.support_].T, s=46, facecolors="none", edgecolors="black", linewidths=0.7, label="support vectors"
    )
    axes.legend(loc="lower right", fontsize=8)
    axes.set(title="Probability of class 1", xlabel="first feature", ylabel="second feature")
    figure.colorbar(surface, ax=axes)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=130)
    plt.close(figure)
    return out.getvalue()


def main() -> None:
    """Fit, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the report and the pictures")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    X, y = mixture(250, rng)
    X_test, y_test = mixture(5000, rng)

    rows = []
    for name, model in (("BayesianSVC()", BayesianSVC()), ("cross-validated SVC, calibrated", cross_validated_svc())):
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        error = 100.0 * np.mean(model.predict(X_test) != y_test)
        rows.append((name, f"{error:.2f}", f"{log_loss(y_test, model.predict_proba(X_test)):.4f}", f"{seconds:.2f}"))
        if isinstance(model, BayesianSVC):
            machine = model

    facts = [f"{name} = {value:.4g}" for name, value in zip(machine.theta_names_, np.exp(machine.kernel_.theta))]
    summary = [
        f"trained on {len(X)} points, tested on {len(X_test)}; hyperparameters (of standardised inputs): {', '.join(facts)}",
        f"log evidence {machine.log_evidence_:.3f} after {machine.n_iter_} evaluations from {len(machine.history_)} starts",
        f"{machine.support_.size} support vectors of {len(X)} training points; converged: {machine.converged_}",
    ]
    header = ("model", "test error [%]", "test negative log-likelihood", "seconds to fit")
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in [header, *rows]]
    print("\n".join([*summary, "", *table]))

    image = picture(machine, X, y)
    (out / "probability.png").write_bytes(image)
    body = "".join(f"<p>{html.escape(line)}</p>" for line in summary)
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in [header, *rows])
    report = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>bayesvm demo</title>"
        "<style>body{font:16px sans-serif;max-width:46em;margin:2em auto;padding:0 1em}td{padding:.2em 1em .2em 0}"
        "img{max-width:100%}</style><h1>A support vector machine that tuned itself</h1>"
        f"{body}<table>{cells}</table><img alt='probability surface' src='data:image/png;base64,"
        f"{base64.b64encode(image).decode()}'></html>"
    )
    (out / "report.html").write_text(report, encoding="utf-8")
    print(f"\nreport: {out / 'report.html'}\npicture: {out / 'probability.png'}")


if __name__ == "__main__":
    main()
