"""A headless browser for tests: it shows a page in a window of a given width and tells what is wrong with it.

Chromium alone is needed. The page is put into a frame of the width, because windows have a least width of their own;
what is looked at is written by a script into the outer document, which the browser prints. axe-core is looked for in
``node_modules`` of the checkout (``npm install axe-core``) or at ``AXE_CORE``.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
AXE = Path(os.environ.get("AXE_CORE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))

needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"needs a browser: one of {', '.join(NAMES)} on PATH")
needs_axe = pytest.mark.skipif(
    BROWSER is None or not AXE.exists(), reason="needs axe-core: npm install axe-core in the checkout, or AXE_CORE"
)

WIDTHS = (400, 800, 1400)
DARK = "--blink-settings=preferredColorScheme=0"
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
    "--allow-file-access-from-files", "--force-device-scale-factor=1",
)  # fmt: skip

#: What is looked for in a document: content wider than the window, labels over one another, text that is cut off.
CHECKS = """
function checks(doc) {
  const width = doc.documentElement.clientWidth;
  const inScroller = e => e.closest('.scroll, pre') !== null;
  const seen = e => e.getClientRects().length > 0 && doc.defaultView.getComputedStyle(e).visibility !== 'hidden';
  const name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + (e.textContent || '').trim().slice(0, 40);
  const wide = [...doc.body.querySelectorAll('*')].filter(e => seen(e) && !inScroller(e) && !e.matches('.skip'))
    .filter(e => e.getBoundingClientRect().right > width + 1 || e.getBoundingClientRect().left < -1).map(name);
  const overlapping = [];
  for (const svg of doc.querySelectorAll('svg')) {
    if (!seen(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]);
    for (const [e, r] of texts)
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)
        overlapping.push('outside its picture: ' + name(e));
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      const [a, b] = [texts[i][1], texts[j][1]];
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 1 && y > 2) overlapping.push(name(texts[i][0]) + ' | ' + name(texts[j][0]));
    }
  }
  const smallest = Math.min(99, ...[...doc.querySelectorAll('svg text')].filter(seen).map(e =>
    e.getBoundingClientRect().height));
  return {width, scroll: doc.documentElement.scrollWidth, height: doc.documentElement.scrollHeight, wide, overlapping,
    smallest};
}
"""


def run_browser(page: str, folder: Path, *options: str) -> tuple[str, list[str]]:
    """Open an address; return what the browser printed and the errors of the page."""
    command = [str(BROWSER), *OPTIONS, f"--user-data-dir={folder / 'profile'}", *options, page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line and "axe" not in line]


def framed(address: str, width: int, script: str, *, height: int = 0) -> str:
    """Return a document with the page in a frame of the width; the script gets ``doc`` and returns what to tell."""
    tall = f"{height}px" if height else "100vh"
    return f"""<!doctype html><meta charset="utf-8"><title>frame</title><style>body{{margin:0}}
iframe{{border:0;width:{width}px;height:{tall};display:block}}</style>
<iframe id="page" src="{html.escape(address)}"></iframe><pre id="told" hidden></pre><script>{CHECKS}
document.getElementById('page').addEventListener('load', async () => {{
  const view = document.getElementById('page').contentWindow, doc = view.document;
  let told;
  try {{ told = await (async () => {{ {script} }})(); }} catch (error) {{ told = {{failed: String(error)}}; }}
  document.getElementById('told').textContent = JSON.stringify(told);
}});</script>"""


def told(output: str) -> object:
    """Return what the script told."""
    found = re.search(r'<pre id="told"[^>]*>(.*?)</pre>', output, re.DOTALL)
    assert found, output[-500:]
    value = json.loads(html.unescape(found[1]))
    assert not (isinstance(value, dict) and "failed" in value), value
    return value


def looked_at(page: Path, folder: Path, width: int, *, dark: bool = False, script: str = "return checks(doc);") -> dict:
    """Return what the script tells about a page in a window of the width; errors of the page fail the test."""
    outer = folder / f"frame-{width}.html"
    outer.write_text(framed(page.as_uri(), width, script), encoding="utf-8")
    size = f"--window-size={max(width, 500)},1000"
    options = ["--dump-dom", "--virtual-time-budget=8000", size, *([DARK] if dark else [])]
    output, errors = run_browser(outer.as_uri(), folder, *options)
    assert errors == []
    return told(output)


def screenshot(page: str, folder: Path, picture: Path, width: int, height: int, *, dark: bool = False) -> None:
    """Save a picture of a page in a window of the width."""
    outer = folder / f"picture-{width}.html"
    outer.write_text(framed(page, width, "return {};", height=height), encoding="utf-8")
    options = [f"--screenshot={picture}", f"--window-size={max(width, 500)},{height}", *([DARK] if dark else [])]
    run_browser(outer.as_uri(), folder, "--virtual-time-budget=4000", *options)


def accessibility_script() -> str:
    """Return a script that runs axe-core in the page and tells the serious findings."""
    source = json.dumps(AXE.read_text(encoding="utf-8")).replace("</", "<\\/")
    return f"""
  const tag = doc.createElement('script'); tag.textContent = {source}; doc.head.appendChild(tag);
  for (const fold of doc.querySelectorAll('details')) fold.open = true;
  const found = await view.axe.run(doc);
  return found.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => ({{id: v.id, impact:
    v.impact, nodes: v.nodes.map(n => n.html.slice(0, 160))}}));"""
