"""The search for hyperparameters: where every start ended, and the evidence around the optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from bayesvm.estimators.committee import Committee
from bayesvm.hyper import Maximizer
from bayesvm.plots._display import (
    COLOURS,
    DASHES,
    MARKERS,
    SURFACE,
    Display,
    final_estimator,
    legend_below,
    need,
    new_axes,
)
from bayesvm.typing import Matrix, Vector

#: Evidence this far below the best is not drawn: in nats, and as a multiple of the spread of the ends.
WINDOW, SPREAD = 10.0, 3.0


@dataclasses.dataclass
class EvidenceTraceDisplay(Display):
    """Log evidence against the number of evaluations: end points of all starts, and their way there if it was recorded.

    Parameters
    ----------
    records : sequence of StartRecord
        One per start, as in ``history_``.
    traces : sequence of arrays
        Per start, the best value after each evaluation; empty if not recorded.
    """

    records: Sequence[Any]
    traces: Sequence[Vector] = ()

    @classmethod
    def from_estimator(cls, estimator: Any, *, model: int = 0, retrace: bool = False, ax: Any = None) -> Self:
        """Draw the history of a fitted self-tuning estimator.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            With ``history_``.
        model : int
            Which of its models (several classes or outputs).
        retrace : bool
            Whether to search again from every start to record the way, at about the cost of fitting.
        ax : matplotlib axes, optional
            Where to draw.
        """
        inner = final_estimator(estimator)
        need(inner, cls.__name__, "history_", "models_")
        fitted = inner.models_[model]
        before = sum(len(other.maximum.history) for other in inner.models_[:model])
        records = inner.history_[before : before + len(fitted.maximum.history)]
        traces: list[Vector] = []
        if retrace:
            seen: list[list[float]] = [[] for _ in records]
            maximizer = Maximizer(tol=float(inner.evidence_tol), callback=lambda p: seen[p.start].append(p.value))
            maximizer.maximize(fitted.objective, [record.start for record in fitted.maximum.history])
            offset = records[0].value - fitted.maximum.history[0].value  # units of the targets
            traces = [np.maximum.accumulate(np.asarray(values)) + offset for values in seen]
        return cls(records, traces).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        ax = new_axes(ax)
        finite = [record.value for record in self.records if np.isfinite(record.value)]
        best = max(finite)
        for i, record in enumerate(self.records):
            style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
            label = f"start {i + 1}: {record.status.value.split(':')[0]}"
            if self.traces:
                steps = np.arange(1, self.traces[i].size + 1)
                ax.plot(steps, self.traces[i], color=style["color"], linestyle=DASHES[i % len(DASHES)], linewidth=1.2)
            ax.plot([record.evaluations], [record.value], linestyle="none", markersize=8, label=label, **style)
        ax.axhline(best, color="black", linewidth=0.8, linestyle=":")
        drop = max(WINDOW, SPREAD * float(np.std(finite)))
        ax.set_ylim(max(min(finite) - 1.0, best - drop), best + 0.1 * drop)
        ax.set(xlabel="evaluations of the evidence", ylabel="log evidence [nats]", title="Where the starts ended")
        legend_below(ax, 2)
        return self._drawn(ax)


@dataclasses.dataclass
class EvidenceSurfaceDisplay(Display):
    """Log evidence over two hyperparameters, with the test error beside it (Chu2003 Figure 5).

    Parameters
    ----------
    names : pair of str
        The two hyperparameters.
    first, second : arrays, shape (k,), (l,)
        Their values.
    evidence : array, shape (l, k)
        Log evidence; the others are kept at the optimum.
    error : array, shape (l, k), or None
        Test error rate, or root mean squared error.
    optimum : pair of float
        Where the search ended.
    """

    names: tuple[str, str]
    first: Vector
    second: Vector
    evidence: Matrix
    error: Matrix | None
    optimum: tuple[float, float]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        parameters: tuple[str, str] | None = None,
        span: float = 2.0,
        grid: int = 15,
        ax: Any = None,
    ) -> Self:
        """Evaluate the evidence of a fitted estimator on a grid and draw it.

        Parameters
        ----------
        estimator : fitted self-tuning estimator
            With one model (two classes or one output).
        X, y : arrays, optional
            Test data, for the error beside it.
        parameters : pair of str, optional
            Names out of ``theta_names_``; the first two if None.
        span : float
            How far to go from the optimum, in natural logarithms.
        grid : int
            Values per hyperparameter.
        ax : one axes, or an array of two with test data, optional
            Where to draw.
        """
        inner = final_estimator(estimator)
        need(inner, cls.__name__, "theta_names_", "log_evidence", "history_", "models_")
        if len(inner.models_) != 1:
            raise ValueError(f"{cls.__name__}: expected an estimator with one model, found {len(inner.models_)}")
        names = list(inner.theta_names_)
        chosen = tuple(names[:2]) if parameters is None else tuple(parameters)
        if len(chosen) != 2 or any(name not in names for name in chosen):
            raise ValueError(f"parameters: expected two of {', '.join(names)}, found {parameters!r}")
        at = [names.index(name) for name in chosen]
        best = max(inner.history_, key=lambda record: record.value).end
        steps = np.linspace(-span, span, grid)
        evidence = np.empty((grid, grid))
        error = None if X is None else np.empty((grid, grid))
        for i, j in np.ndindex(grid, grid):
            shift = np.zeros_like(best)
            shift[at[0]], shift[at[1]] = steps[j], steps[i]
            evidence[i, j] = inner.log_evidence(best + shift)
            if error is not None:
                error[i, j] = _error(Committee.of(inner, [[inner.models_[0].theta + shift]]), X, y)
        axes = [np.exp(best[k] + steps) for k in at]
        optimum = (float(np.exp(best[at[0]])), float(np.exp(best[at[1]])))
        return cls((chosen[0], chosen[1]), axes[0], axes[1], evidence, error, optimum).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on given or new axes."""
        panels = [("log evidence [nats]", np.maximum(self.evidence, self.evidence.max() - 4 * WINDOW))]
        if self.error is not None:
            panels.append(("test error", self.error))
        ax = new_axes(ax, len(panels))
        for one, (title, values) in zip(np.ravel(ax), panels, strict=True):
            filled = one.contourf(self.first, self.second, values, levels=16, cmap=SURFACE)
            one.contour(self.first, self.second, values, levels=8, colors="black", linewidths=0.4, alpha=0.6)
            one.plot(*self.optimum, marker="*", markersize=14, color="white", markeredgecolor="black")
            one.set(xscale="log", yscale="log", xlabel=self.names[0], ylabel=self.names[1], title=title)
            one.figure.colorbar(filled, ax=one)
        return self._drawn(ax)


def _error(estimator: Any, X: Any, y: Any) -> float:
    predicted = estimator.predict(X)
    if is_classifier(estimator):
        return float(np.mean(predicted != np.asarray(y)))
    return float(np.sqrt(np.mean((predicted - np.asarray(y)) ** 2)))


__all__ = ["EvidenceSurfaceDisplay", "EvidenceTraceDisplay"]
