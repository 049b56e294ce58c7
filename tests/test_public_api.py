"""The public names, and what importing the package costs."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import bayesvm

LAYERS = ("hyper", "inference", "kernels", "likelihoods", "linalg", "solvers", "testing", "estimators", "parameters")


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", bayesvm.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(bayesvm, name) is not None
    assert name in dir(bayesvm)


def test_a_star_import_in_a_fresh_process():
    result = run("from bayesvm import *; import bayesvm; assert set(bayesvm.__all__) <= set(globals())")
    assert result.returncode == 0, result.stderr


def test_type_checkers_see_the_names_that_a_program_sees():
    tree = ast.parse(Path(bayesvm.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    home = {name: module for name, module in seen.items() if module != "bayesvm"}
    assert home == bayesvm._HOME
    assert {*seen, "__version__"} == set(bayesvm.__all__)
    assert bayesvm.__all__ == sorted(bayesvm.__all__)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_states_its_names_and_has_them(layer):
    module = importlib.import_module(f"bayesvm.{layer}")
    assert module.__all__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name), f"bayesvm.{layer} has no {name}"
    assert module.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bayesvm' has no attribute 'nonsense'"):
        _ = bayesvm.nonsense


def test_submodules_are_attributes():
    assert bayesvm.kernels is importlib.import_module("bayesvm.kernels")
    assert bayesvm.testing is importlib.import_module("bayesvm.testing")


@pytest.mark.parametrize("module", ["bayesvm", "bayesvm.hyper"])
def test_importing_loads_no_optional_dependency(module):
    """Beyond what scikit-learn loads by itself (it imports pandas where that is installed)."""
    heavy = {"matplotlib", "tqdm", "pandas", "hypothesis", "pytest", "mpmath", "dask"}
    code = (
        f"import sys, sklearn.utils; own = set(sys.modules); import {module}; "
        f"print(*({heavy!r} & (set(sys.modules) - own)))"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


def test_importing_prints_nothing_and_warns_of_nothing():
    result = run("import bayesvm")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_errors_are_of_the_kinds_that_scikit_learn_expects():
    from bayesvm.exceptions import ConvergenceWarning, IncompatibleError, NotPositiveDefiniteError

    assert issubclass(NotPositiveDefiniteError, ValueError)
    assert issubclass(IncompatibleError, TypeError)
    assert issubclass(ConvergenceWarning, UserWarning)
