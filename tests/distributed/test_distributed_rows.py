"""Rows become blocks that do not depend on how the source is split; moments and classes of blocks are those of all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.distributed.column_stats import Moments, count_labels, merged_counts
from bayesvm.distributed.engine import Threads
from bayesvm.distributed.row_maps import TargetMap
from bayesvm.distributed.rows import TrainingRows, Units, make_blocks
from bayesvm.models.scaling import Standardizer, TargetScale, weighted_moments


def split(columns, sizes):
    ends = np.cumsum(sizes)
    return [tuple(None if v is None else v[a:b] for v in columns) for a, b in zip(ends - sizes, ends)]


def blocks_of(columns, sizes, block_size):
    engine = Threads(1)
    parts = [engine.put(part, name="rows") for part in split(columns, sizes)]
    return engine, make_blocks(engine, parts, sizes, block_size)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(lambda sizes: sum(sizes) > 1),
    st.integers(2, 50),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_blocks_are_the_same_for_every_partition(sizes, block_size, weighted):
    n, rng = sum(sizes), np.random.default_rng(0)
    weights = rng.integers(0, 2, n).astype(float) if weighted else None
    columns = (rng.normal(size=(n, 2)), np.arange(float(n)), weights)
    engine, handles = blocks_of(columns, sizes, block_size)
    whole_engine, whole = blocks_of(columns, [n], block_size)
    assert len(handles) == len(whole) == -(-n // block_size)
    for k, (ours, theirs) in enumerate(zip(engine.gather(handles), whole_engine.gather(whole), strict=True)):
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None)
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(ours[1], np.arange(n)[block_size * k : block_size * (k + 1)])


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_found_by_their_numbers(weighted):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 2, 100).astype(float) if weighted else None
    columns = (rng.normal(size=(100, 3)), rng.normal(size=100), weights)
    engine, handles = blocks_of(columns, [30, 70], 16)
    units = Units(Standardizer.of(columns[0]), TargetMap(TargetScale.identity(1)))
    used = np.arange(100) if weights is None else np.flatnonzero(weights)
    sizes = tuple(int(np.sum((used >= 16 * k) & (used < 16 * (k + 1)))) for k in range(len(handles)))
    rows = TrainingRows(tuple(handles), sizes, units)
    assert rows.n == used.size
    numbers = np.array([0, 3, 17, 18, used.size - 1])
    some = rows.some(engine, numbers)
    np.testing.assert_allclose(some.X.X, units.standardizer.inputs(columns[0]).X[used[numbers]], rtol=1e-14)
    np.testing.assert_array_equal(some.Y[:, 0], columns[1][used[numbers]])
    assert (some.weights is None) == (weights is None)


@given(st.integers(0, 30), st.integers(1, 30), st.booleans())
def test_moments_of_parts_merge_to_those_of_the_whole(a, b, weighted):
    rng = np.random.default_rng(a + 100 * b)
    X = 1e3 + rng.normal(size=(a + b, 3))
    w = rng.uniform(0.1, 2.0, a + b) if weighted else None
    parts = [Moments.of(X[s], None if w is None else w[s]) for s in (slice(a), slice(a, None))]
    mean, var = weighted_moments(X, w)
    both = parts[0].merged(parts[1])
    np.testing.assert_allclose(both.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(both.var, var, rtol=1e-8, atol=1e-12)


def test_classes_are_counted_with_their_first_rows():
    y, w = np.array(list("aabba" * 30)), np.tile([1.0, 0.0, 2.0, 1.0, 1.0], 30)
    found = merged_counts([count_labels((None, y[s], w[s]), k) for k, s in enumerate((slice(90), slice(90, None)))])
    assert (found["a"].rows, found["a"].weight) == (90.0, 60.0)
    assert (found["b"].rows, found["b"].weight) == (60.0, 90.0)
    places = np.cumsum(w[:90] > 0) - 1
    expected = [(0, int(places[i])) for i in np.flatnonzero((y[:90] == "b") & (w[:90] > 0))]
    assert list(found["b"].first[:36]) == expected
    assert found["b"].first[36] == (1, 1)
    assert len(found["a"].first) == len(found["b"].first) == 50
