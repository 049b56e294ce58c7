"""Results of benchmarks: written, read, compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

pytest.importorskip("bayesvm.experiments", reason="the experiments are part of the source, not of the wheel")

from benchmarks.check import main, regressions
from benchmarks.experiments import section
from benchmarks.page import rows_in, verdict
from benchmarks.record import exponent, machine, read, write
from benchmarks.speed import as_results


def test_rows_are_written_and_those_of_the_same_name_replaced(tmp_path):
    path = tmp_path / "a.json"
    write(path, [{"name": "x", "ratio": 1.0}, {"name": "y", "nll": float("nan")}])
    write(path, [{"name": "x", "ratio": 2.0}])
    assert read(path) == [{"name": "y", "nll": None}, {"name": "x", "ratio": 2.0}]


@pytest.mark.parametrize(
    ("old", "new", "worse"),
    [
        ({"ratio": 1.0}, {"ratio": 1.19}, False),
        ({"ratio": 1.0}, {"ratio": 1.21}, True),
        ({"nll": 0.2}, {"nll": 0.2009}, False),
        ({"nll": 0.2}, {"nll": 0.2011}, True),
        ({"nll": -0.2}, {"nll": -0.1985}, True),
        ({"nll": None}, {"nll": 3.0}, False),
        ({"ratio": 1.0}, {"ratio": None}, False),
    ],
)
def test_regressions(old, new, worse):
    assert bool(regressions([{"name": "r", **old}], [{"name": "r", **new}])) == worse
    assert regressions([{"name": "other", **old}], [{"name": "r", **new}]) == []


def test_the_exit_code(tmp_path, capsys):
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    write(a, [{"name": "r", "ratio": 1.0}])
    write(b, [{"name": "r", "ratio": 1.5}])
    assert main([str(a), str(a)]) == 0
    assert main([str(a), str(b)]) == 1
    assert "r: ratio 1 -> 1.5, more than 20 % worse" in capsys.readouterr().out
    assert main([str(a)]) == 2


def test_exponent_and_machine():
    assert exponent([1.0, 2.0, 4.0], [3.0, 24.0, 192.0]) == pytest.approx(3.0)
    assert set(machine()) == {"cores", "ghz", "architecture", "memory_gb"}


def test_a_section_of_the_experiments_page():
    text = "## Paper Table 1: What\n\n### Title\n\n| a |\n\n![What](x.png)\n\nSkipped: b, missing b.npz.\n"
    assert (
        section(text, "paper-table1")
        == "### Paper Table 1: What\n\n`bayesvm reproduce paper-table1`\n\n**Title**\n\n| a |"
    )
    row, prose = "| wide |" * 30, "words " * 30
    *_, table, first, second = section(f"## Paper Table 1: What\n\n{row}\n{prose}", "paper-table1").splitlines()
    assert table == row
    assert max(len(first), len(second)) <= 120
    assert f"{first} {second}" == prose.strip()


def test_the_verdict_does_not_count_our_own_machine_with_one_start():
    def row(machine, nll, fit, **more):
        return {"name": f"set | {machine}", "nll": nll, "fit_s": fit, "error": 1.0, **more}

    rows = [
        row("BayesianSVC()", 0.3, 4.0),
        row("BayesianSVC(None, n_starts=1)", 0.1, 1.0),
        row("peer", 0.2, 2.0, nll_above_ours=-0.1, nll_above_ours_se=0.01),
    ]
    line = verdict(rows).splitlines()[-1]
    assert "NOT the best" in line
    assert "peer is 2.0 times faster | 0.50 |" in line
    rows[2] |= {"nll_above_ours_se": 0.06, "fit_s": 5.0}
    line = verdict(rows).splitlines()[-1]
    assert "within noise of the best | fastest" in line


def test_files_of_single_fits_have_no_rows_for_the_page(tmp_path):
    path = tmp_path / "results.json"
    write(path, [{"name": "r", "ratio": 1.0}])
    assert [row["name"] for row in rows_in(path)] == ["r"]
    for kept in ('{"iris|0|peer": {"nll": 1.0}}', "[1, 2]"):
        path.write_text(kept)
        assert rows_in(path) == []


def test_figures_of_speed_become_named_rows():
    head = ["data", "n", "kernel", "seconds", "ratio (2)"]
    (row,) = as_results("noise", (head, [["boston", 455, "given", 0.5, 1.5]]))
    assert row == {"name": "speed noise boston 455 given", **dict(zip(head, ["boston", 455, "given", 0.5, 1.5]))}


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="peaks of memory are read from /proc")
def test_the_peak_of_memory_is_in_megabytes():
    code = (
        "import numpy as np; from benchmarks.peers import resident_peak; a = resident_peak();"
        "x = np.ones(64 * 2**17); print(resident_peak() - a)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert float(answer.stdout) == pytest.approx(64.0, rel=0.2)
