"""The times on the clock of a zone that a time window covers. When the clock is set back, some of them occur twice.

A TIMESTAMP column cannot tell the two hours apart. Both together are unambiguous, so a run or a read may have both or
neither of them, as far as they are partitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, TypeAlias

import dagster as dg

_MINUTE: Final = timedelta(minutes=1)  # windows begin at whole minutes

Span: TypeAlias = tuple[datetime, datetime]


def on_the_clock(window: dg.TimeWindow) -> Span:
    """Return the first time of a window on the clock of its zone, and the time after the last one, both without a zone.

    >>> from zoneinfo import ZoneInfo
    >>> new_york = ZoneInfo("America/New_York")
    >>> first = datetime(2026, 11, 1, 1, tzinfo=new_york)
    >>> [str(time) for time in on_the_clock(dg.TimeWindow(first, first.replace(fold=1)))]
    ['2026-11-01 01:00:00', '2026-11-01 02:00:00']
    """
    zone = window.start.tzinfo
    start, end = (time.replace(tzinfo=None) for time in (window.start, window.end))
    first, after = _instants(window)
    if window.start.utcoffset() == (after - timedelta.resolution).astimezone(zone).utcoffset():
        return start, start + (after - first)
    for instant in (first, after):
        if _occurs_twice(instant, zone):
            begin, middle, _ = _doubled(instant, zone)
            doubled = begin.astimezone(zone).replace(tzinfo=None)
            return min(start, doubled), max(end, doubled + (middle - begin))
    return start, end


def only_once(
    windows: Iterable[dg.TimeWindow], is_partition: Callable[[datetime], bool] = lambda _: True
) -> dg.TimeWindow | None:
    """Return a window with a time that occurs twice, if the windows contain it only once.

    ``is_partition`` tells whether an instant belongs to a partition. If the other occurrence does not, such as in the
    hour that has not ended yet, there is nothing to confuse the rows with.
    """
    known = list(windows)
    covered = _merged(map(_instants, known))
    for window in known:
        zone = window.start.tzinfo
        for instant in _instants(window):
            if _occurs_twice(instant, zone) and any(map(is_partition, _left_out(covered, *_doubled(instant, zone)))):
                return window
    return None


def _left_out(covered: Sequence[Span], begin: datetime, middle: datetime, end: datetime) -> list[datetime]:
    """Return the minutes that are not covered although the same times on the clock are."""
    first, second = _minutes(_within(covered, begin, middle)), _minutes(_within(covered, middle, end))
    shift = middle - begin
    return sorted({at + shift for at in first} - second | {at - shift for at in second} - first)


def _minutes(spans: Iterable[Span]) -> set[datetime]:
    return {start + _MINUTE * step for start, stop in spans for step in range(math.ceil((stop - start) / _MINUTE))}


def _instants(window: dg.TimeWindow) -> Span:
    return window.start.astimezone(UTC), window.end.astimezone(UTC)


def _occurs_twice(instant: datetime, zone: tzinfo | None) -> bool:
    local = instant.astimezone(zone)
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def _doubled(instant: datetime, zone: tzinfo | None) -> tuple[datetime, datetime, datetime]:
    """Return when the times around an instant begin, begin again, and end."""
    begin = end = instant
    while _occurs_twice(begin - _MINUTE, zone):
        begin -= _MINUTE
    while _occurs_twice(end, zone):
        end += _MINUTE
    return begin, begin + (end - begin) / 2, end


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _within(spans: Sequence[Span], begin: datetime, end: datetime) -> list[Span]:
    cut = [(max(start, begin), min(stop, end)) for start, stop in spans]
    return [(start, stop) for start, stop in cut if start < stop]
