"""Lower bounds of dependencies are the same in project file, conda recipe and constraints of ``make test-oldest``."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUND = re.compile(r"^([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)")


def release(version):
    """Return a version as numbers, without zeros at the end."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def bounds(requirements):
    return {name: release(version) for name, version in (BOUND.match(entry).groups() for entry in requirements)}


def test_the_oldest_versions_are_those_that_the_project_permits():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [
        *project["dependencies"],
        *(entry for extra in project["optional-dependencies"].values() for entry in extra),
    ]
    lines = (ROOT / "packages" / "oldest.txt").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {name: release(version) for name, version in pinned.items()} == bounds(needed)


def test_the_conda_recipe_asks_for_the_same_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packages" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    required, optional = (
        {name.removesuffix("-base"): release(version) for name, version in re.findall(r"- ([\w-]+) >=([\d.]+)", part)}
        for part in re.search(r"\n  run:\n(.*?)\n  run_constraints:(.*?)\n\n", recipe, re.DOTALL).groups()
    )
    assert required == bounds(project["dependencies"])
    assert optional == bounds(entry for extra in project["optional-dependencies"].values() for entry in extra)


def test_a_package_has_one_lower_bound_wherever_it_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = {}
    lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    lists += [project["dependency-groups"][group] for group in ("test-wheel", "test")]
    for entry in (entry for each in lists for entry in each if isinstance(entry, str)):
        if match := BOUND.match(entry):
            named.setdefault(match[1], set()).add(match[2])
    assert {name: found for name, found in named.items() if len(found) > 1} == {}
