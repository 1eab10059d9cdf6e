"""Determines the kind of a statement from its first words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from table_format.sql.reader import Reader
from table_format.sql.words import Word


@dataclass(frozen=True, slots=True)
class Grammar:
    """A family of statements: the words they begin with, and the function that reads them.

    ``read`` takes a reader at the first word and returns a frozen dataclass. The longest opening that matches decides.
    An opening without words matches every statement that no other opening matches. With ``after_ctes``, common table
    expressions may precede the opening; ``read`` begins at their WITH.
    """

    openings: tuple[tuple[str, ...], ...]
    read: Callable[[Reader], Any]
    after_ctes: bool = False


def openings(*texts: str) -> tuple[tuple[str, ...], ...]:
    """Split openings into words.

    >>> openings("CREATE TABLE", "")
    (('CREATE', 'TABLE'), ())
    """
    return tuple(tuple(text.split()) for text in texts)


def grammar_of(reader: Reader, grammars: Iterable[Grammar]) -> Grammar | None:
    """Return the grammar with the longest opening that matches the next words."""
    found, words = None, -1
    verb = verb_after_ctes(reader.words) if reader.sees("WITH") else None
    for grammar in grammars:
        for opening in grammar.openings:
            if grammar.after_ctes and verb is not None and verb.says(opening[0]):
                return grammar
            if len(opening) > words and reader.sees(*opening):
                found, words = grammar, len(opening)
    return found


def verb_after_ctes(words: Sequence[Word]) -> Word | None:
    """Return the first word after the common table expressions, ``WITH name [(columns)] [AS] (query), ...``."""
    depth = 0
    for word, following in pairwise(words):
        depth += word.says("(") - word.says(")")
        if depth == 0 and word.says(")") and not any(following.says(part) for part in (",", "AS", "(")):
            return following
    return None
