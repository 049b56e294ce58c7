"""Mutation testing: every place is found once and changed alone, and tests that notice kill the mutant."""

import ast
import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = '''"""Docstring with 1 + 1."""
LIMIT = 3.0


def f(x: int = 2, *, flag=True):
    """Return x + 1."""
    if x < 0 and flag:
        raise ValueError(f"x: {x + 1}")
    y = (
        x
        * 4
    )
    y -= 1
    return -y
'''


@pytest.fixture
def mutation(script):
    return script("mutation")


def test_the_places_of_a_module(mutation, tmp_path):
    path = tmp_path / "m.py"
    path.write_text(CODE)
    found = [(m.lines, m.before, m.after) for m in mutation.mutants_of("m", path)]
    assert found == [
        ((2, 2), "3.0", "4.0"),
        ((5, 5), "2", "3"),
        ((5, 5), "True", "False"),
        ((7, 7), "0", "1"),
        ((7, 7), "x < 0", "x >= 0"),
        ((7, 7), "x < 0 and flag", "x < 0 or flag"),
        ((9, 12), "4", "5"),
        ((9, 12), "x * 4", "x / 4"),
        ((13, 13), "1", "0"),
        ((13, 13), "y -= 1", "y += 1"),
        ((14, 14), "-y", "y"),
        ((14, 14), "return -y", "return None"),
    ]


def test_a_mutant_differs_from_the_source_in_one_place(mutation, tmp_path):
    path = tmp_path / "m.py"
    path.write_text(CODE)
    source = ast.unparse(ast.parse(CODE)).splitlines()
    names = set()
    for mutant in mutation.mutants_of("m", path):
        changed = ast.unparse(mutation.changed_tree(path, mutant.index)).splitlines()
        assert sum(a != b for a, b in zip(source, changed, strict=True)) == 1
        names.add(mutant.name)
    assert len(names) == 12


def test_flags_are_no_formulas(mutation, tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "@dataclass(frozen=True)\nclass A:\n    x: int = 2\n\n\nr = qr(x, overwrite_a=True, check_finite=False, k=3)\n"
    )
    assert [(m.before, m.after) for m in mutation.mutants_of("m", path)] == [("2", "3"), ("3", "4")]


def test_the_tests_of_a_statement_are_those_that_execute_it(mutation):
    path = Path("m.py")
    tests = {"m.py": {2: [""], 9: ["slow", "quick"], 11: ["other"], 20: ["last"]}}
    baseline = mutation.Baseline(tests, {"slow": 9.0, "quick": 0.1, "other": 0.2, "last": 1.0})
    assert baseline.of(path, (9, 12)) == ["quick", "other", "slow"]
    assert baseline.of(path, (2, 2)) == ["quick", "other", "last", "slow"]
    assert baseline.of(path, (30, 30)) == []
    assert baseline.of(Path("n.py"), (9, 9)) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
@pytest.mark.parametrize(
    ("before", "verdict"), [("return a + b", "killed"), ("return a - b", "survived"), ("return a / b", "not executed")]
)
def test_tests_that_notice_kill_a_mutant(before, verdict, mutation, tmp_path, monkeypatch):
    """A function whose value is checked, one that is only called, and one that is not."""
    functions = {"checked": "a + b", "called": "a - b", "idle": "a / b"}
    source = "".join(f"def {name}(a, b):\n    return {value}\n\n\n" for name, value in functions.items())
    path = tmp_path / "sums_for_mutation.py"
    path.write_text(source)
    tests = tmp_path / "test_sums.py"
    tests.write_text(
        "import sums_for_mutation as sums\n\n\n"
        "def test_checked():\n    assert sums.checked(1, 2) == 3\n\n\ndef test_called():\n    sums.called(1, 2)\n"
    )
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    executed = {2: ["test_sums.py::test_checked"], 6: ["test_sums.py::test_called"]}
    baseline = mutation.Baseline({str(path): executed}, {})
    (mutant,) = (m for m in mutation.mutants_of("sums_for_mutation", path) if m.before == before)
    assert mutation.verdict(mutant, path, baseline) == verdict
    unchanged = dataclasses.replace(mutant, index=mutation.UNCHANGED)
    assert mutation.verdict(unchanged, path, baseline) == ("survived" if verdict == "killed" else verdict)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
def test_a_project_whose_tests_fail_in_a_child_is_refused(mutation, tmp_path, monkeypatch):
    path, tests = tmp_path / "one_for_mutation.py", tmp_path / "test_one.py"
    path.write_text("def one():\n    return 1\n\n\ndef idle():\n    return 2\n")
    tests.write_text("def test_one():\n    assert False\n")
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    mutants = mutation.mutants_of("one_for_mutation", path)
    baseline = mutation.Baseline({str(path): {2: ["test_one.py::test_one"]}}, {})
    threads, refused = concurrent.futures.ThreadPoolExecutor(1), pytest.raises(SystemExit, match="mutation unchanged")
    with threads as pool, refused:
        mutation.check_controls(mutants, {"one_for_mutation": path}, baseline, pool)


def test_what_children_inherit_lets_pytest_begin(mutation):
    """Pytest warns of plugins that are imported before it, and warnings are errors."""
    code = (
        "import sys; sys.path.insert(0, 'scripts'); import mutation; mutation._load_what_all_need(); import pytest; "
        "sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider', 'tests/test_lookup.py']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=mutation.ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_report_counts_and_lists(mutation):
    mutants = [mutation.Mutant("m", i, (i, i), f"{i}", f"{i + 1}") for i in range(4)]
    verdicts = ["killed", "killed by time", "survived", "not executed"]
    text = mutation.report(mutants, {m.name: verdict for m, verdict in zip(mutants, verdicts)})
    assert "| `m` | 4 | 2 | 50.0 % |" in text
    assert "- `m` line 2: `2` -> `3` (survived)\n- `m` line 3: `3` -> `4` (not executed)\n" in text


def test_another_seed_draws_another_sample(mutation, tmp_path):
    """What is finished is not run again, so that these runs only draw and report."""
    ((module, path),) = mutation.source_files("bayesvm.linalg.cholesky")
    results = {mutant.name: "survived" for mutant in mutation.mutants_of(module, path)}
    (tmp_path / "results.json").write_text(json.dumps(results))

    def drawn(*options):
        assert mutation.main([module, "--tests", "none", "--out", str(tmp_path), "--sample", "8", *options]) == 0
        return (tmp_path / "survivors.md").read_text().partition("Survivors:")[2]

    first = drawn()
    assert first.count("(survived)") == 8
    assert drawn("--seed", "0") == first
    assert drawn("--seed", "1") != first
