"""Chu2003 Figure 1: the trigonometric likelihood and its loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Source, Table
from bayesvm.likelihoods import Trigonometric


def likelihood(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return the trigonometric likelihood and its loss for y = +1, and how far the two classes' probabilities are from
    one.
    """
    f = np.linspace(-1.5, 1.5, params["points"])
    loss = {label: Trigonometric().profile(label * f).loss for label in (1.0, -1.0)}
    total = np.exp(-loss[1.0]) + np.exp(-loss[-1.0])
    return {
        "f": f,
        "p": np.exp(-loss[1.0]),
        "loss": np.where(np.isfinite(loss[1.0]), np.minimum(loss[1.0], 10.0), 10.0),
        "normaliser": float(np.max(np.abs(total - 1.0))),
    }


def plot_likelihood(figure: Any, found: Found) -> None:
    """Draw Figure 1."""
    unit = next(iter(found.values()))[0]
    for ax, key, label in zip(figure.subplots(1, 2), ("p", "loss"), ("P(y = 1 | f)", "loss"), strict=True):
        ax.plot(unit["f"], unit[key], "k-")
        ax.set(xlabel="f", ylabel=label)


EXPERIMENT = Experiment(
    "chu2003-figure1",
    "Chu2003 Figure 1",
    "The trigonometric likelihood and its loss",
    (Case("trigonometric", {"points": 301}, {"points": 31}, most=1),),
    likelihood,
    (Table("normaliser", "Sum of the two probabilities", (Column("normaliser", "largest distance from one", 16),)),),
    plot_likelihood,
)

__all__ = ["EXPERIMENT"]
