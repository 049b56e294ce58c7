"""Thesis Figures 2.3 to 2.5 (loss functions, noise, density of the mean) and A.1 to A.4 (statistical efficiency)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.likelihoods import EpsilonInsensitive, GaussianNoise, Huber, Laplace, Regression, SoftInsensitive
from bayesvm.likelihoods.mixture import efficiency, mean_density, mixture_density

LOSSES: dict[str, Regression] = {
    "quadratic": GaussianNoise(1.0),
    "Laplacian": Laplace(1.0),
    "Huber, epsilon = 1": Huber(1.0, 1.0),
    "epsilon-insensitive, epsilon = 1": EpsilonInsensitive(1.0, 1.0),
}
NOISE = SoftInsensitive(2.0, 0.5, 0.5)


def curves(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return the curves of the three figures, and how well the mixture reproduces the noise density."""
    t = np.linspace(-3.0, 3.0, params["points"])
    losses = {name: loss.profile(t).loss - loss.profile(np.zeros(1)).loss[0] for name, loss in LOSSES.items()}
    density = np.exp(-NOISE.profile(t).loss)
    means = {
        "beta = 1": mean_density(t, SoftInsensitive(2.0, 0.5, 1.0)),
        "beta = 0.05": mean_density(t, SoftInsensitive(2.0, 0.5, 0.05)),
    }
    return {
        "t": t,
        "losses": losses,
        "soft": NOISE.profile(t).loss - NOISE.profile(np.zeros(1)).loss[0],
        "density": density,
        "means": means,
        "mixture": float(np.max(np.abs(mixture_density(t, NOISE) - density))),
    }


def plot_curves(figure: Any, found: Found) -> None:
    """Draw Figures 2.3, 2.4 and 2.5 side by side."""
    unit = next(iter(found.values()))[0]
    left, middle, right = figure.subplots(1, 3)
    for (name, loss), dash in zip(unit["losses"].items(), ("-", "--", "-.", ":"), strict=True):
        left.plot(unit["t"], loss, linestyle=dash, label=name)
    left.set(title="Figure 2.3: losses", ylim=(0, 4))
    middle.plot(unit["t"], unit["soft"], "k-", label="soft insensitive loss")
    middle.plot(unit["t"], unit["density"], "k:", label="noise density")
    middle.set(title="Figure 2.4: C = 2, epsilon = beta = 0.5", ylim=(0, 2))
    for (name, values), dash in zip(unit["means"].items(), ("-", "--"), strict=True):
        right.plot(unit["t"], values, linestyle=dash, label=name)
    right.set(title="Figure 2.5: density of the mean")
    for ax in (left, middle, right):
        ax.legend(fontsize=7)


FIGURES2 = Experiment(
    "thesis-figures2.3-2.5",
    "Thesis Figures 2.3 to 2.5",
    "Loss functions, the soft insensitive noise, and its mixture",
    (Case("curves", {"points": 601}, {"points": 31}, most=1),),
    curves,
    (
        Table(
            "mixture",
            "The noise as a mixture of Gaussians",
            (Column("mixture", "largest difference of the densities", 15),),
        ),
    ),
    plot_curves,
    ("thesis-figure2.3", "thesis-figure2.4", "thesis-figure2.5"),
)

#: Noise of the two pairs of figures, fixed values of epsilon and of beta.
GIVEN: dict[str, Regression] = {"Gaussian": GaussianNoise(0.0025), "Laplacian": Laplace(5.0)}
EPSILONS, BETAS = (0.01, 0.05, 0.1), (0.05, 0.3, 1.0)


def efficiencies(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return the efficiency along beta and along epsilon (Thesis (A.2) to (A.4), corrected)."""
    noise = GIVEN[params["noise"]]
    beta = np.linspace(0.02, 1.0, params["points"])
    epsilon = np.linspace(0.002, 0.2, params["points"])
    rising = [[efficiency(SoftInsensitive(10.0, e, b), noise) for b in beta] for e in EPSILONS]
    return {
        "beta": beta,
        "epsilon": epsilon,
        "along_beta": rising,
        "along_epsilon": [[efficiency(SoftInsensitive(10.0, e, b), noise) for e in epsilon] for b in BETAS],
        "example": efficiency(SoftInsensitive(10.0, 0.05, 0.3), noise),
        "best_beta": float(np.mean([beta[int(np.argmax(row))] for row in rising])),
    }


def plot_efficiencies(figure: Any, found: Found) -> None:
    """Draw Figures A.1 to A.4."""
    axes = figure.subplots(len(found), 2, squeeze=False)
    for row, (name, units) in zip(axes, found.items(), strict=True):
        for values, e, dash in zip(units[0]["along_beta"], EPSILONS, ("-", "--", ":"), strict=True):
            row[0].plot(units[0]["beta"], values, "k", linestyle=dash, label=f"epsilon = {e}")
        for values, b, dash in zip(units[0]["along_epsilon"], BETAS, ("-", "--", ":"), strict=True):
            row[1].plot(units[0]["epsilon"], values, "k", linestyle=dash, label=f"beta = {b}")
        for ax, label in zip(row, ("beta", "epsilon"), strict=True):
            ax.set(title=f"{name} noise", xlabel=label, ylabel="efficiency", ylim=(0, 1.02))
            ax.legend(fontsize=7)


FIGURES_A = Experiment(
    "thesis-figuresA",
    "Thesis Figures A.1 to A.4",
    "Statistical efficiency of the soft insensitive loss",
    tuple(Case(name, {"noise": name, "points": 60}, {"points": 4}, most=1) for name in GIVEN),
    efficiencies,
    (
        Table(
            "efficiency",
            "Efficiency at epsilon = 0.05, beta = 0.3, and the best beta",
            (
                Column("example", "efficiency", 3, {"Gaussian": Published(0.848)}),
                Column("best_beta", "best beta", 2, {name: Published(1.0) for name in GIVEN}),
            ),
            note="0.848 is the corrected (A.7), confirmed by simulation; as printed the formula gives 0.240.",
        ),
    ),
    plot_efficiencies,
    ("thesis-figureA.1", "thesis-figureA.2", "thesis-figureA.3", "thesis-figureA.4"),
)

__all__ = ["FIGURES2", "FIGURES_A"]
