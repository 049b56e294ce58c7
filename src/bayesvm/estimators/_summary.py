"""What an estimator has learnt, in a few words and numbers: ``repr``, the view in notebooks, and ``summary()``."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

#: Features whose relevance is shown.
SHOWN = 5
#: Relevance, over the largest one, below which a feature is called switched off.
OFF = 1e-2
#: Columns of the text.
WIDTH = 100


@dataclasses.dataclass(frozen=True)
class Summary:
    """What was learnt, as pairs of what and how much; ``print`` shows lines, a notebook a table.

    Attributes
    ----------
    title : str
        The estimator, as it was made.
    lines : tuple of (str, str)
        What is told, and what is said about it.
    """

    title: str
    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.lines), default=0)
        hanging = " " * (width + 4)
        rows = [
            textwrap.fill(
                text, WIDTH, initial_indent=f"  {name:<{width}}  ", subsequent_indent=hanging, break_long_words=False
            )
            for name, text in self.lines
        ]
        return "\n".join([self.title, *rows])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in self.lines
        )
        return f"<table><caption>{html.escape(self.title)}</caption><tbody>{rows}</tbody></table>"


def is_fitted(estimator: Any) -> bool:
    """Whether there are fitted attributes."""
    return any(name.endswith("_") and not name.startswith("_") for name in vars(estimator))


def summarize(estimator: Any, title: str) -> Summary:
    """Return what a fitted estimator has learnt: data, kernel, noise, evidence, support vectors, relevances."""
    parts = (
        ("data", _data(estimator)),
        *_kernels(estimator),
        ("kernels tried", _candidates(estimator)),
        ("noise", _noise(estimator)),
        ("log evidence", _evidence(estimator)),
        ("leave-one-out", _leave_one_out(estimator)),
        ("support vectors", _support(estimator)),
        ("relevance", _relevance(estimator)),
    )
    return Summary(title, tuple((name, text) for name, text in parts if text))


def in_brief(estimator: Any) -> str:
    """Return the few numbers of ``repr``."""
    parts = [_data(estimator)]
    if _known(estimator, "log_evidence_"):
        parts.append(f"log evidence {estimator.log_evidence_:.2f}")
    if _known(estimator, "support_"):
        parts.append(f"{len(estimator.support_)} support vectors")
    if not getattr(estimator, "converged_", True):
        parts.append("not converged")
    return ", ".join(part for part in parts if part)


def _known(estimator: Any, name: str) -> bool:
    return name in vars(estimator) and vars(estimator)[name] is not None


def _rows(estimator: Any) -> int | None:
    """Return the number of training rows, None if the estimator does not know it."""
    known = next((name for name in ("loo_proba_", "outlier_score_") if _known(estimator, name)), None)
    return None if known is None else len(vars(estimator)[known])


def _data(estimator: Any) -> str:
    rows, classes = _rows(estimator), getattr(estimator, "classes_", None)
    parts = [] if rows is None else [f"{rows} rows"]
    if hasattr(estimator, "n_features_in_"):
        parts.append(f"{estimator.n_features_in_} features")
    if classes is not None:
        parts.append(f"{len(classes)} classes")
    return ", ".join(parts)


def _kernels(estimator: Any) -> list[tuple[str, str]]:
    kernels = vars(estimator).get("kernels_", ())
    if not kernels:
        return [("kernel", str(vars(estimator)["kernel_"]))] if _known(estimator, "kernel_") else []
    if all(kernel is kernels[0] for kernel in kernels):
        return [("kernel", str(kernels[0]))]
    return [(f"kernel of {name}", str(k)) for name, k in zip(output_names(estimator), kernels, strict=True)]


def output_names(estimator: Any) -> list[str]:
    """Return a name per latent function: the classes, where there is one for each, or numbers."""
    n = len(estimator.kernels_)
    classes = getattr(estimator, "classes_", ())
    return [str(label) for label in classes] if len(classes) == n else [f"output {k}" for k in range(n)]


def _candidates(estimator: Any) -> str:
    """Return the kernels that were tried, the heaviest first where they have weights, else by their evidence."""
    tried = vars(estimator).get("candidates_", ())
    if len(tried) < 2:
        return ""
    best = sorted(tried, key=lambda c: (-(getattr(c, "weight", None) or 0.0), -c.log_evidence))
    shown = "; ".join(_candidate(candidate) for candidate in best[:SHOWN])
    return shown + (f"; and {len(best) - SHOWN} more" if len(best) > SHOWN else "")


def _candidate(candidate: Any) -> str:
    weight = getattr(candidate, "weight", None)
    facts = [] if np.isnan(candidate.log_evidence) else [f"{candidate.log_evidence:.2f} nats"]
    facts += [] if weight is None else [f"weight {weight:.1%}"]
    return f"{candidate.kernel} ({', '.join(facts)})"


def _noise(estimator: Any) -> str:
    if not _known(estimator, "noise_std_"):
        return ""
    spread = ", ".join(f"{value:.4g}" for value in np.atleast_1d(estimator.noise_std_))
    return f"standard deviation {spread}"


def _evidence(estimator: Any) -> str:
    if not _known(estimator, "log_evidence_"):
        return ""
    spent = f" after {estimator.n_iter_} evaluations" if _known(estimator, "n_iter_") else ""
    ended = "converged" if getattr(estimator, "converged_", True) else "did not converge"
    return f"{estimator.log_evidence_:.2f} nats; the search {ended}{spent}"


def _leave_one_out(estimator: Any) -> str:
    rows = _rows(estimator)
    if rows is None or not _known(estimator, "loo_log_likelihood_"):
        return ""
    return f"log likelihood {estimator.loo_log_likelihood_:.2f} nats, {estimator.loo_log_likelihood_ / rows:.3f} a row"


def _support(estimator: Any) -> str:
    if not _known(estimator, "support_"):
        return ""
    n, rows = len(estimator.support_), _rows(estimator)
    basis = getattr(estimator, "n_basis_", n)
    predicting = "" if basis == n else f"; predictions from {basis} rows"
    return f"{n}{predicting}" if rows is None else f"{n} of {rows} rows ({n / rows:.0%}){predicting}"


def _relevance(estimator: Any) -> str:
    if not _known(estimator, "named_relevance_"):
        return ""
    named = list(estimator.named_relevance_.items())
    shown = ", ".join(f"{name} {value:.3g}" for name, value in named[:SHOWN])
    off = switched_off(dict(named))
    rest = f"; and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f"{shown}{rest}" + (f"; {len(off)} of {len(named)} features switched off" if off else "")


def switched_off(relevance: dict[str, float]) -> list[str]:
    """Return the features whose relevance is next to nothing beside the largest one."""
    largest = max(relevance.values(), default=0.0)
    return [name for name, value in relevance.items() if value <= OFF * largest]


class SummaryMixin:
    """``summary()``, and a ``repr`` that says of a fitted estimator what it has learnt."""

    def summary(self) -> Summary:
        """Return what was learnt in a few lines: ``print(model.summary())``, or the last line of a notebook's cell.

        Returns
        -------
        summary : Summary
            With ``title`` and ``lines``.
        """
        check_is_fitted(self)
        return summarize(self, super().__repr__())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        made = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        return f"{made} fitted: {in_brief(self)}" if is_fitted(self) else made

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's view, with the table of what was learnt below it if there is any."""
        page: str = super()._repr_html_inner()  # type: ignore[misc]
        return page + self.summary()._repr_html_() if is_fitted(self) else page

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


__all__ = ["Summary", "SummaryMixin", "output_names", "summarize", "switched_off"]
