import tomllib
from pathlib import Path

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _project["name"]
author = "The bayesvm developers"
copyright = "2026, the bayesvm developers"
release = version = _project["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "api/generated"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections state the types
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"{project} {release}"
