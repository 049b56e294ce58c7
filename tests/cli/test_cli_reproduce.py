"""``bayesvm reproduce`` where the experiments are absent, as in an installation from a wheel."""

import sys

import pytest

pytest.importorskip("typer")

from bayesvm.cli.app import run


@pytest.fixture
def no_experiments(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("bayesvm.experiments")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "bayesvm.cli.reproduction", raising=False)
    monkeypatch.setitem(sys.modules, "bayesvm.experiments", None)


@pytest.mark.parametrize("arguments", [["--list"], ["chu2003-figure1"]])
def test_reproduce_without_the_experiments_says_how_to_get_them(arguments, no_experiments, capsys):
    assert run(["reproduce", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "come with the source and not with the wheel" in said.err
    assert "pip install --editable" in said.err


def test_the_other_commands_do_without_the_experiments(no_experiments, capsys):
    assert run(["--help"]) == 0
    assert "reproduce" in capsys.readouterr().out
