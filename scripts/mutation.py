"""Mutation testing: change a formula in one place, and see whether a test fails.

``python scripts/mutation.py bayesvm.linalg bayesvm.kernels --tests tests/linalg tests/kernels --out build/mutation``

1. The tests run once under coverage, which tells the tests that execute each line, and how long each test takes.
2. Every mutant differs from the source in one place (see :class:`Mutator`). It runs in a child process that replaces
   one module at import; nothing on disk is changed. Only the tests that execute the changed statement run, the quick
   ones first, until one fails; where a statement is executed at import, those that execute anything of the file.
3. A mutant is *killed* by a failing test or by a test that takes far longer than it did, and *survives* otherwise. One
   in a statement that no test executes survives as well. Every module is first run as a mutant without a change, which
   has to survive.

``results.json`` keeps what is finished, and a second run goes on from there; ``survivors.md`` lists what is left.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import copy
import dataclasses
import hashlib
import importlib.abc
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: Number of no place: what is run with it has to pass.
UNCHANGED = -1
#: Tests that a module has to pass without a change before those with changes count.
CONTROLS = 20

SWAPPED: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.UAdd: ast.USub,
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change in one place of a module.

    Parameters
    ----------
    module : str
        Such as ``"bayesvm.linalg.cholesky"``.
    index : int
        Which of the module's places, in the order of :class:`Mutator`.
    lines : tuple of int
        First and last line of the statement; of one with a body, those of its head.
    before, after : str
        The expression without and with the change.
    """

    module: str
    index: int
    lines: tuple[int, int]
    before: str
    after: str

    @property
    def name(self) -> str:
        """Return a name that stays the same while the place does."""
        text = f"{self.module}:{self.index}:{self.lines}:{self.before}:{self.after}"
        return f"{self.module}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


class Mutator(ast.NodeTransformer):
    """Visits the places of a module and changes the one with the wanted number.

    Places are operators of arithmetic, comparison and logic (each has one opposite), minus signs (left out), numbers
    (increased by one; zero and one exchanged), truth values (negated) and the values of ``return`` (None). Docstrings,
    annotations, decorators, messages of ``raise``, ``assert``, calls of the logger and what routines may save (checks
    of numbers, copies) are no formulas and are left alone.
    """

    def __init__(self, wanted: int | None = None) -> None:
        self.wanted = wanted
        self.places: list[tuple[tuple[int, int], str, str]] = []
        self._lines = (0, 0)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            self._lines = (node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or 0)
        return super().visit(node)

    def _place(self, node: Any, after: Any) -> Any:
        number = len(self.places)
        changed = ast.fix_missing_locations(ast.copy_location(after, node))
        self.places.append((self._lines, ast.unparse(node), ast.unparse(changed)))
        return changed if number == self.wanted else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = SWAPPED.get(type(node.op))
        return self._place(node, ast.BinOp(node.left, other(), node.right)) if other else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        other = SWAPPED.get(type(node.op))
        return self._place(node, ast.AugAssign(node.target, other(), node.value)) if other else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return self._place(node, ast.BoolOp(SWAPPED[type(node.op)](), node.values))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = SWAPPED.get(type(node.ops[0]))
        return self._place(node, ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators)) if other else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._place(node, node.operand) if isinstance(node.op, ast.USub | ast.Not) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return self._place(node, ast.Constant(not node.value))
        if isinstance(node.value, int | float):
            other = {0: 1, 1: 0}.get(node.value, node.value + 1)
            return self._place(node, ast.Constant(type(node.value)(other)))
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return node
        return self._place(node, ast.Return(ast.Constant(None)))

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        text = ast.unparse(node)
        return node if text.startswith(("logger.", "_logger.", "warnings.")) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        saves = node.arg == "check_finite" or (node.arg or "").startswith("overwrite")
        return node if saves else self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [None if value is None else self.visit(value) for value in node.args.kw_defaults]
        node.body = [self.visit(statement) for statement in node.body]
        return node


def source_files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield (module, file) of a package or module of the library, without importing it."""
    top, *rest = package.split(".")
    spec = importlib.util.find_spec(top)
    place = Path(spec.origin).parent.joinpath(*rest) if spec and spec.origin else Path(package)
    if place.with_suffix(".py").is_file():
        yield package, place.with_suffix(".py")
        return
    if not place.is_dir():
        sys.exit(f"error: no module {package}")
    for path in sorted(place.rglob("*.py")):
        parts = path.relative_to(place).with_suffix("").parts
        yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def mutants_of(module: str, path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    mutator = Mutator()
    mutator.visit(ast.parse(path.read_text(encoding="utf-8")))
    return [Mutant(module, i, *place) for i, place in enumerate(mutator.places)]


# -- which tests run which lines --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The tests of every line (an empty name: executed at import) and the seconds of every test, without a change."""

    tests: Mapping[str, Mapping[int, Sequence[str]]]
    seconds: Mapping[str, float]

    def of(self, path: Path, lines: tuple[int, int]) -> list[str]:
        """Return the tests that execute a statement, the quick ones first."""
        of_file = self.tests.get(str(path), {})
        found = {test for line in range(lines[0], lines[1] + 1) for test in of_file.get(line, ())}
        if "" in found:
            found = {test for tests in of_file.values() for test in tests}
        return sorted(found - {""}, key=lambda test: (self.seconds.get(test, 1.0), test))


class _Clock:
    """A plugin of pytest that notes the seconds of every test."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def measure(files: Iterable[Path], tests: Sequence[str], out: Path) -> Baseline:
    """Run the tests under coverage of the files' folders, once, in a process of its own.

    Folders, because coverage would import a module that is given by name, and NumPy with it, which loads only once.
    """
    data = out / "coverage.sqlite"
    times = out / "seconds.json"
    code = (
        "import json, sys, pytest; sys.path.insert(0, sys.argv[1]); import mutation; clock = mutation._Clock(); "
        "code = pytest.main(sys.argv[3:], plugins=[clock]); json.dump(clock.seconds, open(sys.argv[2], 'w')); "
        "sys.exit(code)"
    )
    options = [
        *tests,
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--no-cov-on-fail",
        "--cov-context=test",
        "--cov-report=",
    ]
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(times), *options]
    done = subprocess.run(
        [*command, *(f"--cov={folder}" for folder in sorted({path.parent for path in files}))],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_FILE": str(data)},
        check=False,
    )
    if done.returncode:
        sys.exit("error: the tests fail without any change")
    return Baseline(_lines(data), json.loads(times.read_text()))


def _lines(data: Path) -> dict[str, dict[int, list[str]]]:
    """Return {file: {line: tests}} of a file that coverage has written (arcs: pairs of lines)."""
    from coverage import CoverageData

    stored = CoverageData(str(data))
    stored.read()
    found: dict[str, dict[int, list[str]]] = {}
    for file in stored.measured_files():
        contexts = stored.contexts_by_lineno(file)
        found[file] = {line: sorted({name.partition("|")[0] for name in names}) for line, names in contexts.items()}
    return found


# -- one mutant -------------------------------------------------------------------------------------------------------


class _Replacing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed syntax tree, all others as usual."""

    def __init__(self, module: str, path: Path, tree: ast.Module) -> None:
        self.module, self.path, self.tree = module, path, tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        places = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=places
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def changed_tree(path: Path, index: int) -> ast.Module:
    """Return the syntax tree of a file with one place changed."""
    tree = copy.deepcopy(ast.parse(path.read_text(encoding="utf-8")))
    return ast.fix_missing_locations(Mutator(index).visit(tree))


class _Chosen:
    """A plugin of pytest that keeps the named tests only, in the order given."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def _child(mutant: Mutant, path: Path, tests: Sequence[str]) -> None:
    import pytest

    os.chdir(ROOT)
    files = sorted({test.partition("::")[0] for test in tests})
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        sys.meta_path.insert(0, _Replacing(mutant.module, path, changed_tree(path, mutant.index)))
        off = [option for name in ("cacheprovider", "cov", "xdist") for option in ("-p", f"no:{name}")]
        code = pytest.main([*files, "-q", "-x", *off], plugins=[_Chosen(tests)])
    os._exit(0 if code == 0 else 1)


def verdict(mutant: Mutant, path: Path, baseline: Baseline, most: int | None = None) -> str:
    """Return ``killed``, ``killed by time``, ``survived`` or ``not executed``, by ``most`` of the tests."""
    tests = baseline.of(path, mutant.lines)[:most]
    if not tests:
        return "not executed"
    limit = 20.0 + 5.0 * sum(baseline.seconds.get(test, 1.0) for test in tests)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            _child(mutant, path, tests)
        finally:
            os._exit(1)
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed by time"


def check_controls(
    mutants: Sequence[Mutant], files: Mapping[str, Path], baseline: Baseline, pool: concurrent.futures.Executor
) -> None:
    """End if a module fails in a child process without a change: every mutant would count as killed."""
    executed = (m for m in mutants if baseline.of(files[m.module], m.lines))
    controls = {m.module: dataclasses.replace(m, index=UNCHANGED) for m in executed}
    for module, found in {
        module: pool.submit(verdict, control, files[module], baseline, CONTROLS) for module, control in controls.items()
    }.items():
        if found.result().startswith("killed"):
            sys.exit(f"error: tests fail with {module} unchanged, but imported as a mutant is")


# -- all of them ------------------------------------------------------------------------------------------------------


def _load_what_all_need() -> None:
    """Import the libraries that the package uses, so that each child inherits them.

    Not the package itself, and no plugin of pytest: it warns of those that are imported before it.
    """
    for name in ("numpy", "scipy.linalg", "scipy.special", "scipy.stats", "sklearn.base", "pytest"):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


def report(mutants: Sequence[Mutant], results: Mapping[str, str]) -> str:
    """Return the score per package and the list of survivors, as Markdown."""
    lines = ["| module | mutants | killed | score |", "|---|---|---|---|"]
    modules: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        if mutant.name in results:
            modules.setdefault(mutant.module, []).append(mutant)
    total = killed = 0
    for module, own in sorted(modules.items()):
        dead = sum(results[mutant.name].startswith("killed") for mutant in own)
        lines.append(f"| `{module}` | {len(own)} | {dead} | {100 * dead / len(own):.1f} % |")
        total, killed = total + len(own), killed + dead
    lines.append(f"| all | {total} | {killed} | {100 * killed / max(total, 1):.1f} % |")
    lines += ["", "Survivors:", ""]
    for mutant in mutants:
        if not results.get(mutant.name, "killed").startswith("killed"):
            what = f"`{mutant.module}` line {mutant.lines[0]}: `{mutant.before}` -> `{mutant.after}`"
            lines.append(f"- {what} ({results[mutant.name]})")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all mutants that are not finished; return 1 if fewer than the demanded share are killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", help="packages or modules to change")
    parser.add_argument("--tests", nargs="+", required=True, help="tests that have to notice")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--sample", type=int, help="a random choice of so many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which choice it is (the same in every run with this seed)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.0, help="least share of killed mutants, in per cent")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    files = dict(pair for package in options.packages for pair in source_files(package))
    mutants = [mutant for module, path in files.items() for mutant in mutants_of(module, path)]
    if options.sample and options.sample < len(mutants):
        chosen = random.Random(options.seed).sample(range(len(mutants)), options.sample)
        mutants = [mutants[i] for i in sorted(chosen)]
    stored = out / "results.json"
    results: dict[str, str] = json.loads(stored.read_text()) if stored.is_file() else {}
    todo = [mutant for mutant in mutants if mutant.name not in results]
    print(f"{len(mutants)} mutants, {len(todo)} to run", flush=True)
    if todo:
        baseline = measure(files.values(), options.tests, out)
        _load_what_all_need()
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
            check_controls(todo, files, baseline, pool)
            running = {pool.submit(verdict, mutant, files[mutant.module], baseline): mutant for mutant in todo}
            for i, done in enumerate(concurrent.futures.as_completed(running), 1):
                results[running[done].name] = done.result()
                if i % 50 == 0 or i == len(todo):
                    stored.write_text(json.dumps(results, indent=0, sort_keys=True))
                    print(f"{i} of {len(todo)}", flush=True)
    text = report(mutants, results)
    (out / "survivors.md").write_text(text, encoding="utf-8")
    print(text)
    killed = sum(results[mutant.name].startswith("killed") for mutant in mutants)
    return 0 if 100.0 * killed >= options.least * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
