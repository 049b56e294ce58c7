"""Mathematics as MathML, made when the pages are built: browsers show it without a script, online or not."""

from __future__ import annotations

import re

from docutils.utils.math import latex2mathml
from sphinx.errors import ExtensionError

#: Spellings that the converter does not know, and what is the same to it.
SPELLINGS = (
    (re.compile(r"\\(big|Big|bigg|Bigg)(?![a-zA-Z])"), r"\\\1l"),
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\(tfrac|dfrac|frac)\s*(\d)\s*(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\textstyle(?![a-zA-Z])"), ""),
    # names of functions stand off their argument, and what is before them
    (
        re.compile(
            r"(\\(?:ln|log|exp|cos|sin|tan|det|max|min)(?![a-zA-Z]))\s*(?=[A-Za-z0-9|\\])(?!\\(?:left|[bB]ig|[,!;]|lim))"
        ),
        r"\1\\,",
    ),
    (re.compile(r"(?<=[A-Za-z0-9}])\s*(\\(?:ln|log|exp|cos|sin|tan|det)(?![a-zA-Z]))"), r"\\,\1"),
)


def mathml(latex: str, *, block: bool) -> str:
    """Return a formula as MathML."""
    for pattern, other in SPELLINGS:
        latex = pattern.sub(other, latex)
    try:
        made = latex2mathml.tex2mathml(latex, as_block=block)
    except Exception as error:
        raise ExtensionError(f"a formula cannot be shown ({error}): {latex}") from error
    if r"\left" in latex:
        return made
    return re.sub(r"<mo>([{}])</mo>", r'<mo stretchy="false">\1</mo>', made)  # braces of sets do not grow


def visit_math(self, node) -> None:
    """Write a formula in a line."""
    from docutils import nodes

    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_math_block(self, node) -> None:
    """Write a formula that stands alone, with its number if it has one."""
    from docutils import nodes

    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    latex = node.astext().strip()
    if "\\\\" in latex and "\\begin" not in latex:
        latex = "\\begin{aligned}" + latex + "\\end{aligned}"
    self.body.append(mathml(latex, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
