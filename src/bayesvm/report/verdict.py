"""The verdict of a report: how good the predictions are, against what, and how sure that is, in two sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from bayesvm.report.performance import SHARES


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is to be read first.

    Attributes
    ----------
    headline : str
        How good the predictions are.
    detail : str
        How sure that is, and what guessing would do.
    good : bool
        Whether the predictions are clearly better than guessing.
    """

    headline: str
    detail: str
    good: bool


def verdict_of(performance: Mapping[str, Any], task: str) -> Verdict:
    """Return the verdict on a performance (:func:`bayesvm.report.facts.as_plain`)."""
    name, value, lower, upper, _ = performance["figures"][0]
    rows = f"{performance['n']} rows, {performance['source']}"
    between = "" if lower is None or upper is None else f" (95 % interval {shown(name, lower)} to {shown(name, upper)})"
    if task == "classification":
        headline = f"Right on {1.0 - value:.1%} of the rows"
        detail = f"Wrong on {value:.1%}{between}; {rows}."
    else:
        average = {figure[0]: figure[1] for figure in performance["figures"]}.get("mean absolute error", value)
        headline = f"Off by {number(average)} on average"
        detail = f"Root mean squared error {number(value)}{between}; {rows}."
    baseline = performance.get("baseline")
    if baseline is None:
        return Verdict(headline, detail, True)
    figure = f"{baseline['value']:.1%}" if task == "classification" else number(baseline["value"])
    if baseline["beaten"]:
        return Verdict(headline, f"{detail} Clearly better than {baseline['name']} ({figure}).", True)
    guessing = f"Guessing has {figure}: these rows show no difference."
    return Verdict(f"No better than {baseline['name']}", f"{detail} {guessing}", False)


def number(value: Any) -> str:
    """Return a number with four digits, or a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.4g}"


def shown(name: str, value: Any) -> str:
    """Return the value of a figure; shares are percentages."""
    return f"{value:.1%}" if value is not None and name in SHARES else number(value)


__all__ = ["Verdict", "number", "shown", "verdict_of"]
