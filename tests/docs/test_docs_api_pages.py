"""Every public package has a page of the API, and every module of the models and of the search is on one."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import bayesvm

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
TEXTS = [page.read_text(encoding="utf-8") for page in PAGES]
DOCUMENTED = {name for text in TEXTS for name in re.findall(r"(?:auto|current)module:: (\S+)", text)}
PACKAGES = [info.name for info in pkgutil.iter_modules(bayesvm.__path__) if info.ispkg and info.name in bayesvm.__all__]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_package_has_a_page(package):
    assert any(re.match(rf"bayesvm\.{package}\b", name) for name in DOCUMENTED)


def modules(package):
    """Return the modules of a package whose public names are not all those of the package itself."""
    root = importlib.import_module(package)
    for info in pkgutil.iter_modules(root.__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        if not set(module.__all__) <= set(root.__all__):
            yield module.__name__


@pytest.mark.parametrize("package", ["bayesvm.models", "bayesvm.hyper"])
def test_a_module_is_on_a_page(package):
    assert sorted(set(modules(package)) - DOCUMENTED) == []
