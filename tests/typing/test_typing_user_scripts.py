"""Type checkers read the public names as a user's program does: no name is Any, and mistakes are found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bayesvm

SCRIPTS = Path(__file__).parent / "scripts"
PACKAGE = Path(bayesvm.__file__).parents[1]
EXPECTED = re.compile(r"# mypy: ([\w-]+), pyright: (\w+)$")
pytestmark = pytest.mark.xdist_group("type checkers")  # each of them runs once
ALL = "import bayesvm\n" + "".join(f"reveal_type(bayesvm.{name})\n" for name in bayesvm.__all__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the scripts and one that reveals every public name, apart from the library's own source."""
    path = tmp_path_factory.mktemp("typing")
    shutil.copytree(SCRIPTS, path, dirs_exist_ok=True)
    (path / "names.py").write_text(ALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mypy(folder):
    """Return what mypy says: (file, line, severity, rule, message)."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--follow-imports=silent", "--output=json"]
    place = {} if "site-packages" in PACKAGE.parts else {"MYPYPATH": str(PACKAGE)}
    said = run([*command, f"--cache-dir={folder / 'cache'}", *sorted(map(str, folder.glob("*.py")))], folder, place)
    found = [json.loads(line) for line in said.splitlines()]
    return [(Path(each["file"]).name, each["line"], each["severity"], each["code"], each["message"]) for each in found]


@pytest.fixture(scope="module")
def pyright(folder):
    """Return what pyright says, in the same form."""
    pytest.importorskip("pyright")
    quiet = {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    fetched = subprocess.run(
        [sys.executable, "-m", "pyright", "--version"], env={**os.environ, **quiet}, capture_output=True, check=False
    )
    if fetched.returncode:
        pytest.skip("pyright, which is fetched from the npm registry at its first call, cannot be had")
    settings = {"extraPaths": [str(PACKAGE)], "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    found = json.loads(run(command, folder, quiet))["generalDiagnostics"]
    return [
        (
            Path(each["file"]).name,
            each["range"]["start"]["line"] + 1,
            each["severity"],
            each.get("rule"),
            each["message"],
        )
        for each in found
    ]


def run(command, folder, environment):
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def errors(found, script):
    return {(line, rule) for name, line, severity, rule, _ in found if name == script and severity == "error"}


def expected(script, group):
    lines = (SCRIPTS / script).read_text(encoding="utf-8").splitlines()
    rules = {(i, match[group]) for i, line in enumerate(lines, 1) if (match := EXPECTED.search(line))}
    return {(line, rule) for line, rule in rules if rule != "none"}


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("*.py")))
def test_mypy_finds_the_mistakes_of_a_script_and_no_others(script, mypy):
    assert errors(mypy, script) == expected(script, 1)


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("*.py")))
def test_pyright_finds_the_mistakes_of_a_script_and_no_others(script, pyright):
    assert errors(pyright, script) == expected(script, 2)


def test_scripts_with_and_without_mistakes_are_there():
    assert expected("wrong.py", 1)
    assert not expected("right.py", 1)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_no_public_name_is_of_unknown_type(checker, request):
    found = request.getfixturevalue(checker)
    revealed = {line: text for name, line, _, _, text in found if name == "names.py" and "ype" in text}
    assert len(revealed) == len(bayesvm.__all__)
    for line, text in revealed.items():
        kind = re.search(r'(?:Revealed type is|" is) "(.*)"$', text)[1]
        assert kind not in ("Any", "Unknown"), f"bayesvm.{bayesvm.__all__[line - 2]} is {kind}"
