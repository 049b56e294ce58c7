"""Thesis Figures 3.6 to 3.9: functions drawn from Gaussian process priors and posteriors, and means with error bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm.datasets import make_sinc
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.inference import Exact
from bayesvm.kernels import Gaussian, Kernel, Linear
from bayesvm.likelihoods import GaussianNoise
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: The four priors of Figure 3.6 and the two of Figure 3.7; widths are variances in the thesis.
PRIORS: dict[str, tuple[Kernel, int]] = {
    "(a) Gaussian, width 1": (Gaussian(1.0, 1.0), 1),
    "(b) Gaussian, width 0.25": (Gaussian(1.0, 0.5), 1),
    "(c) linear": (Linear(1.0), 1),
    "(d) Gaussian and linear": (Gaussian(1.0, 1.0) + Linear(1.0), 1),
    "plane, widths 2 and 2": (Gaussian(1.0, (2.0**0.5, 2.0**0.5), ard=True), 2),
    "plane, widths 2 and 10": (Gaussian(1.0, (2.0**0.5, 10.0**0.5), ard=True), 2),
}
JITTER = float(np.sqrt(np.finfo(float).eps))


def prior(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Draw two functions (the same random numbers for every kernel) and return them with -ln P(f)."""
    kernel, d = PRIORS[params["prior"]]
    axis = np.linspace(-4.0, 4.0, params["points"] if d == 1 else params["side"])
    X = axis[:, None] if d == 1 else np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    factor = cholesky(kernel.bind(d).gram(X) + JITTER * np.eye(len(X)), jitter=True, what="the Gram matrix")
    z = np.random.default_rng(seed).standard_normal((len(X), 2 if d == 1 else 1))
    minus = 0.5 * np.sum(z**2, axis=0) + 0.5 * factor.log_det() + 0.5 * len(X) * np.log(2.0 * np.pi)
    return {"axis": axis, "draws": np.round(factor.lower() @ z, 6).T, "minus_log_p": float(minus.mean())}


def plot_prior(figure: Any, found: Found) -> None:
    """Draw Figures 3.6 and 3.7."""
    for i, (name, units) in enumerate(found.items(), start=1):
        unit, d = units[0], PRIORS[name][1]
        ax = figure.add_subplot(2, 3, i, **({"projection": "3d"} if d == 2 else {}))
        if d == 1:
            for draw, dash in zip(unit["draws"], ("-", "--"), strict=True):
                ax.plot(unit["axis"], draw, "k", linestyle=dash)
        else:
            a, b = np.meshgrid(unit["axis"], unit["axis"])
            ax.plot_surface(a, b, np.array(unit["draws"][0]).reshape(a.shape), cmap="cividis")
        ax.set_title(f"{name}: -ln P = {unit['minus_log_p']:.0f}", fontsize=8)


FIGURES_PRIOR = Experiment(
    "thesis-figures3.6-3.7",
    "Thesis Figures 3.6 and 3.7",
    "Functions drawn from Gaussian process priors",
    tuple(Case(name, {"prior": name, "points": 801, "side": 17}, {"points": 21, "side": 4}, most=1) for name in PRIORS),
    prior,
    (
        Table(
            "priors",
            "Minus the log density of the draws",
            (Column("minus_log_p", "-ln P(f)", 1),),
            note="Flatter functions have the higher density: (a) below (b), and the wider plane below the other.",
        ),
    ),
    plot_prior,
    ("thesis-figure3.6", "thesis-figure3.7"),
)

SAMPLES = (0, 1, 2, 5, 15)


def posterior(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return mean, standard deviation and three draws of the posterior, given k samples of noisy sinc data."""
    X, y, _ = make_sinc(max(SAMPLES), noise=0.2, random_state=seed)
    X, y = X[: params["k"]], y[: params["k"]]
    x = np.linspace(-10.0, 10.0, params["points"])[:, None]
    mean, covariance = conditional(Gaussian(1.0, 1.0), X, y, x)
    factor = cholesky(covariance + JITTER * np.eye(len(x)), jitter=True, what="the posterior covariance").lower()
    draws = mean[:, None] + factor @ np.random.default_rng(seed).standard_normal((len(x), 3))
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    inside = np.abs(np.sinc(x[:, 0] / np.pi) - mean) <= 2.0 * std + 1e-12
    return {
        "x": x[:, 0],
        "mean": mean,
        "std": std,
        "draws": np.round(draws, 6).T,
        "X": X[:, 0],
        "y": y,
        "inside": 100.0 * float(np.mean(inside)),
    }


def conditional(kernel: Kernel, X: Matrix, y: Vector, x: Matrix) -> tuple[Vector, Matrix]:
    """Return mean and covariance of the latent function given samples with noise of standard deviation 0.2, Thesis
    (3.57).
    """
    prior_covariance = kernel.bind(1).gram(x)
    if len(y) == 0:
        return np.zeros(len(x)), prior_covariance
    bound = kernel.bind(1)
    found, _ = Exact().infer(bound.gram(X), y, GaussianNoise(0.04))
    cross = bound.gram(x, X)
    return found.mean(cross), found.covariance(cross, prior_covariance)


def plot_posterior(figure: Any, found: Found) -> None:
    """Draw Figures 3.8 (draws) and 3.9 (mean and error bars)."""
    axes = figure.subplots(2, len(found), sharex=True, sharey=True, squeeze=False)
    for column, (name, units) in zip(axes.T, found.items(), strict=True):
        unit = units[0]
        for draw in unit["draws"]:
            column[0].plot(unit["x"], draw, linewidth=0.8)
        mean, std = np.array(unit["mean"]), np.array(unit["std"])
        column[1].plot(unit["x"], mean, "k-")
        for sign in (-1.0, 1.0):
            column[1].plot(unit["x"], mean + sign * std, "k:")
        for ax in column:
            ax.plot(unit["X"], unit["y"], "o", markersize=3, color="0.4")
        column[0].set_title(name, fontsize=9)


FIGURES_POSTERIOR = Experiment(
    "thesis-figures3.8-3.9",
    "Thesis Figures 3.8 and 3.9",
    "Posterior of a Gaussian process given 0 to 15 samples of noisy sinc data",
    tuple(Case(f"{k} samples", {"k": k, "points": 201}, {"points": 11}, most=1) for k in SAMPLES),
    posterior,
    (
        Table(
            "coverage",
            "Share of the line on which sinc lies within two standard deviations",
            (Column("inside", "per cent", 0, {"0 samples": Published(100.0)}),),
        ),
    ),
    plot_posterior,
    ("thesis-figure3.8", "thesis-figure3.9"),
)

__all__ = ["FIGURES_POSTERIOR", "FIGURES_PRIOR"]
