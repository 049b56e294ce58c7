"""Whether chains have mixed: R-hat and effective sample sizes, by ArviZ."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bayesvm.sampling.optional_imports import required
from bayesvm.typing import Vector

#: What draws must fulfil to be trusted.
LARGEST_RHAT, LEAST_DRAWS = 1.01, 400.0


@dataclasses.dataclass(frozen=True)
class Diagnostics:
    r"""Convergence of the chains, one entry per hyperparameter.

    Attributes
    ----------
    names : tuple of str
        Hyperparameters.
    rhat : array
        Rank-normalised :math:`\hat R`; at most 1.01 if the chains agree.
    ess : array
        Effective sample sizes, the smaller of bulk and tail.
    divergences : int
        Divergent transitions.
    """

    names: tuple[str, ...]
    rhat: Vector
    ess: Vector
    divergences: int

    @property
    def problems(self) -> str:
        """What is wrong, in words; empty if the draws can be trusted."""
        found = []
        if np.any(self.rhat > LARGEST_RHAT):
            worst = int(np.argmax(self.rhat))
            found.append(f"R-hat of {self.names[worst]} is {self.rhat[worst]:.3f} (at most {LARGEST_RHAT})")
        if np.any(self.ess < LEAST_DRAWS):
            worst = int(np.argmin(self.ess))
            found.append(f"{self.names[worst]} has {self.ess[worst]:.0f} effective draws (at least {LEAST_DRAWS:.0f})")
        return "; ".join(found)


def diagnose(data: Any, names: tuple[str, ...], divergences: int) -> Diagnostics:
    """Return the diagnostics of ArviZ data with a variable ``theta``."""
    arviz = required("arviz")
    rhat = np.asarray(arviz.rhat(data)["theta"])
    bulk = np.asarray(arviz.ess(data, method="bulk")["theta"])
    tail = np.asarray(arviz.ess(data, method="tail")["theta"])
    return Diagnostics(names, rhat, np.minimum(bulk, tail), divergences)


__all__ = ["Diagnostics", "diagnose"]
