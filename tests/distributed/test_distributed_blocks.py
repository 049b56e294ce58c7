"""Rows become blocks: every row once, balanced sizes, neighbours together, parts of any order mixed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.distributed.blocks import Plan, deal, make_blocks
from bayesvm.distributed.column_stats import Moments
from bayesvm.distributed.engine import Threads
from bayesvm.distributed.row_maps import TargetMap
from bayesvm.models.scaling import Standardizer, TargetScale, weighted_moments


def plan(d, block_size, clustered=False, seed=0):
    return Plan(block_size, clustered, seed, Standardizer.identity(d), TargetMap(TargetScale.identity(1)))


def blocks_of(parts, sizes, own):
    engine = Threads(1)
    made = make_blocks(engine, [engine.put(part, name="rows") for part in parts], sizes, own, parts[0][0].shape[1])
    return made, engine.gather(made.handles)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=40).filter(lambda sizes: sum(sizes) > 1),
    st.integers(2, 50),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_row_of_positive_weight_is_in_one_block(sizes, block_size, clustered, weighted):
    rng = np.random.default_rng(0)
    numbers = np.split(np.arange(sum(sizes), dtype=float), np.cumsum(sizes)[:-1])
    weights = [rng.integers(0, 2, n).astype(float) if weighted else None for n in sizes]
    parts = [(rng.normal(size=(n, 2)), own, w) for n, own, w in zip(sizes, numbers, weights)]
    used = [own if w is None else own[w > 0] for own, w in zip(numbers, weights)]
    made, found = blocks_of(parts, [len(own) for own in used], plan(2, block_size, clustered))
    seen = np.concatenate([block.Y[:, 0] for block in found]) if found else np.empty(0)
    np.testing.assert_array_equal(np.sort(seen), np.sort(np.concatenate(used)))
    assert tuple(len(block.X) for block in found) == made.sizes
    assert all(size <= block_size for size in made.sizes)
    assert [block.number for block in found] == list(range(len(found)))


def test_sorted_sources_are_mixed():
    labels = np.repeat([0.0, 1.0], 1500)
    X = np.zeros((3000, 1))
    parts = [(X[i : i + 50], labels[i : i + 50], None) for i in range(0, 3000, 50)]
    _, found = blocks_of(parts, [50] * 60, plan(1, 100))
    shares = [block.Y.mean() for block in found]
    assert min(shares) > 0.25
    assert max(shares) < 0.75


def test_the_seed_decides():
    parts = [(np.random.default_rng(1).normal(size=(300, 2)), np.arange(300.0), None)]
    runs = [[b.Y.ravel().tolist() for b in blocks_of(parts, [300], plan(2, 50, seed=s))[1]] for s in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_clustered_blocks_hold_neighbours():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    spread = {}
    for clustered in (True, False):
        own = deal(X, [125] * 16, clustered, np.random.default_rng(0))
        spread[clustered] = np.mean([X[rows].var(axis=0).sum() for rows in own])
    assert spread[True] < 0.3 * spread[False]


def test_equal_rows_can_be_clustered():
    assert [len(rows) for rows in deal(np.ones((10, 2)), [4, 3, 3], True, np.random.default_rng(0))] == [4, 3, 3]


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


def test_parts_with_bad_values_are_named(client):
    import dask.array as da

    from bayesvm.distributed import DistributedSVR

    X = np.ones((30, 2))
    X[25] = np.nan
    with pytest.raises(ValueError, match="part 2 of the data: expected finite inputs"):
        DistributedSVR(client=client).fit(da.from_array(X, chunks=(10, 2)), da.from_array(np.arange(30.0), chunks=10))
