"""One version, stated once; and what ``show_versions`` tells."""

import re
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import bayesvm
from bayesvm.versions import versions

ROOT = Path(__file__).parents[1]


def test_the_version_is_that_of_the_distribution():
    assert bayesvm.__version__ == version("bayesvm")


def test_the_project_file_takes_the_version_from_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/bayesvm/__init__.py"


def test_the_newest_release_of_the_changelog_citation_and_recipe_are_of_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.search(
        r"^## \[(\d+\.\d+\.\d+(?:rc\d+)?)\] - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE
    ).groups()
    citation = dict(re.findall(r"^(version|date-released): *\"?([^\"\n]+)", (ROOT / "CITATION.cff").read_text(), re.M))
    assert newest == bayesvm.__version__
    assert citation == {"version": newest, "date-released": date}
    assert f'\n  version: "{newest}"\n' in (ROOT / "packages" / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_all_that_matters_for_a_report_of_a_bug_is_shown(capsys):
    bayesvm.show_versions()
    said = capsys.readouterr().out
    found = versions()
    for section, entries in found.items():
        assert f"\n{section}:\n" in f"\n{said}"
        for name, value in entries.items():
            assert f"  {name}: {value}\n" in said
    assert found["packages"]["bayesvm"] == bayesvm.__version__
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"):
        assert found["packages"][name] == version(name)
    assert len(found["system"]["native modules"].split(", ")) == 4
    assert found["threads"]


def test_a_package_that_is_absent_is_said_to_be(monkeypatch):
    monkeypatch.setattr("bayesvm.versions.requires", lambda name: ["no-such-package>=1; extra == 'nothing'"])
    assert versions()["packages"] == {"bayesvm": bayesvm.__version__, "no-such-package": "not installed"}


def test_what_is_shown_contains_no_folder_of_the_user(capsys):
    bayesvm.show_versions()
    assert str(Path.home()) not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["License-Expression", "Requires-Python", "Summary"])
def test_the_metadata_of_the_distribution(name):
    assert metadata("bayesvm")[name]
