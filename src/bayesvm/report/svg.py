"""Small charts as SVG: text stays text, and colours are those of the page, light or dark."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable, Sequence

from bayesvm.typing import Vector

#: Numbers of a curve.
Values = Sequence[float] | Vector
#: Size of a chart, and the margins in which its labels are.
WIDTH, HEIGHT = 360.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 42.0


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis: its range, the values that are marked, and its title."""

    low: float
    high: float
    ticks: tuple[float, ...]
    title: str

    @classmethod
    def around(cls, values: Iterable[float], title: str, *, count: int = 5) -> Axis:
        """Return an axis on which all values are, with round numbers marked."""
        finite = [value for value in values if math.isfinite(value)]
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        if high <= low:
            pad = abs(low) * 0.1 or 1.0
            low, high = low - pad, high + pad
        pad = 0.04 * (high - low)
        low, high = low - pad, high + pad
        return cls(low, high, round_values(low, high, count), title)

    @classmethod
    def shares(cls, title: str) -> Axis:
        """Return an axis from 0 to 1."""
        return cls(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), title)


def round_values(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return about ``count`` round numbers (1, 2 or 5 times a power of ten apart) between two ends."""
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(k * step for k in range(first, last + 1))


def short(value: float) -> str:
    """Return a number as a label: few digits, no trailing zeros."""
    if value == 0.0 or abs(value) < 1e-12:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.2g}"
    return f"{value:.6g}" if abs(value) >= 1000 else f"{value:.4g}"


@dataclasses.dataclass(frozen=True)
class Frame:
    """The area of a chart: where values of two axes are on it."""

    x: Axis
    y: Axis
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT

    def across(self, value: float) -> float:
        """Return the place of a value of x."""
        share = (value - self.x.low) / (self.x.high - self.x.low)
        return self.left + min(1.0, max(0.0, share)) * (self.width - self.left - RIGHT)

    def down(self, value: float) -> float:
        """Return the place of a value of y."""
        share = (value - self.y.low) / (self.y.high - self.y.low)
        return self.height - BOTTOM - min(1.0, max(0.0, share)) * (self.height - TOP - BOTTOM)

    # -- marks --------------------------------------------------------------------------------------------------------
    def line(self, xs: Values, ys: Values, style: str) -> str:
        """Return a line through points."""
        points = " ".join(f"{self.across(x):.1f},{self.down(y):.1f}" for x, y in zip(xs, ys, strict=True))
        return f'<polyline class="{style}" points="{points}"/>'

    def band(self, xs: Values, lower: Values, upper: Values, style: str) -> str:
        """Return the area between two lines."""
        way = [*zip(xs, upper, strict=True), *reversed(list(zip(xs, lower, strict=True)))]
        points = " ".join(f"{self.across(x):.1f},{self.down(y):.1f}" for x, y in way)
        return f'<polygon class="{style}" points="{points}"/>'

    def dots(self, xs: Values, ys: Values, style: str, radius: float = 2.6) -> str:
        """Return points."""
        return "".join(
            f'<circle class="{style}" cx="{self.across(x):.1f}" cy="{self.down(y):.1f}" r="{radius:g}"/>'
            for x, y in zip(xs, ys, strict=True)
        )

    def upright(self, x: float, low: float, high: float, style: str) -> str:
        """Return a vertical stroke."""
        at = self.across(x)
        return (
            f'<line class="{style}" x1="{at:.1f}" x2="{at:.1f}" y1="{self.down(low):.1f}" y2="{self.down(high):.1f}"/>'
        )

    def drawn(self, marks: Iterable[str], label: str) -> str:
        """Return the chart: grid, marks, labels of the axes."""
        bottom = self.height - BOTTOM
        grid, labels = [], []
        for value in self.y.ticks:
            at = self.down(value)
            grid.append(
                f'<line class="grid" x1="{self.left:g}" x2="{self.width - RIGHT:g}" y1="{at:.1f}" y2="{at:.1f}"/>'
            )
            labels.append(f'<text class="tick end" x="{self.left - 6:g}" y="{at + 4:.1f}">{short(value)}</text>')
        for value in self.x.ticks:
            at = self.across(value)
            grid.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP:g}" y2="{bottom:g}"/>')
            labels.append(f'<text class="tick middle" x="{at:.1f}" y="{bottom + 15:g}">{short(value)}</text>')
        middle = 0.5 * (self.left + self.width - RIGHT)
        labels.append(f'<text class="title middle" x="{middle:g}" y="{self.height - 6:g}">{_text(self.x.title)}</text>')
        half = 0.5 * (TOP + bottom)
        labels.append(
            f'<text class="title middle" transform="translate(11 {half:g}) rotate(-90)">{_text(self.y.title)}</text>'
        )
        return picture("".join([*grid, *marks, *labels]), label, self.width, self.height)


def picture(content: str, label: str, width: float, height: float) -> str:
    """Return an SVG element that screen readers take for one picture."""
    return (
        f'<svg role="img" aria-label="{_text(label)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="max-width:{1.35 * width:g}px">{content}</svg>'
    )


def _text(value: object) -> str:
    return html.escape(str(value))


__all__ = ["Axis", "Frame", "picture", "round_values", "short"]
