"""Runs the Python blocks of a page when the documentation is built, and puts what they print and draw below them.

The blocks of a page run in order, in one namespace and an empty folder; the value of a last expression is shown as in
an interactive session. On the pages of :data:`COMMANDS`, lines ``$ bayesvm ...`` of console blocks are run as well. A
block that fails, or warns, stops the build. Results are kept in ``_build/executed`` until the
page or the library changes.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import types
import warnings
from pathlib import Path

from sphinx.errors import ExtensionError

#: Pages whose blocks are run.
PAGES = ("start", "tutorial", "guide/", "coming_from/")
#: Pages whose commands are run.
COMMANDS = ("tutorial",)
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
#: Lines of output that are shown.
LINES = 24
#: Folder of the pictures, under that of the pages.
PICTURES = "_executed"


@dataclasses.dataclass(frozen=True)
class Result:
    """What a block printed, and the pictures it drew: file names and titles."""

    text: str
    pictures: list[list[str]]


def run_page(blocks: list[tuple[str, str]], stem: str, folder: Path, source: str) -> list[Result]:
    """Run the blocks of a page."""
    import matplotlib

    matplotlib.use("Agg")
    script = types.ModuleType("__main__")
    before, place = sys.modules["__main__"], os.getcwd()
    sys.modules["__main__"] = script  # where pickle looks for the classes of a page
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            return [
                run_block(code, vars(script), f"{stem}-{k}", folder, source)
                if kind == "python"
                else run_commands(code, source)
                for k, (kind, code) in enumerate(blocks)
            ]
        finally:
            os.chdir(place)
            sys.modules["__main__"] = before


def run_block(code: str, names: dict, stem: str, folder: Path, source: str) -> Result:
    """Run one block; figures that are open afterwards are its pictures."""
    import matplotlib.pyplot as plt

    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(tree, source, "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), source, "eval"), names)
                if value is not None and not type(value).__module__.startswith(("matplotlib", "bayesvm.plots")):
                    out.write(f"{value!r}\n")
    except Exception as error:
        raise ExtensionError(f"{source}: a block failed: {type(error).__name__}: {error}\n{code}") from error
    pictures = []
    for k in plt.get_fignums():
        figure = plt.figure(k)
        name = f"{stem}-{k}.png"
        figure.savefig(folder / name, dpi=110, bbox_inches="tight")
        titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
        pictures.append([name, " ".join(next((title for title in titles if title), "picture").split())])
    plt.close("all")
    return Result(out.getvalue(), pictures)


def run_commands(code: str, source: str) -> Result:
    """Run the lines ``$ bayesvm ...`` of a console block, where commands are run at all."""
    if source not in COMMANDS:
        return Result("", [])
    from bayesvm.cli.app import run

    out = io.StringIO()
    for line in code.splitlines():
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
            code = run(shlex.split(line.removeprefix("$ bayesvm ")))
        if code:
            raise ExtensionError(f"{source}: {line} ended with {code}: {err.getvalue()}")
    return Result(out.getvalue(), [])


def library_state() -> str:
    """Return what changes when the library does."""
    import bayesvm

    files = sorted(Path(bayesvm.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def results_of(app, docname: str, blocks: list[tuple[str, str]]) -> list[Result]:
    """Return the results of a page, from the last build if nothing has changed."""
    folder, kept = Path(app.srcdir) / PICTURES, Path(app.outdir).parent / "executed"
    folder.mkdir(exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    stem = docname.replace("/", "-")
    key = hashlib.sha256((repr(blocks) + app.config.executed_state).encode()).hexdigest()
    store = kept / f"{stem}.json"
    if store.exists():
        known = json.loads(store.read_text(encoding="utf-8"))
        found = [Result(**entry) for entry in known["results"]]
        if known["key"] == key and all((folder / name).exists() for r in found for name, _ in r.pictures):
            return found
    found = run_page(blocks, stem, folder, docname)
    plain = {"key": key, "results": [dataclasses.asdict(result) for result in found]}
    store.write_text(json.dumps(plain), encoding="utf-8")
    return found


def shown(result: Result) -> str:
    """Return what follows a block, in Markdown."""
    lines = result.text.rstrip().splitlines()
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"... {len(lines) - LINES} more lines"]
    text = "\n```{code-block} text\n:class: output\n\n" + "\n".join(lines) + "\n```\n" if lines else ""
    return text + "".join(f"\n![{title}](/{PICTURES}/{name})\n" for name, title in result.pictures)


def execute(app, docname: str, source: list[str]) -> None:
    """Put results below the blocks of a page."""
    if not docname.startswith(PAGES):
        return
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(source[0])]
    if blocks:
        found = iter(results_of(app, docname, blocks))
        source[0] = BLOCK.sub(lambda match: match[0] + shown(next(found)), source[0])


def fresh(app, config) -> None:
    """Note the state of the library once per build."""
    config.executed_state = library_state()
    if not (Path(app.outdir).parent / "executed").exists():
        shutil.rmtree(Path(app.srcdir) / PICTURES, ignore_errors=True)


def setup(app):
    """Register the extension."""
    app.add_config_value("executed_state", "", "", types=[str])
    app.connect("config-inited", fresh)
    app.connect("source-read", execute)
    return {"parallel_read_safe": False}
