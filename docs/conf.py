import sys
from pathlib import Path

import bayesvm

sys.path.append(str(Path(__file__).parent / "_ext"))

project = "bayesvm"
author = "The bayesvm developers"
copyright = "2026, the bayesvm developers"
release = version = bayesvm.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "executed", "mathml"]
html_math_renderer = "mathml"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_gallery", "_executed", "_ext", "api/generated"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections state the types
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"{project} {release}"


def _skip_of_scikit_learn(app, what, name, obj, skip, options):
    """Leave out scikit-learn's own methods about requests and output: their text refers to scikit-learn's own pages."""
    routing = name in ("get_metadata_routing", "set_output") or (name.startswith("set_") and name.endswith("_request"))
    return True if routing else None


def setup(app):
    app.connect("autodoc-skip-member", _skip_of_scikit_learn)
