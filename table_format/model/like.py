"""LIKE patterns: ``%`` matches any text, ``_`` any character, and ``\\`` makes the next of the three ordinary.

An escape before any other character is refused, as in Java ``org.apache.paimon.predicate.Like``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

from table_format.errors import InvalidFilter


class Wildcard(Enum):
    """The wildcards of a LIKE pattern."""

    ANY_TEXT = "%"
    ANY_CHARACTER = "_"


Piece: TypeAlias = str | Wildcard
"""A wildcard, or literal text, which is never empty."""

ESCAPE: Final = "\\"


def pieces(pattern: str, escape: str = ESCAPE) -> tuple[Piece, ...]:
    """Return the pieces of a pattern.

    >>> pieces("a\\\\_b%")
    ('a_b', <Wildcard.ANY_TEXT: '%'>)

    Raises:
        InvalidFilter: the escape character is last, or precedes an ordinary character.
    """
    found: list[Piece] = []
    for piece in _characters(pattern, escape):
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        elif not (piece is Wildcard.ANY_TEXT and found and found[-1] is piece):
            found.append(piece)
    return tuple(found)


def escaped(parts: tuple[Piece, ...]) -> str:
    """Return the pattern of these pieces with the escape character of the format.

    >>> escaped(pieces("100!%%", escape="!"))
    '100\\\\%%'
    """
    return "".join(part.value if isinstance(part, Wildcard) else _escape(part) for part in parts)


def literal_prefix(pattern: str) -> str:
    """Return the text with which every match begins."""
    first = pieces(pattern)[:1]
    return first[0] if first and isinstance(first[0], str) else ""


def regular_expression(parts: tuple[Piece, ...]) -> str:
    """Return the pattern as an RE2 regular expression, anchored at both ends."""
    translated = (
        "".join(map(_quoted, part)) if isinstance(part, str) else ".*" if part is Wildcard.ANY_TEXT else "."
        for part in parts
    )
    return rf"(?s)\A{''.join(translated)}\z"


def _quoted(character: str) -> str:
    return character if character.isalnum() and character.isascii() else rf"\x{{{ord(character):x}}}"


def _characters(pattern: str, escape: str) -> Iterator[Piece]:
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            if following not in ("%", "_", escape):
                message = f"LIKE pattern {pattern!r}: {escape!r} must be followed by '%', '_' or {escape!r}"
                raise InvalidFilter(message)
            yield following
        elif character in ("%", "_"):
            yield Wildcard(character)
        else:
            yield character


def _escape(text: str) -> str:
    return "".join(ESCAPE + c if c in ("%", "_", ESCAPE) else c for c in text)
