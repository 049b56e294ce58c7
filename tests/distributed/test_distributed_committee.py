"""How members are combined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvm.distributed.committee import COMMITTEES, CommitteeRule, member_sums

rates = st.floats(0.01, 0.99)


@given(st.floats(-5.0, 5.0), rates, st.floats(0.1, 100.0))
def test_a_committee_of_one_is_its_member(mean, share, prior):
    var, prior = np.array([share * prior]), np.array([prior])
    sums = member_sums(np.array([mean]), var, prior)
    for name in COMMITTEES:
        m, v = CommitteeRule(name, 1).combine(sums, prior)
        np.testing.assert_allclose([m[0], v[0]], [mean, var[0]], rtol=1e-10)


@pytest.mark.parametrize("name", COMMITTEES)
def test_the_prior_returns_where_nobody_knows_anything(name):
    prior = np.array([2.0, 3.0])
    sums = sum(member_sums(np.zeros(2), prior.copy(), prior) for _ in range(5))
    mean, var = CommitteeRule(name, 5).combine(sums, prior)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(var, prior)


@given(st.lists(st.tuples(st.floats(-3.0, 3.0), rates), min_size=2, max_size=6), st.floats(0.01, 2.0))
def test_the_tempered_committee_machine_follows_its_formula(members, temper):
    prior = np.array([4.0])
    sums = sum(member_sums(np.array([m]), s * prior, prior) for m, s in members)
    mean, var = CommitteeRule("rbcm", len(members), temper).combine(sums, prior)
    beta = [0.5 * np.log(1.0 / s) for _, s in members]
    precision = 0.25 + temper * sum(b * (0.25 / s - 0.25) for b, (_, s) in zip(beta, members))
    pull = temper * sum(b * m * 0.25 / s for b, (m, s) in zip(beta, members))
    np.testing.assert_allclose([var[0], mean[0]], [1.0 / precision, pull / precision], rtol=1e-9, atol=1e-12)
    assert 0.0 < var[0] <= prior[0] * (1.0 + 1e-12)


@given(st.lists(st.tuples(st.floats(-3.0, 3.0), rates), min_size=2, max_size=6))
def test_products_of_experts_stay_between_their_members(members):
    prior = np.array([4.0])
    sums = sum(member_sums(np.array([m]), s * prior, prior) for m, s in members)
    mean, var = CommitteeRule("gpoe", len(members)).combine(sums, prior)
    means, variances = [m for m, _ in members], [4.0 * s for _, s in members]
    assert min(means) - 1e-9 <= mean[0] <= max(means) + 1e-9
    assert min(variances) - 1e-9 <= var[0] <= max(variances) + 1e-9
