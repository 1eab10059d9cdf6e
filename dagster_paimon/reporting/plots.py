"""Draws small charts as SVG in Markdown, the only form of picture that metadata in the Dagster UI can show.

The UI shows Markdown inline if it has fewer than 1000 characters, and behind a link otherwise. Therefore a chart has
few strokes and as many bars as fit. Its colors are readable on light and dark pages.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final

import dagster as dg

COLOURS: Final = ("#48f", "#e93", "#3b7", "#d57", "#86e", "#2bc", "#b85", "#789")
SHOWN_IN_PLACE: Final = 999
"""The maximum characters of Markdown that the UI shows without a click."""

_GREY: Final = "#789"
_WIDTH: Final = 360
_TOP: Final = 16
_FLOOR: Final = 76
_WIDEST_BAR: Final = 32
_WIDEST_SLOT: Final = 56
_LETTER: Final = 5.6


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, stacked from named parts."""

    label: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The height of the bar: the sum of its parts."""
        return sum(self.parts.values())


def chart(
    bars: Sequence[Bar], *, caption: str, unit: str = "", colours: Mapping[str, str] | None = None
) -> dg.MarkdownMetadataValue:
    """Return stacked bars as a metadata value: the last bars, as many as the UI shows inline.

    ``caption`` is the alternative text.
    """
    shown = list(bars)
    text = _markdown(stacked_bars(shown, unit=unit, colours=colours), caption)
    while len(text) > SHOWN_IN_PLACE and len(shown) > 1:
        shown = shown[max(1, len(shown) // 10) :]
        text = _markdown(stacked_bars(shown, unit=unit, colours=colours), caption)
    return dg.MetadataValue.md(text)


def stacked_bars(bars: Sequence[Bar], *, unit: str = "", colours: Mapping[str, str] | None = None) -> str:
    """Return the chart as SVG text, with a legend above and labels below: all that fit, or those of the first and last
    bar.

    >>> stacked_bars([Bar("1", {"APPEND": 10.0})]).count("<path")
    1
    """
    series = list(dict.fromkeys(name for bar in bars for name in bar.parts))
    colour_of = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(series)} | dict(colours or {})
    top = max((bar.total for bar in bars), default=0.0) or 1.0
    slot = min((_WIDTH - 2) / max(len(bars), 1), _WIDEST_SLOT)
    paths = [f"<path fill='{colour_of[name]}' d='{_strokes(bars, name, slot, top)}'/>" for name in series]
    legend = "".join(f"<tspan fill='{colour_of[name]}'> {escape(name)}</tspan>" for name in series)
    head = f"<text y='9'>{short_number(top)}{unit}{legend}</text>"
    size = f"width='{_WIDTH + 60}' height='92' font-size='10' fill='{_GREY}' font-family='Arial'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{head}{''.join(paths)}{_labels(bars, slot)}</svg>"


def short_number(value: float) -> str:
    """Format a number in at most five characters.

    >>> [short_number(v) for v in (0, 7, 1234, 50_000, 2_500_000, 3e9)]
    ['0', '7', '1.2k', '50k', '2.5M', '3G']
    """
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".rstrip("0").rstrip(".") + suffix
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _labels(bars: Sequence[Bar], slot: float) -> str:
    """Return one label for adjacent bars that share it, or only the first and the last if not all fit."""
    runs: list[tuple[int, int, str]] = []
    for label, run in groupby(bar.label for bar in bars):
        start = runs[-1][0] + runs[-1][1] if runs else 0
        runs.append((start, sum(1 for _ in run), label))
    if any(len(label) * _LETTER >= slot * length for _, length, label in runs):
        runs = [runs[0], runs[-1]] if len(runs) > 1 else runs
    return "".join(f"<text x='{slot * start:.0f}' y='88'>{escape(label)}</text>" for start, _, label in runs)


def _strokes(bars: Sequence[Bar], name: str, slot: float, top: float) -> str:
    """Return all parts with one name as one path. Parts are stacked in the order of their names."""
    width = max(1, min(_WIDEST_BAR, int(slot * 0.8)))
    strokes = []
    for position, bar in enumerate(bars):
        if not bar.parts.get(name):
            continue
        below = 0.0
        for part, value in bar.parts.items():
            if part == name:
                break
            below += value
        floor = round(_FLOOR - (_FLOOR - _TOP) * below / top)
        height = max(1, round((_FLOOR - _TOP) * bar.parts[name] / top))
        strokes.append(f"M{round(slot * position)} {floor}v-{height}h{width}v{height}")
    return "".join(strokes)


def _markdown(svg: str, caption: str) -> str:
    return f"![{caption}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})"
