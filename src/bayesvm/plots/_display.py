"""What all displays share: axes, colours, marks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

#: Colours that people with any colour vision tell apart, ordered so that neighbours differ in lightness too.
COLOURS = ("#0072B2", "#E69F00", "#000000", "#56B4E9", "#009E73", "#CC79A7", "#D55E00")
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Colours of points on a surface, one per class.
FACES = ("#FFFFFF", "#E69F00", "#CC79A7", "#56B4E9", "#009E73", "#D55E00", "#000000")
#: Colour map of increasing lightness, made for all kinds of colour vision.
SURFACE = "cividis"


def new_axes(ax: Any, columns: int = 1, **options: Any) -> Any:
    """Return the given axes, or new ones (an array of them if ``columns`` is more than one)."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("bayesvm.plots needs matplotlib: pip install 'bayesvm[plots]'") from None
    options.setdefault("figsize", (6.4 if columns == 1 else 9.6, 4.4))
    return plt.subplots(1, columns, layout="constrained", **options)[1]


class Display:
    """Data of a picture; ``plot`` draws it and sets ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any

    def _drawn(self, ax: Any) -> Self:
        self.ax_ = ax
        self.figure_ = np.ravel(ax)[0].figure if isinstance(ax, np.ndarray) else ax.figure
        return self


def legend_below(ax: Any, columns: int = 3) -> None:
    """Put the legend under the axes, where it covers no data."""
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False)


def final_estimator(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself; it must be fitted."""
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(final)
    return final


def need(estimator: Any, display: str, *names: str) -> None:
    """Refuse an estimator that lacks what a picture is made of."""
    missing = [name for name in names if not hasattr(estimator, name)]
    if missing:
        raise TypeError(f"{display}: {type(estimator).__name__} has no {', '.join(missing)}")


def feature_names(estimator: Any, n: int) -> list[str]:
    """Return names of n features: those seen in fitting, or numbered ones."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"feature {i}" for i in range(n)] if names is None else [str(name) for name in names]


__all__ = [
    "COLOURS",
    "DASHES",
    "FACES",
    "MARKERS",
    "SURFACE",
    "Display",
    "feature_names",
    "final_estimator",
    "legend_below",
    "need",
    "new_axes",
]
