"""Sollich1999 Figure 1 (what kernels mean as priors) and Figure 2 (the evidence finds the noise parameter C)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import ProbabilisticSVC
from bayesvm.datasets import make_sollich
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.kernels import Gaussian
from bayesvm.plots.sollich import FIGURE_1, SVMPriorDisplay, sample_prior
from bayesvm.typing import Matrix


def prior(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Draw from the two kernels of one row of Figure 1; the gap is the share of the square with |theta| < 1."""
    x = np.linspace(0.0, 1.0, params["side"])
    X = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(seed)
    draws = [sample_prior(kernel, X, 1, rng)[:, 0] for kernel in FIGURE_1[params["row"]]]
    gaps = {f"gap_{i + 1}": float(np.mean(np.abs(draw) < 1.0)) for i, draw in enumerate(draws)}
    return {"x": x, "draws": [np.round(draw.reshape(x.size, x.size), 5) for draw in draws], **gaps}


def plot_prior(figure: Any, found: Found) -> None:
    """Draw Figure 1."""
    figure.set_size_inches(9.6, 9.0)
    units = [cases[0] for cases in found.values()]
    axes = np.empty((len(units), 3), dtype=object)
    for i, j in np.ndindex(axes.shape):
        axes[i, j] = figure.add_subplot(len(units), 3, 3 * i + j + 1, **({"projection": "3d"} if j == 0 else {}))
    samples = [(np.array(first), np.array(second)) for first, second in (unit["draws"] for unit in units)]
    kernels = (FIGURE_1[ROWS.index(name)] for name in found)
    titles = [(repr(first), repr(second)) for first, second in kernels]
    SVMPriorDisplay(np.array(units[0]["x"]), samples, 2.0, titles).plot(axes)


ROWS = ("Ornstein-Uhlenbeck, K_0 = 10 and 1", "Gaussian, l = 0.1 and 0.05", "polynomial, p = 5 and 10")
FIGURE1 = Experiment(
    "sollich1999-figure1",
    "Sollich1999 Figure 1",
    "What kernels mean as priors of a support vector machine",
    tuple(Case(name, {"row": i, "side": 40}, {"side": 6}) for i, name in enumerate(ROWS)),
    prior,
    (
        Table(
            "gaps",
            "Share of the square inside the gap |theta| < 1, first and second kernel",
            (Column("gap_1", "first", 3), Column("gap_2", "second", 3)),
            note="A smaller amplitude widens the gaps; the length scale sets the size of the regions.",
        ),
    ),
    plot_prior,
)


def midpoints(rng: np.random.Generator, m: int) -> Matrix:
    """Return the midpoints of m equal parts of [0, 1]: nodes of the uniform input density."""
    return (np.arange(m)[:, None] + 0.5) / m


def evidence(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Draw data from the model with C = 2, and maximise the naive and the full evidence along C at C K_0 = 2.5."""
    tries = (
        make_sollich(params["n"], sweeps=params["sweeps"], random_state=np.random.default_rng((seed, k)))
        for k in range(50)
    )
    X, y, f = next(draw for draw in tries if np.unique(draw[1]).size == 2)  # the model also makes sets with one label
    shared: dict[str, Any] = {"C": 2.0, "tune": "C", "standardize": False, "evidence": "naive", "random_state": seed}
    kernel = Gaussian(1.25, 0.05)
    full = ProbabilisticSVC(kernel, inputs=midpoints, **shared).fit(X, y)
    empirical = ProbabilisticSVC(kernel, **shared).fit(X, y)
    naive = ProbabilisticSVC(kernel, normalized=False, **shared).fit(X, y)
    found: Numbers = {
        "naive": naive.C_,
        "full": full.C_,
        "empirical": empirical.C_,
        "above": float(full.C_ > naive.C_),
        "separable": float(np.all(full.predict(X) == y)),
    }
    if seed == 0:
        curve = full.evidence_curve(None)
        x = np.linspace(0.0, 1.0, 201)[:, None]
        found |= {
            "C": curve.C,
            "log_evidence": curve.log_evidence,
            "log_naive": curve.naive,
            "x": x[:, 0],
            "p": full.predict_proba(x)[:, 1],
            "X": X[:, 0],
            "y": y,
            "f": f,
        }
    return found


def plot_evidence(figure: Any, found: Found) -> None:
    """Draw Figure 2: the data with the predicted probability, and the evidence against C."""
    unit = next(unit for units in found.values() for unit in units if "C" in unit)
    left, right = figure.subplots(1, 2)
    left.plot(unit["X"], (np.array(unit["y"]) + 1) / 2, "o", markersize=3, color="0.5")
    left.plot(unit["x"], unit["p"], "k-")
    left.set(xlabel="x", ylabel="P(y = 1 | x)")
    for key, dash in (("log_evidence", "-"), ("log_naive", "--")):
        values = np.array(unit[key])
        right.plot(unit["C"], values - values.max(), "k", linestyle=dash, label=key)
    right.set(xlabel="C", ylabel="nats below the maximum", xscale="log", ylim=(-20, 1))
    right.legend()


CASE = "n = 50, l = 0.05, C = 2"
FIGURE2 = Experiment(
    "sollich1999-figure2",
    "Sollich1999 Figure 2",
    "The normalised evidence finds the noise parameter",
    (Case(CASE, {"n": 50, "sweeps": 600}, {"n": 12, "sweeps": 20}, units=20),),
    evidence,
    (
        Table(
            "noise-parameter",
            "C at the maximum of the evidence, true value 2",
            (
                Column("naive", "naive", 2),
                Column("full", "full", 2, {CASE: Published(1.8, runs=1)}),
                Column("empirical", "full, empirical inputs", 2),
                Column("above", "share of draws with full above naive", 2),
                Column("separable", "share of draws without training errors", 2),
            ),
            note=(
                "Draws without training errors have no interior maximum and end at the largest C allowed, which raises "
                "the means."
            ),
        ),
    ),
    plot_evidence,
)

__all__ = ["FIGURE1", "FIGURE2"]
