"""Declarations of options: each option is a value, declared once with its type, and belongs to a frozen group.

This version honours all values of an option, or only some (``honoured``). With any other value, the operations in
``blocks`` would return wrong results and are refused. A ``hint`` is stored and tunes only the Java engine. Reading a
group parses only its own keys, so a table written by others loads with any options.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Generic, TypeVar, cast

from table_format.errors import InvalidOption
from table_format.options.values import Parser, secret
from table_format.secrets import Secret, is_secret_key, shown_option

T = TypeVar("T")
G = TypeVar("G")
_METADATA = "option"


class Operation(StrEnum):
    """An operation on a table."""

    READ = "read"
    WRITE = "write"
    COMPACT = "compact"
    EXPIRE = "expire"


READ_AND_WRITE = (Operation.READ, Operation.WRITE, Operation.COMPACT)
WRITES = (Operation.WRITE, Operation.COMPACT)


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """One option: its key, values and default, and which values this version honours.

    ``honoured`` lists the supported values; ``None`` means all. An absent option is always honoured. An option whose
    key indicates a secret must use the parser ``values.secret``.
    """

    key: str
    parser: Parser[T]
    default: T
    doc: str
    immutable: bool = False
    hint: bool = False
    fallback_keys: tuple[str, ...] = ()
    honoured: Collection[T] | None = None
    blocks: tuple[Operation, ...] = ()

    def __post_init__(self) -> None:
        if any(map(is_secret_key, self.keys)) and not self.is_secret:
            message = f"option '{self.key}' names a secret; declare it with the parser 'secret' or 'optional(secret)'"
            raise TypeError(message)

    @property
    def is_secret(self) -> bool:
        """Whether the value is a ``Secret``."""
        return self.parser.accepts == secret.accepts

    @property
    def keys(self) -> tuple[str, ...]:
        """The key and its names in older tables."""
        return (self.key, *self.fallback_keys)

    def read(self, options: Mapping[str, str | Secret]) -> T:
        """Return the value in these options, or the default.

        Raises:
            InvalidOption: the text is not a valid value.
        """
        if self.key in options:
            return parse_value(self.key, self.parser, options[self.key])
        for key in self.fallback_keys:
            if key in options:
                return parse_value(key, self.parser, options[key])
        return self.default

    def is_honoured(self, value: T) -> bool:
        """Return whether this version honours the value."""
        return self.honoured is None or value is None or value in self.honoured

    def shown_honoured(self) -> str:
        """Return the honoured values as text; empty if all values are, or none."""
        if not self.honoured:
            return ""
        if isinstance(self.honoured, range):
            least, most = (self.parser.show(cast("T", value)) for value in (self.honoured[0], self.honoured[-1]))
            return f"{least} to {most}"
        return ", ".join(repr(self.parser.show(value)) for value in self.honoured if value is not None)

    def field(self) -> T:
        """Return the dataclass field of a group that holds the value."""
        return dataclasses.field(default=self.default, metadata={_METADATA: self})


@dataclass(frozen=True, slots=True)
class OptionPattern(Generic[T]):
    """A family of keys with one variable part, such as ``fields.<column>.stats-mode``."""

    key: str
    parser: Parser[T]
    doc: str
    hint: bool = False
    immutable: bool = False
    supported: bool = True
    blocks: tuple[Operation, ...] = ()

    @property
    def regex(self) -> re.Pattern[str]:
        """Matches the keys of the family; group 1 is the first variable part."""
        return _regex_of(self.key)

    def matches(self, key: str) -> str | None:
        """Return the variable part if the key belongs to the family."""
        match = self.regex.fullmatch(key)
        return match[1] if match else None

    def read(self, options: Mapping[str, str | Secret]) -> dict[str, T]:
        """Return the values by variable part."""
        return {
            part: parse_value(key, self.parser, options[key])
            for key in sorted(options)
            if (part := self.matches(key)) is not None
        }

    def field(self) -> Mapping[str, T]:
        """Return the dataclass field of a group that holds the values by variable part."""
        return cast("Mapping[str, T]", dataclasses.field(default_factory=dict, metadata={_METADATA: self}))


@cache
def _regex_of(key: str) -> re.Pattern[str]:
    parts = re.split(r"<[^>]*>", key)
    return re.compile("(.+?)".join(map(re.escape, parts)), re.DOTALL)


AnyOption = Option[Any] | OptionPattern[Any]


@dataclass(frozen=True, slots=True)
class OptionFamily:
    """Options that one field of a group holds by key, because a registry declares them instead of the group."""

    options: tuple[AnyOption, ...]

    def read(self, options: Mapping[str, str | Secret]) -> dict[str, object]:
        """Return the values in these options by key; absent options have their default."""
        return {option.key: option.read(options) for option in self.options}

    def field(self) -> Mapping[str, object]:
        """The member of a group that holds the values."""
        return cast("Mapping[str, object]", dataclasses.field(default_factory=dict, metadata={_METADATA: self}))


def parse_value(key: str, parser: Parser[T], value: str | Secret) -> T:
    """Parse one value.

    Raises:
        InvalidOption: the text is not a valid value; the message says what is valid, and shows no secret.
    """
    try:
        return parser(value.reveal() if isinstance(value, Secret) else value)
    except (ValueError, TypeError, AttributeError):
        shown = shown_option(key, value) if isinstance(value, str | Secret) else value
    # Raised outside of the handler: the parser's error holds the value, and would be shown as the context of this one.
    raise InvalidOption(key, f"{shown!r} is not a legal value; it takes {parser.accepts}")


def unsupported(
    key: str, parser: Parser[T], default: T, doc: str, *blocks: Operation, immutable: bool = False
) -> Option[T]:
    """Declare an option of the format that this version does not support: only its default is accepted."""
    return Option(key, parser, default, doc, immutable=immutable, honoured=(default,), blocks=blocks)


def hint(key: str, parser: Parser[T], default: T, doc: str) -> Option[T]:
    """Declare an option that is stored and tunes only the Java engine."""
    return Option(key, parser, default, doc, hint=True)


def declared_in(group: type[object]) -> Iterator[AnyOption]:
    """The options of a group, in order."""
    for member in dataclasses.fields(cast("Any", group)):
        if _METADATA in member.metadata:
            declared = member.metadata[_METADATA]
            yield from declared.options if isinstance(declared, OptionFamily) else (declared,)


def parse_group(group: type[G], options: Mapping[str, str | Secret]) -> G:
    """Read a group out of options.

    Raises:
        InvalidOption: one of its values is malformed.
    """
    return group(**{name: declared.read(options) for name, declared in _members_of(cast("Any", group))})


@cache
def _members_of(group: type[object]) -> tuple[tuple[str, Any], ...]:
    members = dataclasses.fields(cast("Any", group))
    return tuple((member.name, member.metadata[_METADATA]) for member in members if _METADATA in member.metadata)
