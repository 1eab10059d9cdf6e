"""Parsers of option values (format chapter 13; Java ``TimeUtils``, ``MemorySize``).

A parser turns text into a value or raises ``ValueError``. ``accepts`` describes the accepted texts for error messages
and the documentation. Durations become milliseconds, sizes become bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Generic, TypeVar

from table_format.secrets import Secret

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

MAX_INT: Final = 2_147_483_647
MAX_LONG: Final = 9_223_372_036_854_775_807


@dataclass(frozen=True, slots=True)
class Parser(Generic[T]):
    """How one kind of value is parsed, shown, and stored as text that readers in Java can parse.

    ``edges`` are accepted texts at the limits, in several spellings; empty for open sets of texts.
    """

    accepts: str
    parse: Callable[[str], T]
    show: Callable[[T], str] = str
    stored: Callable[[str], str] = str.strip
    edges: tuple[str, ...] = ()

    def __call__(self, value: str) -> T:
        """Return the value of a text; raises ``ValueError`` if it is not accepted."""
        return self.parse(value)


def _parse_boolean(value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(value)
    return lowered == "true"


boolean: Final = Parser(
    "true or false", _parse_boolean, lambda value: str(value).lower(), edges=("true", "false", " TRUE ")
)


def integer(minimum: int = 0, maximum: int = MAX_INT) -> Parser[int]:
    """Whole numbers in a range.

    >>> integer(1, 9)("7")
    7
    """

    def parse(value: str) -> int:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", value):
            raise ValueError(value)
        number = int(value)
        if not minimum <= number <= maximum:
            raise ValueError(value)
        return number

    bounds = f"at least {minimum}" if maximum in (MAX_INT, MAX_LONG) else f"from {minimum} to {maximum}"
    edges = (str(minimum), str(minimum + 1), f" {maximum} ")
    return Parser(f"a whole number, {bounds}", parse, edges=edges)


def ratio(minimum: float, maximum: float) -> Parser[float]:
    """Decimal numbers in a range."""

    def parse(value: str) -> float:
        number = float(value)
        if not minimum <= number <= maximum:
            raise ValueError(value)
        return number

    return Parser(f"a number from {minimum:g} to {maximum:g}", parse, edges=(f"{minimum:g}", f"{maximum:g}"))


def share() -> Parser[float]:
    """Decimal numbers from 0 to below 1."""

    def parse(value: str) -> float:
        number = float(value)
        if not 0 <= number < 1:
            raise ValueError(value)
        return number

    return Parser("a number from 0 to below 1", parse, edges=("0", "0.999"))


def _parse_probability(value: str) -> float:
    number = float(value)
    if not 0 < number < 1:
        raise ValueError(value)
    return number


probability: Final = Parser("a number between 0 and 1, exclusive", _parse_probability, edges=("1e-9", "0.999999"))


def _parse_text(value: str) -> str:
    if not value.strip():
        raise ValueError(value)
    return value.strip()


text: Final = Parser("a text that is not blank", _parse_text)

verbatim: Final = Parser("a text", str, stored=str)


_NAME_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _parse_name_prefix(value: str) -> str:
    prefix = _parse_text(value)
    if not _NAME_PREFIX.fullmatch(prefix):
        raise ValueError(value)
    return prefix


name_prefix: Final = Parser(
    "letters, digits, '.', '_' and '-', of which the first is a letter or a digit", _parse_name_prefix
)
"""The beginning of file names. Other readers skip names that begin with a dot or an underscore."""

secret: Final = Parser("a secret", lambda value: Secret(_parse_text(value)))


def _parse_names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if not all(names) or len(set(names)) != len(names):
        raise ValueError(value)
    return names


names: Final = Parser(
    "names separated by commas, none of them twice",
    _parse_names,
    ",".join,
    stored=lambda value: ",".join(_parse_names(value)),
)

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/[^,?#\0]*")


def _parse_uris(value: str) -> tuple[str, ...]:
    found = _parse_names(value)
    if not all(_URI.fullmatch(uri) for uri in found):
        raise ValueError(value)
    return found


uris: Final = Parser(
    "URIs with their scheme, such as 'file:/data', separated by commas, none of them twice",
    _parse_uris,
    ",".join,
    stored=lambda value: ",".join(_parse_uris(value)),
)

_MILLISECONDS: Final = {
    **dict.fromkeys(("d", "day", "days"), 86_400_000.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000.0),
    **dict.fromkeys(("min", "m", "minute", "minutes"), 60_000.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000.0),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1.0),
    **dict.fromkeys(("µs", "micro", "micros", "microsecond", "microseconds"), 1e-3),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1e-6),
}
_ISO_DURATION: Final = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def _parse_duration(value: str) -> int:
    stripped = value.strip()
    if stripped[:1] in ("P", "p"):
        return _parse_iso_duration(stripped)
    match = re.fullmatch(r"([0-9]{1,19})\s*([a-zµ]*)", stripped.lower())
    if match is None or match[2] not in _MILLISECONDS:
        raise ValueError(value)
    factor = _MILLISECONDS[match[2]]
    return int(match[1]) * int(factor) if factor >= 1 else int(int(match[1]) * factor)


def _parse_iso_duration(value: str) -> int:
    match = _ISO_DURATION.fullmatch(value)
    if match is None or not any(match.groupdict().values()):
        raise ValueError(value)
    days, hours, minutes = (int(match[unit] or 0) for unit in "dhm")
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + int(float(match["s"] or 0) * 1000)


def _show_duration(milliseconds: int) -> str:
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"


def _stored_duration(value: str) -> str:
    stripped = value.strip()
    return _show_duration(_parse_duration(stripped)) if stripped[:1] in ("P", "p") else stripped


duration: Final = Parser(
    "a duration such as '1 h', '5 d', '30 s' or 'PT1H'",
    _parse_duration,
    _show_duration,
    _stored_duration,
    edges=("0 ms", "1 ns", "P1DT2S", "36500 d", "9223372036854775807 ms"),
)

MAX_RETAINED_MS: Final = 366 * 10_000 * 86_400_000
"""The longest duration that a reader in Java can add to a date: ten thousand years."""


def duration_within(minimum: int = 0, maximum: int = MAX_RETAINED_MS) -> Parser[int]:
    """Durations in a range of milliseconds.

    >>> duration_within(1_000)("2 s")
    2000
    """

    def parse(value: str) -> int:
        milliseconds = _parse_duration(value)
        if not minimum <= milliseconds <= maximum:
            raise ValueError(value)
        return milliseconds

    least = f", at least {_show_duration(minimum)}" if minimum else ""
    most = f", at most {_show_duration(maximum)}"
    edges = (_show_duration(minimum), f"{minimum + 1} ms", f"{maximum} ms")
    return Parser(f"{duration.accepts}{least}{most}", parse, _show_duration, _stored_duration, edges)


_BYTES: Final = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}


def _parse_size(value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,19})\s*([a-z]*)", value.strip().lower())
    if match is None or match[2] not in _BYTES:
        raise ValueError(value)
    return int(match[1]) * _BYTES[match[2]]


def _show_size(size: int) -> str:
    for unit, factor in (("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10)):
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} b"


def size(minimum: int = 0) -> Parser[int]:
    """Amounts of bytes.

    >>> size()("128 mb"), size()("500 B")
    (134217728, 500)
    """

    def parse(value: str) -> int:
        amount = _parse_size(value)
        if amount < minimum:
            raise ValueError(value)
        return amount

    at_least = f", at least {_show_size(minimum)}" if minimum else ""
    edges = (f"{minimum} b", "1 kb", "9223372036854775807 b")
    return Parser(f"a size such as '128 mb' or '500 b'{at_least}", parse, _show_size, edges=edges)


def size_in_bytes(minimum: int = 0) -> Parser[int]:
    """Amounts of bytes that are stored as numbers: readers in Java pass them on to a library that knows no units.

    >>> size_in_bytes().stored("32 mb")
    '33554432'
    """
    return replace(size(minimum), stored=lambda value: str(_parse_size(value)))


def one_of(values: type[E]) -> Parser[E]:
    """A member of an enumeration, in any case, with ``_`` or ``-``."""
    members = {member.value: member for member in values}

    def parse(value: str) -> E:
        found = members.get(value.strip().lower().replace("_", "-"))
        if found is None:
            raise ValueError(value)
        return found

    show, edges = (lambda member: member.value), _ways_to_write(*members)
    return Parser(f"one of {', '.join(members)}", parse, show, _stored_choice, edges)


def choice(*values: str) -> Parser[str]:
    """One of a few words, in any case."""

    def parse(value: str) -> str:
        lowered = value.strip().lower().replace("_", "-")
        if lowered not in values:
            raise ValueError(value)
        return lowered

    return Parser(f"one of {', '.join(values)}", parse, stored=_stored_choice, edges=_ways_to_write(*values))


def _ways_to_write(*values: str) -> tuple[str, ...]:
    return (*values, f" {values[-1].upper().replace('-', '_')} ")


def _stored_choice(value: str) -> str:
    return value.strip().replace("_", "-").lower()


def constant(*values: str) -> Parser[str]:
    """One of a few words, in any case; stored in upper case, as Flink stores the constants of its enums."""
    return replace(choice(*values), stored=lambda value: value.strip().upper())


def word(**aliases: str) -> Parser[str]:
    """Any word, in any case, for options with an open set of values. Some words have aliases.

    >>> word(uncompressed="none")("UNCOMPRESSED"), word()("xz")
    ('none', 'xz')
    """

    def parse(value: str) -> str:
        lowered = _parse_text(value).lower()
        return aliases.get(lowered, lowered)

    return Parser("a word", parse)


def _parse_stats_mode(value: str) -> str:
    lowered = value.strip().lower()
    match = re.fullmatch(r"truncate\((\d{1,9})\)", lowered)
    if lowered in ("none", "counts", "full") or (match and int(match[1]) > 0):
        return lowered
    raise ValueError(value)


stats_mode: Final = Parser(
    "none, counts, full or truncate(<length>)",
    _parse_stats_mode,
    edges=("none", "counts", "full", "truncate(1)", "truncate(999999999)", " FULL "),
)


def _parse_levels(value: str) -> tuple[tuple[int, str], ...]:
    pairs = []
    for item in value.split(","):
        level, colon, word = item.partition(":")
        if not colon or not word.strip():
            raise ValueError(value)
        pairs.append((int(level), word.strip()))
    return tuple(pairs)


def _show_levels(pairs: tuple[tuple[int, str], ...]) -> str:
    return ",".join(f"{level}:{word}" for level, word in pairs)


levels: Final = Parser(
    "levels with words, such as '0:avro,5:parquet'",
    _parse_levels,
    _show_levels,
    lambda value: _show_levels(_parse_levels(value)),
)


def _parse_stats_levels(value: str) -> tuple[tuple[int, str], ...]:
    return tuple((level, _parse_stats_mode(mode)) for level, mode in _parse_levels(value))


stats_levels: Final = Parser(
    "levels with statistics modes, such as '0:none,5:full'",
    _parse_stats_levels,
    _show_levels,
    lambda value: _show_levels(_parse_stats_levels(value)),
    edges=("0:none,5:full", " 1:truncate(3) "),
)


def optional(parser: Parser[T]) -> Parser[T | None]:
    """The same values; for options that may be absent."""
    return Parser(
        parser.accepts,
        parser.parse,
        lambda value: "none" if value is None else parser.show(value),
        parser.stored,
        parser.edges,
    )
