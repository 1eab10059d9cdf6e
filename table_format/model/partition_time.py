"""Computes the time of a partition from its values (Java ``PartitionTimeExtractor``).

A pattern combines the values to one text, and a formatter parses it; both have the syntax of the reference. Of the
letters of Java's ``DateTimeFormatter``, those for digits are supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

_DEFAULT: Final = re.compile(
    r"(?P<y>\d{1,10})-(?P<M>\d{1,2})-(?P<d>\d{1,2})"
    r"(?: (?P<H>\d{1,2}):(?P<m>\d{1,2}):(?P<s>\d{1,2})(?:\.(?P<S>\d{1,9}))?)?"
)
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|(?P<letter>[A-Za-z])(?P=letter)*|[^A-Za-z']")
_LETTERS: Final = "yuMdHmsS"
_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LARGEST: Final = {"H": 23, "m": 59, "s": 59}


def check_formatter(formatter: str) -> None:
    """Refuse a formatter that cannot be parsed or has unsupported letters.

    Raises:
        ValueError: the formatter is invalid; the message states why.
    """
    _regex_of(formatter)


@dataclass(frozen=True)
class PartitionTimes:
    """Computes times from partition values; ``None`` selects the defaults of the reference.

    >>> times = PartitionTimes(pattern="$day $hour:00:00")
    >>> times.time_of({"day": "2026-01-02", "hour": "10"})
    datetime.datetime(2026, 1, 2, 10, 0)
    >>> PartitionTimes(formatter="yyyyMMdd").time_of({"dt": "20260102"}), times.time_of({"day": "x", "hour": "1"})
    (datetime.datetime(2026, 1, 2, 0, 0), None)
    """

    pattern: str | None = None
    formatter: str | None = None

    def time_of(self, values: Mapping[str, str]) -> datetime | None:
        """Return the wall-clock time of a partition from the texts of its values; ``None`` if they are not a time."""
        text = next(iter(values.values())) if self.pattern is None else _filled(self.pattern, values)
        match = self._regex.fullmatch(text)
        return None if match is None else _time(match, lenient=self.formatter is None)

    def ms_of(self, values: Mapping[str, str]) -> int | None:
        """Return the result of ``time_of`` in milliseconds, as if it were UTC."""
        time = self.time_of(values)
        return None if time is None else (time - _EPOCH) // _MILLISECOND

    def unknown_name(self, columns: Iterable[str]) -> str | None:
        """Return a ``$name`` of the pattern that is none of the partition columns; with it, no value is a time.

        >>> PartitionTimes(pattern="$day $hour:00:00").unknown_name(["day"])
        '$hour'
        """
        rest = _filled(self.pattern or "", dict.fromkeys(columns, ""))
        found = re.search(r"\$\w*", rest)
        return None if found is None else found[0]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return _DEFAULT if self.formatter is None else _regex_of(self.formatter)


def _filled(pattern: str, values: Mapping[str, str]) -> str:
    """Return the pattern with ``$name`` replaced by values; the longest matching name is used."""
    names = sorted(values, key=len, reverse=True)
    if not names:
        return pattern
    return re.sub(rf"\$({'|'.join(map(re.escape, names))})", lambda match: values[match[1]], pattern)


def _regex_of(formatter: str) -> re.Pattern[str]:
    parts: list[str] = []
    position, seen = 0, set[str]()
    while position < len(formatter):
        token = _TOKEN.match(formatter, position)
        if token is None:
            message = f"a quote in {formatter!r} is not closed"
            raise ValueError(message)
        position = token.end()
        letter = token["letter"]
        if letter is None:
            quoted = token[1]
            parts.append(re.escape(token[0] if quoted is None else quoted.replace("''", "'") or "'"))
            continue
        name = "y" if letter == "u" else letter
        if letter not in _LETTERS or name in seen:
            message = f"the letter {letter!r} in {formatter!r} is not supported, or occurs twice"
            raise ValueError(message)
        seen.add(name)
        parts.append(f"(?P<{name}>{_digits(name, len(token[0]))})")
    return re.compile("".join(parts))


def _digits(letter: str, count: int) -> str:
    if letter == "S" or count > 1:
        return rf"\d{{{count}}}"
    return r"\d{1,10}" if letter == "y" else r"\d{1,2}"


def _time(match: re.Match[str], *, lenient: bool) -> datetime | None:
    found = {name: int(value) for name, value in match.groupdict().items() if value is not None}
    if not {"y", "M", "d"} <= found.keys():
        return None
    year, month, day = found["y"], found["M"], found["d"]
    if len(match["y"]) == 2 and not lenient:
        year += 2000
    if not lenient and not (1 <= month <= 12 and 1 <= day <= 31 and _is_time(found)):
        return None
    fraction = match["S"] if "S" in found else "0"
    time = timedelta(
        hours=found.get("H", 0),
        minutes=found.get("m", 0),
        seconds=found.get("s", 0),
        microseconds=int(fraction.ljust(9, "0")[:6]),
    )
    try:
        first = datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
        following = (first + timedelta(days=31)).replace(day=1)
        # As in Java, a day that the month lacks is the last day with a formatter, and a day of the next month without.
        days = day if lenient else min(day, (following - first).days)
        return first + timedelta(days=days - 1) + time
    except (ValueError, OverflowError):  # beyond the years that Python supports
        return None


def _is_time(found: dict[str, int]) -> bool:
    """Return whether the parts are a time of a day; as in Java, 24:00 is the end of the day."""
    parts = {name: found.get(name, 0) for name in (*_LARGEST, "S")}
    return parts == {"H": 24, "m": 0, "s": 0, "S": 0} or all(parts[name] <= top for name, top in _LARGEST.items())
