"""What a whole fit of many rows needs, as its sizes tell before it begins."""

from __future__ import annotations

from bayesvm.hyper import inducing, large
from bayesvm.hyper.cost import ENTRY, FEATURE, STEPS, Cost
from bayesvm.hyper.neighbours import GIVEN, OWN
from bayesvm.inference.low_rank import features

#: Evaluations of a whole search on a sample, of a variant of it, and of the search with as many rows as are enough.
WHOLE = 40
VARIANT = 15
LAST = 15
#: Whole searches and variants of a choice of the kernel.
FORMS = 2
VARIANTS = 6
#: Of an exact fit of labels: evaluations of all candidates on a part of the rows, and of those that go on with all
#: rows, other forms of the kernel included.
CHOICE = 60
FINISH = 15
#: Matrices of n x n numbers at the peak of an exact fit: where every candidate is fitted to all rows, where only the
#: chosen one is, and where the kernel is given.
CHOICE_MATRICES = 24
PART_MATRICES = 10
EXACT_MATRICES = 6


def expected_fit(
    n_rows: int, n_features: int, n_outputs: int = 1, *, quadratic: bool, size: int | None = None, chosen: bool = True
) -> Cost:
    """Return memory and operations of a fit, on the cautious side: the more expensive approximation counts.

    Parameters
    ----------
    n_rows, n_features, n_outputs : int
        Of the training data.
    quadratic : bool
        Whether the loss is quadratic.
    size : int or None
        Number of inducing inputs; None: as many as are needed, or neighbours.
    chosen : bool
        Whether the kernel is chosen.
    """
    m, steps = min(n_rows, large.MOST if size is None else size), 1 if quadratic else STEPS
    per_entry = 2.0 * (ENTRY + FEATURE * n_features)

    def weights(n: int, m: int) -> float:
        return n * m * m * (1.0 + n_outputs * (steps + 3.0)) + n * m * per_entry

    def blocks(n: int) -> float:
        rows = OWN + GIVEN
        return n / OWN * (n_outputs * (steps + 5.0) * rows**3 + rows * rows * per_entry)

    limit = large.GAUSSIAN_ROWS if quadratic else large.OTHER_ROWS
    local = size is None and n_rows <= limit
    sample = n_outputs * (steps + 3.0) * min(n_rows, large.SAMPLE) ** 3 / 3.0
    part = blocks(large.BLOCKS * OWN) if local else weights(min(n_rows, large.POOL), min(m, large.FEWER))
    last = weights(min(n_rows, large.FEATURE_ROWS), m)
    if local:
        last = max(last, blocks(min(n_rows, large.ROWS)))
    searches = (FORMS if chosen else 1) * WHOLE * (sample + part) + (VARIANTS if chosen else 0) * VARIANT * part
    operations = searches + LAST * last + max(weights(n_rows, m), blocks(n_rows) if local else 0.0)
    kept = min(n_rows * m, inducing.KEPT) + 4 * features.BLOCK + 8 * m * m
    return Cost(8.0 * (3.0 * n_rows * n_features + kept + 12.0 * n_rows * n_outputs), operations)


def expected_exact_fit(n_rows: int, n_features: int, part: int) -> Cost:
    """Return memory and operations of an exact fit of labels whose kernel is chosen on a part of the rows."""

    def search(n: int, evaluations: int) -> float:
        return evaluations * (float(n) ** 3 + float(n) ** 2 * (ENTRY + FEATURE * n_features))

    operations = search(min(n_rows, part), CHOICE) + search(n_rows, FINISH)
    return Cost(8.0 * (PART_MATRICES * n_rows**2 + 3 * n_rows * n_features), operations)


__all__ = ["CHOICE_MATRICES", "EXACT_MATRICES", "expected_exact_fit", "expected_fit"]
