"""Metamorphic properties of every public estimator, on one data set; ``make hostile`` takes further ones."""

import pytest
from hostile_data import ESTIMATORS, NAMES
from hostile_properties import EXCEPTIONS, PROPERTIES
from public_estimators import QUICK, small_data

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def test_every_public_estimator_is_among_them():
    assert set(QUICK) <= set(NAMES)
    assert {name for _, name in EXCEPTIONS} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["stored", "refit"])
def test_property_of_every_estimator(what, name):
    machine = ESTIMATORS[name]
    X, y = small_data(machine, n=14, seed=3)
    PROPERTIES[what](machine, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", sorted(set(PROPERTIES) - {"stored", "refit"}))
def test_slow_property_of_every_estimator(what, name):
    if (what, name) in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[what, name])
    machine = ESTIMATORS[name]
    X, y = small_data(machine, n=30, seed=1)
    PROPERTIES[what](machine, X, y)
