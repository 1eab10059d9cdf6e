"""Determines the kind of a statement from its first words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from table_format.sql.reader import Reader


@dataclass(frozen=True, slots=True)
class Grammar:
    """A family of statements: the words they begin with, and the function that reads them.

    ``read`` takes a reader at the first word and returns a frozen dataclass. The longest opening that matches decides.
    An opening without words matches every statement that no other opening matches.
    """

    openings: tuple[tuple[str, ...], ...]
    read: Callable[[Reader], Any]


def openings(*texts: str) -> tuple[tuple[str, ...], ...]:
    """Split openings into words.

    >>> openings("CREATE TABLE", "")
    (('CREATE', 'TABLE'), ())
    """
    return tuple(tuple(text.split()) for text in texts)


def grammar_of(reader: Reader, grammars: Iterable[Grammar]) -> Grammar | None:
    """Return the grammar with the longest opening that matches the next words."""
    found, words = None, -1
    for grammar in grammars:
        for opening in grammar.openings:
            if len(opening) > words and reader.sees(*opening):
                found, words = grammar, len(opening)
    return found
