"""The types of procedure arguments. Each accepts a value or its text, as in ``CALL`` or on a command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from table_format.errors import InvalidInputError, InvalidOption
from table_format.model.arguments import MAX_LONG, MIN_LONG, mappings, name_or_names, text, whole_number, whole_numbers
from table_format.options.declare import parse_value
from table_format.options.values import duration


@dataclass(frozen=True, slots=True)
class ArgumentType:
    """The accepted values of an argument. ``convert`` raises an error of ``NOT_CONVERTED`` for other values."""

    words: str
    convert: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a procedure. An omitted argument that is not ``required`` has the ``default``."""

    name: str
    type: ArgumentType
    help: str
    required: bool = False
    default: Any = None


def required(name: str, argument_type: ArgumentType, help_text: str) -> Argument:
    """Declare a required argument."""
    return Argument(name, argument_type, help_text, required=True)


def _text(value: object) -> str:
    found = text(value, "")
    if not found.strip():
        raise ValueError
    return found.strip()


def _whole(value: object) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", value):
            raise ValueError
        value = int(value)
    return whole_number(value, "", minimum=MIN_LONG, maximum=MAX_LONG)


def _count(value: object) -> int:
    if (found := _whole(value)) < 1:
        raise ValueError
    return found


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[_text(value).lower()]


def _instant(value: object) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, str) and not value.strip().isdigit():
        # Without a zone, it is local time.
        return int(datetime.fromisoformat(value.strip()).timestamp() * 1000)
    return _whole(value)


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError
    return parse_value("", duration, value)


def _names(value: object) -> tuple[str, ...]:
    found = value.split(",") if isinstance(value, str) else name_or_names(value, "")
    names = tuple(name.strip() for name in found)
    if not all(names) or not names:
        raise ValueError
    return names


def _numbers(value: object) -> tuple[int, ...]:
    if isinstance(value, str):
        return tuple(_whole(part) for part in value.split(","))
    return whole_numbers(value, "")


def _partitions(value: object) -> tuple[Mapping[str, object], ...]:
    if isinstance(value, str):
        return tuple(_pairs(part, ",") for part in value.split(";"))
    listed: Any = (value,) if isinstance(value, Mapping) else value
    found: tuple[Mapping[str, object], ...] = tuple(mappings(listed, ""))
    if not found:
        raise ValueError
    return found


def _options(value: object) -> Mapping[str, str]:
    if isinstance(value, str):
        return _pairs(value, ",")
    if not isinstance(value, Mapping):
        raise TypeError
    return {text(key, ""): text(member, "") for key, member in value.items()}


def _pairs(value: str, separator: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in value.split(separator)]
    if not all(equals and key.strip() for key, equals, _ in pairs):
        raise ValueError
    return {key.strip(): member.strip() for key, _, member in pairs}


TEXT: Final = ArgumentType("a text that is not blank", _text)
WHOLE: Final = ArgumentType("a whole number", _whole)
COUNT: Final = ArgumentType("a whole number of at least 1", _count)
FLAG: Final = ArgumentType("true or false", _flag)
INSTANT: Final = ArgumentType(
    "a time such as '2026-01-31 12:00:00', in local time unless it names a zone, or milliseconds since 1970", _instant
)
DURATION: Final = ArgumentType(duration.accepts, _duration)
NAMES: Final = ArgumentType("names separated by commas", _names)
NUMBERS: Final = ArgumentType("whole numbers separated by commas", _numbers)
PARTITIONS: Final = ArgumentType("partitions such as 'dt=2026-01-01,hh=10;dt=2026-01-02'", _partitions)
OPTIONS: Final = ArgumentType("options such as 'target-file-size=1 gb,file.format=orc'", _options)
PATTERN: Final = ArgumentType("a regular expression", lambda value: None if value == "" else re.compile(_text(value)))
"""An empty text is the same as no pattern, as in Java."""


def choice(*values: str) -> ArgumentType:
    """One of some words, in upper or lower case."""

    def convert(value: object) -> str:
        word = _text(value).lower()
        if word not in values:
            raise ValueError
        return word

    return ArgumentType(f"one of {', '.join(values)}", convert)


NOT_CONVERTED: Final = (ValueError, KeyError, TypeError, OverflowError, InvalidInputError, InvalidOption, re.error)
"""The errors of a conversion."""
