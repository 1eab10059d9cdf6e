"""Declarations: every option is a value, declared once, typed where it is declared, and gathered in frozen groups.

An option is *honoured* for all its values, or only for some (``honoured``); under any other value the operations named
by ``blocks`` would give a wrong result and are refused. A ``hint`` is kept and tunes only the Java engine. Reading a
group parses nothing but its own keys, so a table written by others loads whatever its options hold.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from table_format.errors import InvalidOption
from table_format.options.values import Parser, secret
from table_format.secrets import Secret, is_secret_key, shown_option

T = TypeVar("T")
G = TypeVar("G")
_METADATA = "option"


class Operation(StrEnum):
    """What one does with a table."""

    READ = "read"
    WRITE = "write"
    COMPACT = "compact"
    EXPIRE = "expire"


READ_AND_WRITE = (Operation.READ, Operation.WRITE, Operation.COMPACT)
WRITES = (Operation.WRITE, Operation.COMPACT)


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """One key: its values, its default, and what this version makes of it.

    ``honoured`` of ``None`` means every legal value; otherwise the values that have their effect. ``None``, which is an
    option that is absent, always has its effect. An option whose key
    names a secret is parsed by ``values.secret``; to declare it otherwise is an error.
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
        """The key and the keys that stand for it in older tables."""
        return (self.key, *self.fallback_keys)

    def read(self, options: Mapping[str, str | Secret]) -> T:
        """The value in these options, or the default.

        Raises:
            InvalidOption: the text is not a legal value.
        """
        for key in self.keys:
            if key in options:
                return parse_value(key, self.parser, options[key])
        return self.default

    def is_honoured(self, value: T) -> bool:
        """Whether this version gives the value its effect."""
        return self.honoured is None or value is None or value in self.honoured

    def field(self) -> T:
        """The member of a group that holds the value."""
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
        parts = re.split(r"<[^>]*>", self.key)
        return re.compile("(.+?)".join(map(re.escape, parts)), re.DOTALL)

    def matches(self, key: str) -> str | None:
        """The variable part, when the key belongs to the family."""
        match = self.regex.fullmatch(key)
        return match[1] if match else None

    def read(self, options: Mapping[str, str | Secret]) -> dict[str, T]:
        """The values by variable part."""
        return {
            part: parse_value(key, self.parser, options[key])
            for key in sorted(options)
            if (part := self.matches(key)) is not None
        }

    def field(self) -> Mapping[str, T]:
        """The member of a group that holds the values by variable part."""
        return cast("Mapping[str, T]", dataclasses.field(default_factory=dict, metadata={_METADATA: self}))


AnyOption = Option[Any] | OptionPattern[Any]


@dataclass(frozen=True, slots=True)
class OptionFamily:
    """Options that one member of a group holds by key, because a registry and not the group declares them."""

    options: tuple[AnyOption, ...]

    def read(self, options: Mapping[str, str | Secret]) -> dict[str, object]:
        """The values in these options by key; of an absent one the default."""
        return {option.key: option.read(options) for option in self.options}

    def field(self) -> Mapping[str, object]:
        """The member of a group that holds the values."""
        return cast("Mapping[str, object]", dataclasses.field(default_factory=dict, metadata={_METADATA: self}))


def parse_value(key: str, parser: Parser[T], value: str | Secret) -> T:
    """Parse one value.

    Raises:
        InvalidOption: the text is not a legal value; the message says what is, and shows no secret.
    """
    try:
        return parser(value.reveal() if isinstance(value, Secret) else value)
    except (ValueError, TypeError, AttributeError):
        shown = shown_option(key, value) if isinstance(value, str | Secret) else value
    # Raised out here: the parser's own error holds the value, and would be shown as the context of this one.
    raise InvalidOption(key, f"{shown!r} is not a legal value; it takes {parser.accepts}")


def unsupported(
    key: str, parser: Parser[T], default: T, doc: str, *blocks: Operation, immutable: bool = False
) -> Option[T]:
    """An option of the format that this version knows and does not carry out: only its default is accepted."""
    return Option(key, parser, default, doc, immutable=immutable, honoured=(default,), blocks=blocks)


def hint(key: str, parser: Parser[T], default: T, doc: str) -> Option[T]:
    """An option that is kept and tunes only the Java engine."""
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
    members = dataclasses.fields(cast("Any", group))
    values = {m.name: m.metadata[_METADATA].read(options) for m in members if _METADATA in m.metadata}
    return group(**values)
