"""Examples as notebooks: valid, and their code is that of the example."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "demo"]


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_notebook(gallery, example):
    page = json.loads(json.dumps(gallery.notebook(example)))
    assert page["nbformat"] == 4
    kinds = [cell["cell_type"] for cell in page["cells"]]
    assert kinds == ["markdown", "code", "code"]
    code = "".join(page["cells"][1]["source"])
    functions = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    assert "main" in functions
    assert "__main__" not in code
    assert "".join(page["cells"][2]["source"]) == "main()"


def test_the_gallery_links_every_notebook():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert all(f"_gallery/{example.stem}.ipynb" in text for example in EXAMPLES)
