"""Solvers by name or as objects."""

import pytest

from bayesvm import solvers
from bayesvm.solvers import SMO, Auto, Newton


@pytest.mark.parametrize(("name", "solver"), [("newton", Newton()), ("smo", SMO()), ("auto", Auto())])
def test_names(name, solver):
    assert solvers.from_name(name) == solver


def test_objects_are_taken_as_they_are():
    solver = Newton(tol=1e-3)
    assert solvers.from_name(solver) is solver


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("newtn", r"solver: expected one of 'newton', 'smo', 'auto', found 'newtn'; did you mean 'newton'\?"),
        ("simplex", "found 'simplex'; an object of type Solver is accepted too"),
        (None, "found None"),
    ],
)
def test_other_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        solvers.from_name(name)
