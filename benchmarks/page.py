"""Writes the tables of docs/performance.md from measured JSON: ``python -m benchmarks.page [FILE.json ...]``.

Between ``<!-- table NAME -->`` and ``<!-- end -->`` the page holds what a function of this module makes of the rows;
nothing there is typed by hand. Without files, those in ``benchmarks/results`` are read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.record import EARLIER_ONE_START, ONE_START, OURS, Row

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PLACE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for people."""
    return "-" if value is None else f"{value:.{digits}f}"


def _split(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """Return rows named "set | machine" by set and machine."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        data, bar, machine = row["name"].partition(" | ")
        if bar:
            found.setdefault(data, {})[machine] = row
    return found


def peers(rows: Sequence[Row]) -> str:
    """Return all measured columns of the classifiers."""
    head = [
        "set",
        "machine",
        "error %",
        "NLL",
        "ECE",
        "vectors",
        "fit [s]",
        "predict 1000 [ms]",
        "peak [MB]",
        "our fit / its",
    ]
    shown = []
    for data, machines in _split(rows).items():
        for machine, row in machines.items():
            if "error" in row:
                shown.append(
                    [
                        data,
                        machine,
                        number(row["error"]),
                        number(row["nll"], 4),
                        number(row["ece"], 3),
                        number(row.get("vectors"), 0),
                        number(row["fit_s"]),
                        number(row["predict_ms_per_1000"], 1),
                        number(row.get("peak_mb"), 0),
                        number(row.get("ratio"), 3),
                    ]
                )
    return markdown(head, shown)


def verdict(rows: Sequence[Row]) -> str:
    """Return, per set, who has the best NLL and who is the fastest, and whether ours is as good within noise."""
    shown = []
    for data, machines in _split(rows).items():
        if OURS not in machines or "error" not in machines[OURS]:
            continue
        alone = next((name for name in (ONE_START, EARLIER_ONE_START) if name in machines), None)
        racing = [machine for machine in machines if machine != alone]
        best = min(racing, key=lambda m: machines[m]["nll"])
        fastest = min(racing, key=lambda m: machines[m]["fit_s"])
        row = machines[best]
        gap, error = row.get("nll_above_ours"), row.get("nll_above_ours_se")
        within = best == OURS or (gap is not None and error is not None and -gap <= 2.0 * error)
        difference = "-" if gap is None else f"{gap:+.4f} ± {number(error, 4)}"
        answer = "best" if best == OURS else "within noise of the best" if within else "NOT the best"
        times = machines[OURS]["fit_s"] / machines[fastest]["fit_s"]
        speed = "fastest" if fastest == OURS else f"NOT the fastest: {fastest} is {number(times, 1)} times faster"
        single = None if alone is None else machines[alone]["fit_s"] / machines[fastest]["fit_s"]
        leader = f"{best} ({number(row['nll'], 4)})"
        shown.append([data, number(machines[OURS]["nll"], 4), leader, difference, answer, speed, number(single)])
    head = [
        "set",
        "NLL of BayesianSVC()",
        "best NLL",
        "best - ours, paired",
        "likelihood",
        "fit",
        "fit from one start / fastest",
    ]
    return markdown(head, shown)


def regression(rows: Sequence[Row]) -> str:
    """Return all measured columns of the regressors."""
    head = ["data", "machine", "RMSE", "NLL", "fit [s]", "predict 1000 [ms]", "BayesianSVR() fit / its"]
    shown = [
        [
            data,
            machine,
            number(row["rmse"], 4),
            number(row["nll"], 4),
            number(row["fit_s"]),
            number(row["predict_ms_per_1000"], 1),
            number(row.get("ratio"), 3),
        ]
        for data, machines in _split(rows).items()
        for machine, row in machines.items()
        if "rmse" in row
    ]
    return markdown(head, shown)


def growth(rows: Sequence[Row]) -> str:
    """Return fit times by size, and exponents."""
    times: dict[str, dict[str, str]] = {}
    sizes: list[int] = []
    for row in rows:
        found = re.fullmatch(r"growth (.*) (?:n=(\d+)|exponent)", row["name"])
        if found:
            cell = number(row["fit_s"]) if found[2] else number(row["exponent"])
            times.setdefault(found[1], {})[found[2] or "exponent"] = cell
            sizes += [int(found[2])] if found[2] and int(found[2]) not in sizes else []
    head = ["machine", *(f"n = {n} [s]" for n in sorted(sizes)), "exponent, n from 400"]
    return markdown(
        head, [[m, *(t.get(str(n), "-") for n in sorted(sizes)), t.get("exponent", "-")] for m, t in times.items()]
    )


def limits(rows: Sequence[Row]) -> str:
    """Return our evaluation over the work that cannot be avoided."""
    found = [row for row in rows if row["name"].startswith("evaluation ")]
    head = ["likelihood", "n", "support", "evaluation [ms]", "unavoidable [ms]", "ratio"]
    shown = [
        [
            row["likelihood"],
            str(row["n"]),
            str(row["support"]),
            number(row["evaluation [ms]"], 1),
            number(row["evaluation [ms]"] / row["ratio"], 1),
            number(row["ratio"]),
        ]
        for row in found
    ]
    return markdown(head, shown)


def profile(rows: Sequence[Row]) -> str:
    """Return shares of the time of default fits."""
    found = [row for row in rows if row["name"].startswith("profile ")]
    parts = list(dict.fromkeys(key for row in found for key in row["shares"]))
    head = ["n", "fit [s]", *(f"{part} %" for part in parts)]
    return markdown(
        head,
        [
            [str(r["n"]), number(r["fit_s"]), *(number(100.0 * r["shares"].get(p, 0.0), 0) for p in parts)]
            for r in found
        ],
    )


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    function.__name__: function for function in (peers, verdict, regression, growth, limits, profile)
}


def rows_in(path: Path) -> list[Row]:
    """Return the rows of a file; none of one that keeps something else, such as single fits."""
    kept = json.loads(path.read_text())
    return list(kept.get("rows", [])) if isinstance(kept, dict) else []


def main(files: Sequence[str]) -> None:
    """Write the page."""
    paths = [Path(file) for file in files] or sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    rows = [row for path in paths for row in rows_in(path)]
    text = PLACE.sub(lambda m: m[1] + TABLES[m[2]](rows) + m[3], PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
