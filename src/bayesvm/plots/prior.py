"""Functions drawn from the prior of a kernel."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from bayesvm.kernels import Kernel
from bayesvm.linalg import cholesky
from bayesvm.plots._display import COLOURS, DASHES, Display, new_axes
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass
class PriorSamplesDisplay(Display):
    """Functions of one variable drawn from a Gaussian process prior.

    Parameters
    ----------
    x : array, shape (k,)
        Inputs.
    samples : array, shape (k, n_draws)
        One function per column.
    std : array, shape (k,)
        Standard deviation of the prior.
    label : str
        The kernel.
    """

    x: Vector
    samples: Matrix
    std: Vector
    label: str

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        *,
        limits: tuple[float, float] = (-3.0, 3.0),
        n_draws: int = 5,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw functions of one variable from the prior of a kernel.

        Parameters
        ----------
        kernel : Kernel
            For one feature.
        limits : pair of float
            Range of the feature.
        n_draws : int
            Number of functions.
        random_state : int
            Seed.
        ax : matplotlib axes, optional
            Where to draw.
        """
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{cls.__name__}: expected a kernel, found {type(kernel).__name__}")
        x = np.linspace(*limits, 200)
        bound = kernel.bind(1)
        factor = cholesky(bound.gram(x[:, None]), jitter=True, what="the Gram matrix").lower()
        samples = factor @ np.random.default_rng(random_state).standard_normal((x.size, n_draws))
        return cls(x, samples, np.sqrt(bound.diag(x[:, None])), repr(kernel)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        ax.fill_between(self.x, -2 * self.std, 2 * self.std, color="0.9", label="two standard deviations")
        for i, sample in enumerate(self.samples.T):
            ax.plot(self.x, sample, color=COLOURS[i % len(COLOURS)], linestyle=DASHES[i % len(DASHES)], linewidth=1.4)
        ax.set(xlabel="x", ylabel="f(x)", title=self.label)
        ax.legend(fontsize=8)
        return self._drawn(ax)


__all__ = ["PriorSamplesDisplay"]
