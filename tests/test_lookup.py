"""Names in arguments: a wrong one is answered by the nearest, long lists are cut."""

import pytest

from bayesvm.lookup import did_you_mean, listed, lookup


@pytest.mark.parametrize(
    ("word", "meant"),
    [("tarrget", "target"), ("TARGET", "target"), ("age ", "Age"), ("aeg", "Age"), ("weight", None), ("", None)],
)
def test_the_nearest_name_is_proposed(word, meant):
    expected = "" if meant is None else f"did you mean {meant!r}?"
    assert did_you_mean(word, ["target", "Age"], "{}") == expected


def test_the_question_stands_in_its_form():
    assert did_you_mean("tarrget", ["target"]) == " (did you mean 'target'?)"
    assert did_you_mean("tarrget", ["target"], "; {}") == "; did you mean 'target'?"
    assert did_you_mean("braces", ["{braces}"], "; {}") == "; did you mean '{braces}'?"


def test_long_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed(map(str, range(12))) == ", ".join(map(str, range(12)))
    assert listed(map(str, range(13))) == ", ".join(map(str, range(12))) + ", ..."


def test_names_are_looked_up():
    table = {"one": 1, "three": 3}
    assert lookup("size", "three", table, int) == 3
    with pytest.raises(
        ValueError, match=r"^size: expected one of 'one', 'three', found 'thre'; did you mean 'three'\?$"
    ):
        lookup("size", "thre", table, int)
    with pytest.raises(ValueError, match=r"found 7.0; an object of type int is accepted too$"):
        lookup("size", 7.0, table, int)
