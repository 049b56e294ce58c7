"""Latent function of a classifier of one feature, with error bars (Chu2003 Figure 2); writes latent_function.png."""

from __future__ import annotations

import matplotlib
import numpy as np

from bayesvm import BayesianSVC, plots


def main() -> None:
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3.0, 3.0, 50))
    y = np.where(np.sin(2.0 * x) + 0.3 * rng.normal(size=50) > 0.0, 1, -1)
    machine = BayesianSVC(posterior="laplace", n_starts=2).fit(x[:, None], y)
    display = plots.LatentFunctionDisplay.from_estimator(machine, x[:, None], y)
    display.figure_.savefig("latent_function.png", dpi=120)
    print(machine.kernel_)


if __name__ == "__main__":
    main()
