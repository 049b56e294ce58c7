"""Compare two results of benchmarks: ``python -m benchmarks.check OLD.json NEW.json``.

``make bench-check OLD=... NEW=...`` is the same.

Fails if a ratio grew by more than 20 per cent, or a test NLL by more than 0.5 per cent.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.record import Row, read

#: Allowed relative growth by key.
ALLOWED = {"ratio": 0.20, "nll": 0.005}


def regressions(old: Sequence[Row], new: Sequence[Row]) -> list[str]:
    """Return one line per number that grew by more than is allowed."""
    before = {row["name"]: row for row in old}
    found = []
    for row in new:
        for key, allowed in ALLOWED.items():
            a, b = before.get(row["name"], {}).get(key), row.get(key)
            if a is not None and b is not None and b > a + allowed * abs(a):
                found.append(f"{row['name']}: {key} {a:.4g} -> {b:.4g}, more than {100 * allowed:g} % worse")
    return found


def main(arguments: Sequence[str]) -> int:
    """Print what got worse, and return the exit code."""
    if len(arguments) != 2:
        print("usage: python -m benchmarks.check OLD.json NEW.json", file=sys.stderr)
        return 2
    old, new = (read(path) for path in arguments)
    shared = {row["name"] for row in old} & {row["name"] for row in new}
    lines = regressions(old, new)
    print("\n".join([*lines, f"{len(shared)} rows compared, {len(lines)} worse"]))
    return 1 if lines or not shared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
