"""Deprecated names and arguments warn at the caller's line, go on working, and are removed when that was promised."""

import ast
import inspect
import warnings
from pathlib import Path

import pytest

import bayesvm
from bayesvm.deprecation import deprecated, renamed_argument

SOURCE = Path(bayesvm.__file__).parent
MARKS = ("deprecated", "renamed_argument")


@deprecated(since="0.2", removed_in="0.4", instead="new")
def old(x, *, y=1):
    """Add two numbers.

    Returns
    -------
    int
    """
    return x + y


@deprecated(since="0.2", removed_in="0.4", instead="New")
class Old:
    def __init__(self, x=1):
        self.x = x


class Child(Old):
    pass


class Owner:
    @property
    @deprecated(since="0.2", removed_in="0.4", instead="Owner.b")
    def a(self):
        return 3

    @renamed_argument("n", "n_samples", since="0.2", removed_in="0.4")
    def draw(self, n_samples=1):
        return n_samples


def test_a_function_warns_at_the_line_that_calls_it_and_works():
    with pytest.warns(
        FutureWarning, match=r"^old is deprecated since 0.2 and will be removed in 0.4; use new$"
    ) as found:
        assert old(1, y=2) == 3
    assert found[0].filename == __file__


def test_a_function_keeps_its_name_signature_and_docstring():
    assert old.__name__ == "old"
    assert list(inspect.signature(old).parameters) == ["x", "y"]
    assert old.__doc__.startswith("Add two numbers.\n\nReturns\n")
    assert old.__doc__.endswith(
        ".. deprecated:: 0.2\n    old is deprecated since 0.2 and will be removed in 0.4; use new\n"
    )


@pytest.mark.parametrize("cls", [Old, Child])
def test_a_class_warns_when_an_instance_is_made_and_stays_a_class(cls):
    with pytest.warns(FutureWarning, match="Old is deprecated") as found:
        made = cls(x=5)
    assert found[0].filename == __file__
    assert (made.x, isinstance(made, Old)) == (5, True)
    assert list(inspect.signature(cls).parameters) == ["x"]


def test_a_property_warns():
    with pytest.warns(FutureWarning, match=r"Owner\.a is deprecated .* use Owner\.b"):
        assert Owner().a == 3


def test_an_old_argument_is_passed_on_by_its_new_name():
    with pytest.warns(FutureWarning, match=r"Owner\.draw: the argument 'n' is deprecated .* use 'n_samples'") as found:
        assert Owner().draw(n=4) == 4
    assert found[0].filename == __file__


def test_the_new_argument_does_not_warn_and_both_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Owner().draw(n_samples=4) == 4
        assert Owner().draw(5) == 5
        with pytest.raises(TypeError, match="'n' is the old name of 'n_samples'; give one of them"):
            Owner().draw(n=4, n_samples=4)


def test_a_rename_to_an_argument_that_is_not_there_is_an_error_at_once():
    with pytest.raises(TypeError, match="has no argument 'z'"):
        renamed_argument("a", "z", since="0.2", removed_in="0.4")(lambda x: x)


def overdue(code, version):
    """Return the lines of a source text with marks whose release of removal is this version or an earlier one."""
    now = [int(part) for part in version.split(".")]
    lines = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS:
            stated = {
                keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg != "instead"
            }
            if [int(part) for part in stated["removed_in"].split(".")] <= now:
                lines.append(node.lineno)
    return lines


def test_nothing_stays_longer_than_promised():
    for path in SOURCE.rglob("*.py"):
        assert not overdue(path.read_text(encoding="utf-8"), bayesvm.__version__), path


def test_what_has_stayed_too_long_is_found():
    code = "@deprecated(since='0.2', removed_in='0.4', instead='g')\ndef f(): pass\n"
    assert overdue(code, "0.3.7") == []
    assert overdue(code, "0.4.0") == [1]
    assert overdue(code, "1.0.0") == [1]
