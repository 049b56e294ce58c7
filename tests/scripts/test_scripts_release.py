"""A release: the version is written in four files, and a tag is compared with it."""

import datetime

import pytest


@pytest.fixture
def project(tmp_path):
    """Return a folder with the files that state the version."""
    (tmp_path / "src" / "bayesvm").mkdir(parents=True)
    (tmp_path / "src" / "bayesvm" / "__init__.py").write_text('"""About."""\n\n__version__ = "0.1.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.1.0\ndate-released: 2026-01-01\n")
    (tmp_path / "packages" / "conda").mkdir(parents=True)
    (tmp_path / "packages" / "conda" / "recipe.yaml").write_text(
        'context:\n  version: "0.1.0"\n\npackage:\n  name: x\n'
    )
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n### Added\n\n- A.\n\n## [0.1.0] - 2026-01-01\n\n- B.\n")
    return tmp_path


def test_version_and_date_are_written_where_they_belong(project, script, capsys):
    release = script("release")
    assert release.main(["0.2.0"], project) == 0
    assert "tag the commit v0.2.0" in capsys.readouterr().out
    today = datetime.date.today().isoformat()
    assert release.current(project) == "0.2.0"
    citation = (project / "CITATION.cff").read_text()
    assert citation == f"cff-version: 1.2.0\nversion: 0.2.0\ndate-released: {today}\n"
    recipe = (project / "packages" / "conda" / "recipe.yaml").read_text()
    assert recipe == 'context:\n  version: "0.2.0"\n\npackage:\n  name: x\n'
    changelog = (project / "CHANGELOG.md").read_text()
    assert changelog.startswith(f"## [Unreleased]\n\n## [0.2.0] - {today}\n\n### Added\n\n- A.\n\n## [0.1.0]")


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("v0.1.1", 1), ("0.1.0", 1)])
def test_a_tag_is_compared_with_the_version(tag, code, project, script):
    assert script("release").main(["--check", tag], project) == code


def test_a_release_twice_and_one_without_changes_are_refused(project, script, capsys):
    release = script("release")
    before = (project / "CHANGELOG.md").read_text()
    assert release.main(["0.1.0"], project) == 1
    assert "has an entry of 0.1.0 already" in capsys.readouterr().err
    (project / "CHANGELOG.md").write_text(before.replace("### Added\n\n- A.\n\n", ""))
    assert release.main(["0.2.0"], project) == 1
    assert "nothing under Unreleased" in capsys.readouterr().err
    assert release.current(project) == "0.1.0"


@pytest.mark.parametrize("arguments", [[], ["1.0"], ["v1.0.0"], ["--check"]])
def test_a_version_that_is_none_is_refused(arguments, project, script, capsys):
    assert script("release").main(arguments, project) == 2
    assert "usage" in capsys.readouterr().err
