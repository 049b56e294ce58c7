"""The evidence over two hyperparameters beside the test error (Chu2003 Figure 5): writes evidence_surface.png."""

from __future__ import annotations

import matplotlib
from sklearn.datasets import make_moons

from bayesvm import BayesianSVC, plots


def main() -> None:
    matplotlib.use("Agg")
    X, y = make_moons(200, noise=0.3, random_state=0)
    machine = BayesianSVC(likelihood="raised-cosine", posterior="laplace", n_starts=1).fit(X[:60], y[:60])
    names = machine.theta_names_[:2]
    display = plots.EvidenceSurfaceDisplay.from_estimator(machine, X[60:], y[60:], parameters=names, grid=9)
    display.figure_.savefig("evidence_surface.png", dpi=120)
    print(f"highest evidence {display.evidence.max():.2f}; smallest test error {display.error.min():.3f}")


if __name__ == "__main__":
    main()
