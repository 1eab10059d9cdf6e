"""Determines the kind of a statement from its first words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from table_format.sql.reader import Reader


@dataclass(frozen=True, slots=True)
class Grammar:
    """A family of statements: the words they begin with, and how they are read.

    ``read`` gets a reader at the first word, and gives a frozen dataclass. The longest opening that fits counts. An
    opening without words fits all that no other one fits.
    """

    openings: tuple[tuple[str, ...], ...]
    read: Callable[[Reader], Any]


def openings(*texts: str) -> tuple[tuple[str, ...], ...]:
    """Openings as they are written.

    >>> openings("CREATE TABLE", "")
    (('CREATE', 'TABLE'), ())
    """
    return tuple(tuple(text.split()) for text in texts)


def grammar_of(reader: Reader, grammars: Iterable[Grammar]) -> Grammar | None:
    """The grammar whose opening fits the words that come next, the longest if there are several."""
    found, words = None, -1
    for grammar in grammars:
        for opening in grammar.openings:
            if len(opening) > words and reader.sees(*opening):
                found, words = grammar, len(opening)
    return found
