"""Functions drawn from the priors of several kernels: writes prior_samples.png."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt

from bayesvm import plots
from bayesvm.kernels import Constant, Gaussian, Linear, OrnsteinUhlenbeck


def main() -> None:
    matplotlib.use("Agg")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for ax, kernel in zip(axes, (Gaussian(), OrnsteinUhlenbeck(), Gaussian() * Linear() + Constant())):
        plots.PriorSamplesDisplay.from_kernel(kernel, n_draws=4, ax=ax)
        ax.set_title(str(kernel), fontsize=7)
    figure.savefig("prior_samples.png", dpi=120)
    print("prior_samples.png")


if __name__ == "__main__":
    main()
