"""Predict a chaotic time series, one step ahead and free-running: writes chaotic_series.png.

The Mackey-Glass series is embedded in windows of six values; the machine learns the next value from a window. One step
ahead it gives error bars. Free-running, each draw feeds its own predictions back, so that the spread of the draws shows
how the error grows.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from bayesvm import BayesianSVR
from bayesvm.datasets import embed, make_mackey_glass

ORDER, SPACING = 6, 3


def free_run(machine: BayesianSVR, window: np.ndarray, steps: int, draws: int, seed: int) -> np.ndarray:
    """Return continuations of a series, one per column, each fed with its own predictions.

    At every step each draw takes a value from the posterior of the latent function at its window.
    """
    rng = np.random.default_rng(seed)
    past = np.repeat(window[:, None], draws, axis=1)
    path = np.empty((steps, draws))
    for step in range(steps):
        inputs = past[-((ORDER - 1) * SPACING + 1) :: SPACING].T
        mean, std = machine.predict_latent(inputs)
        path[step] = mean + std * rng.standard_normal(draws)
        past = np.vstack([past[1:], path[step]])
    return path


def main() -> None:
    """Fit, predict one step ahead, run freely, and print how well the error bars hold."""
    series = make_mackey_glass(700, noise=0.01, random_state=0)
    X, y = embed(series, ORDER, SPACING)
    n = 400
    machine = BayesianSVR(n_starts=2).fit(X[:n], y[:n])
    mean, std = machine.predict(X[n:], return_std=True)
    low, high = machine.predict_interval(X[n:], confidence=0.95)
    rmse = float(np.sqrt(np.mean((mean - y[n:]) ** 2)))
    inside = float(np.mean((y[n:] >= low) & (y[n:] <= high)))
    print(f"noise found: {machine.noise_std_:.4f}; support vectors: {machine.support_.size} of {n}")
    print(
        f"one step ahead: RMSE {rmse:.4f}, mean error bar {std.mean():.4f}, {100 * inside:.1f} % inside 95 % intervals"
    )

    last = n + (ORDER - 1) * SPACING + 1
    path = free_run(machine, series[:last], steps=60, draws=100, seed=1)
    truth = make_mackey_glass(700, random_state=0)[last : last + 60]
    print("free-running: step, truth, mean of the draws, their standard deviation")
    for step in (0, 4, 9, 19, 39, 59):
        print(f"{step + 1:4d}  {truth[step]:.3f}  {path[step].mean():.3f}  {path[step].std():.3f}")

    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    steps = np.arange(1, 61)
    low, high = np.quantile(path, [0.025, 0.975], axis=1)
    axes.fill_between(steps, low, high, alpha=0.3, label="95 % of the draws")
    axes.plot(steps, path.mean(axis=1), label="mean of the draws")
    axes.plot(steps, truth, "k--", label="true series")
    axes.set(xlabel="steps ahead", ylabel="value", title="Free-running prediction")
    axes.legend()
    figure.savefig("chaotic_series.png", dpi=120)


if __name__ == "__main__":
    main()
