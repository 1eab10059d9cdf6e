"""Small charts as SVG in Markdown, the one form of picture that metadata in the Dagster UI shows.

Colours and greys are chosen to be read on a light and on a dark page. No plotting library is needed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import dagster as dg

COLOURS: Final = ("#4f8ef7", "#f2a33a", "#3fb27f", "#d9587b", "#8a6fe8", "#2fb3c6", "#b08d57", "#7d8794")
_TEXT: Final = "#7d8794"
_WIDTH: Final = 640
_PLOT_TOP: Final = 44
_PLOT_HEIGHT: Final = 130
_LEFT: Final = 64
_FOOT: Final = 30


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, stacked from named parts."""

    label: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def stacked_bars(title: str, bars: Sequence[Bar], *, unit: str = "", colours: Mapping[str, str] | None = None) -> str:
    """A bar chart as SVG text; the legend names every part that occurs.

    >>> svg = stacked_bars("rows", [Bar("1", {"APPEND": 10.0}), Bar("2", {"COMPACT": 4.0})])
    >>> svg.startswith("<svg") and "COMPACT" in svg
    True
    """
    series = list(dict.fromkeys(name for bar in bars for name in bar.parts))
    colour_of = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(series)} | dict(colours or {})
    top = max((bar.total for bar in bars), default=0.0) or 1.0
    slot = (_WIDTH - _LEFT - 12) / max(len(bars), 1)
    width = min(slot * 0.72, 48.0)
    every = max(1, -(-len(bars) // 16))
    shapes = [_grid(top, unit)]
    for position, bar in enumerate(bars):
        x = _LEFT + slot * (position + 0.5) - width / 2
        shapes.append(_bar(bar, x, width, top, colour_of))
        if position % every == 0:
            shapes.append(_text(x + width / 2, _PLOT_TOP + _PLOT_HEIGHT + 16, bar.label, anchor="middle"))
    shapes += [_text(8, 16, title, size=13, weight="600"), _legend(series, colour_of)]
    height = _PLOT_TOP + _PLOT_HEIGHT + _FOOT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="ui-sans-serif,system-ui,sans-serif">{"".join(shapes)}</svg>'
    )


def as_metadata(svg: str, *, caption: str) -> dg.MarkdownMetadataValue:
    """The chart as a metadata value; ``caption`` is what a reader without pictures gets."""
    return dg.MetadataValue.md(f"![{caption}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})")


def short_number(value: float) -> str:
    """A number in at most five characters.

    >>> [short_number(v) for v in (0, 7, 1234, 50_000, 2_500_000, 3e9)]
    ['0', '7', '1.2k', '50k', '2.5M', '3G']
    """
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".rstrip("0").rstrip(".") + suffix
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _bar(bar: Bar, x: float, width: float, top: float, colour_of: Mapping[str, str]) -> str:
    shapes, floor = [], float(_PLOT_TOP + _PLOT_HEIGHT)
    for name, value in bar.parts.items():
        height = _PLOT_HEIGHT * value / top
        floor -= height
        shapes.append(
            f'<rect x="{x:.1f}" y="{floor:.1f}" width="{width:.1f}" height="{max(height, 0.5):.1f}" rx="1.5" '
            f'fill="{colour_of[name]}"><title>{escape(f"{bar.label} {name}: {short_number(value)}")}</title></rect>'
        )
    return "".join(shapes)


def _grid(top: float, unit: str) -> str:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = _PLOT_TOP + _PLOT_HEIGHT * (1 - share)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y}" y2="{y}" stroke="{_TEXT}" stroke-opacity=".3"/>')
        lines.append(_text(_LEFT - 6, y + 4, f"{short_number(top * share)}{unit}", anchor="end"))
    return "".join(lines)


def _legend(series: Sequence[str], colour_of: Mapping[str, str]) -> str:
    shapes, x = [], float(_LEFT)
    for name in series:
        shapes.append(f'<rect x="{x:.1f}" y="25" width="9" height="9" rx="2" fill="{colour_of[name]}"/>')
        shapes.append(_text(x + 13, 33, name))
        x += 24 + 6.6 * len(name)
    return "".join(shapes)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 11, weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{_TEXT}">{escape(text)}</text>'
    )
