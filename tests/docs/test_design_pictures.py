"""The pictures of docs/design.md show what is called: every line is found in a trace, under its parent line."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_moons

import bayesvm
from bayesvm import BayesianSVC

PAGE = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
PACKAGE = Path(bayesvm.__file__).parent
LINE = re.compile(r"^(?P<indent>[-|` ]*)(?P<name>[\w.]+) +(?P<file>[a-z_]+/\w+\.py)")


def picture(root):
    """Return the calls of the picture that begins with ``root``: tuples of (name, file) from the root downwards."""
    block = re.search(rf"```text\n({re.escape(root)} .*?)```", PAGE, re.DOTALL)[1]
    paths, above = [], []
    for line in block.splitlines():
        found = LINE.match(line)
        assert found, line
        depth = len(found["indent"]) // 4
        above = [*above[:depth], (found["name"], found["file"])]
        paths.append(tuple(above))
    return paths


@functools.cache
def entry(code):
    """Return (name, file) of a function of the library, None for any other."""
    path = Path(code.co_filename)
    return (code.co_qualname, path.relative_to(PACKAGE).as_posix()) if path.is_relative_to(PACKAGE) else None


def traced(call):
    """Return the stacks of the library's own functions, (name, file) each, that occur while something is called."""
    stacks, found = [()], set()

    def profile(frame, event, argument):
        if event == "call":
            own = entry(frame.f_code)
            stacks.append(stacks[-1] if own is None else (*stacks[-1], own))
            if own is not None:
                found.add(stacks[-1])
        elif event == "return" and len(stacks) > 1:
            stacks.pop()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def contains(stack, path):
    """Whether the calls of a path occur in a stack in their order, the last of them at its end."""
    entries = iter(stack)
    return stack[-1] == path[-1] and all(call in entries for call in path)


@pytest.fixture(scope="module")
def traces():
    X, y = make_moons(60, noise=0.2, random_state=0)
    machine = BayesianSVC(n_starts=2, random_state=0)
    return {
        "BayesianClassifier.fit": traced(lambda: machine.fit(X, y)),
        "BayesianClassifier.predict_proba": traced(lambda: machine.predict_proba(X)),
    }


@pytest.mark.parametrize("root", ["BayesianClassifier.fit", "BayesianClassifier.predict_proba"])
def test_a_picture_shows_what_is_called(root, traces):
    paths = picture(root)
    assert len(paths) > 10
    missing = [path[-1] for path in paths if not any(contains(stack, path) for stack in traces[root])]
    assert missing == []


def test_a_fit_reaches_the_factorisation_in_thirteen_calls(traces):
    stacks = [stack for stack in traces["BayesianClassifier.fit"] if stack[-1] == ("native_laplace", "hyper/native.py")]
    assert max(len(stack) for stack in stacks if ("maximize_evidence", "hyper/search.py") in stack) <= 13
