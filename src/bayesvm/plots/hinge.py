"""A kernel as the prior of a support vector machine, and the evidence against C (Sollich1999, Figures 1 and 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from bayesvm.hyper.hinge_evidence import EvidenceCurve
from bayesvm.kernels import Gaussian, Kernel, OrnsteinUhlenbeck, Polynomial
from bayesvm.models.prior_draws import sample_prior
from bayesvm.plots._display import COLOURS, Display, new_axes
from bayesvm.typing import Matrix, Vector

#: The kernels of Figure 1, by rows: the first of a row is shown as a surface and as probabilities, the second as
#: probabilities.
FIGURE_1 = (
    (OrnsteinUhlenbeck(10.0, 0.1), OrnsteinUhlenbeck(1.0, 0.1)),
    (Gaussian(10.0, 0.1), Gaussian(10.0, 0.05)),
    (Polynomial(5, 1.0, 1.0), Polynomial(10, 1.0, 1.0)),
)


@dataclasses.dataclass
class SVMPriorDisplay(Display):
    """Draws of the prior on the unit square: a surface, and the label probabilities that it implies.

    Parameters
    ----------
    x : array, shape (k,)
        Values of either coordinate.
    samples : list of (array, array), each of shape (k, k)
        Per row, draws of the first and of the second kernel.
    C : float
        Noise parameter of the label probabilities.
    titles : list of (str, str)
        The kernels.
    """

    x: Vector
    samples: list[tuple[Matrix, Matrix]]
    C: float
    titles: list[tuple[str, str]]

    @classmethod
    def from_kernels(
        cls,
        rows: Sequence[tuple[Kernel, Kernel]] = FIGURE_1,
        *,
        C: float = 2.0,
        resolution: int = 40,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw from pairs of kernels, one row of three panels per pair; by default the nine panels of Figure 1.

        Parameters
        ----------
        rows : sequence of pairs of Kernel
            For two features.
        C : float
            Noise parameter.
        resolution : int
            Points along either side of the square.
        random_state : int
            Seed.
        ax : array of matplotlib axes, shape (rows, 3), optional
            Where to draw; the first column with a three-dimensional projection.
        """
        x = np.linspace(0.0, 1.0, resolution)
        X = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        rng = np.random.default_rng(random_state)

        def draw(kernel: Kernel) -> Matrix:
            return sample_prior(kernel, X, 1, rng)[:, 0].reshape(resolution, resolution)

        samples = [(draw(first), draw(second)) for first, second in rows]
        return cls(x, samples, C, [(repr(first), repr(second)) for first, second in rows]).plot(ax)

    def probabilities(self, f: Matrix) -> Matrix:
        r"""Return :math:`P(y = 1|\theta)`, Sollich1999 (5)."""
        odds = self.C * (np.maximum(1.0 + f, 0.0) - np.maximum(1.0 - f, 0.0))
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * odds)))

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        if ax is None:
            figure = new_axes(None).figure
            figure.clf()
            figure.set_size_inches(9.6, 3.0 * len(self.samples))
            ax = np.empty((len(self.samples), 3), dtype=object)
            for i, j in np.ndindex(ax.shape):
                projection = {"projection": "3d"} if j == 0 else {}
                ax[i, j] = figure.add_subplot(len(self.samples), 3, 3 * i + j + 1, **projection)
        a, b = np.meshgrid(self.x, self.x, indexing="ij")
        for row, (first, second), titles in zip(ax, self.samples, self.titles):
            row[0].plot_surface(a, b, first, cmap="cividis", linewidth=0)
            row[0].set_title(titles[0], fontsize=7)
            for panel, f, title in zip(row[1:], (first, second), titles):
                panel.imshow(
                    self.probabilities(f).T, cmap="gray", vmin=0.0, vmax=1.0, origin="lower", extent=(0, 1, 0, 1)
                )
                panel.set_title(title, fontsize=7)
        return self._drawn(ax)


@dataclasses.dataclass
class EvidenceCurveDisplay(Display):
    """Naive and normalised evidence against C at a fixed product of C and the kernel.

    Parameters
    ----------
    curve : EvidenceCurve
        The values.
    """

    curve: EvidenceCurve

    @classmethod
    def from_estimator(cls, estimator: Any, *, C: Any = None, ax: Any = None) -> Self:
        """Compute the curve of a fitted :class:`~bayesvm.ProbabilisticSVC` and draw it."""
        return cls(estimator.evidence_curve(C)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes; both curves are shown relative to their maxima."""
        ax = new_axes(ax)
        c = self.curve
        full, naive = c.log_evidence - np.max(c.log_evidence), c.naive - np.max(c.naive)
        ax.plot(c.C, full, color=COLOURS[0], label="ln P(D)")
        ax.fill_between(c.C, full - c.error, full + c.error, color=COLOURS[0], alpha=0.2)
        ax.plot(c.C, naive, color=COLOURS[1], linestyle="--", label="ln Q(D), not normalised")
        ax.axvline(c.best, color="0.6", linewidth=0.8)
        ax.set(xlabel="C", ylabel="nats below the maximum", xscale="log")
        ax.set_ylim(max(-20.0, float(np.min(full))), 1.0)
        ax.legend(fontsize=8)
        return self._drawn(ax)


__all__ = ["FIGURE_1", "EvidenceCurveDisplay", "SVMPriorDisplay", "sample_prior"]
