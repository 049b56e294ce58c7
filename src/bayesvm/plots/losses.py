"""Loss functions and noise densities (Thesis Figures 2.3, 2.4 and 5.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from bayesvm.likelihoods import Classification, Likelihood, Regression
from bayesvm.plots._display import COLOURS, DASHES, Display, new_axes
from bayesvm.typing import Vector


@dataclasses.dataclass
class LossDisplay(Display):
    """Loss against margin or residual.

    Parameters
    ----------
    likelihoods : sequence of Likelihood
        All for classification or all for regression.
    t : array
        Margins or residuals.
    """

    likelihoods: Sequence[Likelihood]
    t: Vector

    @classmethod
    def from_likelihoods(
        cls,
        likelihoods: Likelihood | Sequence[Likelihood],
        *,
        limits: tuple[float, float] = (-3.0, 3.0),
        ax: Any = None,
    ) -> Self:
        """Draw the losses of one or several likelihoods between two limits of the margin or residual."""
        return cls(_checked(likelihoods, Likelihood), np.linspace(*limits, 601)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        for i, likelihood in enumerate(self.likelihoods):
            loss = likelihood.profile(self.t).loss
            ax.plot(self.t, np.where(loss < 1e6, loss, np.nan), **_style(i, likelihood))
        margin = isinstance(self.likelihoods[0], Classification)
        ax.set(xlabel="margin y f" if margin else "residual y - f", ylabel="loss, -ln p", title="Loss")
        ax.legend(fontsize=8)
        return self._drawn(ax)


@dataclasses.dataclass
class NoiseDensityDisplay(Display):
    """Density of the residual of regression likelihoods.

    Parameters
    ----------
    likelihoods : sequence of Regression
        What to draw.
    t : array
        Residuals.
    """

    likelihoods: Sequence[Regression]
    t: Vector

    @classmethod
    def from_likelihoods(
        cls,
        likelihoods: Regression | Sequence[Regression],
        *,
        limits: tuple[float, float] = (-3.0, 3.0),
        ax: Any = None,
    ) -> Self:
        """Draw the densities of one or several regression likelihoods between two limits of the residual."""
        return cls(_checked(likelihoods, Regression), np.linspace(*limits, 601)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        for i, likelihood in enumerate(self.likelihoods):
            ax.plot(self.t, np.exp(-likelihood.profile(self.t).loss), **_style(i, likelihood))
        ax.set(xlabel="residual y - f", ylabel="density", title="Density of the noise")
        ax.legend(fontsize=8)
        return self._drawn(ax)


def _checked(likelihoods: Any, kind: type) -> tuple[Any, ...]:
    found = tuple(likelihoods) if isinstance(likelihoods, list | tuple) else (likelihoods,)
    sides = {isinstance(likelihood, Classification) for likelihood in found}
    if not found or not all(isinstance(likelihood, kind) for likelihood in found) or len(sides) != 1:
        raise TypeError(f"likelihoods: expected likelihoods of one kind ({kind.__name__}), found {likelihoods!r}")
    return found


def _style(i: int, likelihood: Likelihood) -> dict[str, Any]:
    values = ", ".join(f"{name}={getattr(likelihood, name):.3g}" for name in likelihood.positive)
    label = f"{type(likelihood).__name__}({values})"
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.8, "label": label}


__all__ = ["LossDisplay", "NoiseDensityDisplay"]
