"""Probabilities, margins and support vectors of two moons: writes decision_surface.png."""

from __future__ import annotations

import matplotlib
from sklearn.datasets import make_moons

from bayesvm import BayesianSVC, plots


def main() -> None:
    matplotlib.use("Agg")
    X, y = make_moons(120, noise=0.2, random_state=0)
    machine = BayesianSVC(posterior="laplace", n_starts=2).fit(X, y)
    display = plots.DecisionSurfaceDisplay.from_estimator(machine, X, y)
    display.figure_.savefig("decision_surface.png", dpi=120)
    print(f"{machine.support_.size} of {len(X)} points are support vectors; log evidence {machine.log_evidence_:.2f}")


if __name__ == "__main__":
    main()
