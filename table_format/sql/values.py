"""Replaces DEFAULT in ``VALUES (1, DEFAULT)`` and ``SELECT 1, DEFAULT``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from table_format.sql.reader import Reader
from table_format.sql.splices import Edit, edited

NO_DEFAULT = "NULL"


def without_defaults(query: str, defaults: Sequence[str] = ()) -> str:
    """Replace each DEFAULT in the rows of an INSERT by the text of the default value, or by NULL if there is none.

    >>> without_defaults("VALUES (1, DEFAULT), (DEFAULT, f(2))", ["7"])
    'VALUES (1, NULL), (7, f(2))'
    >>> without_defaults("SELECT DEFAULT, 1", ["7"])
    'SELECT 7, 1'
    """
    reader = Reader.of(query)
    if reader.sees("VALUES"):
        return edited(query, _edits(reader, defaults))
    return edited(query, _edits_of_select(reader, defaults)) if reader.sees("SELECT") else query


def _edits_of_select(reader: Reader, defaults: Sequence[str]) -> Iterator[Edit]:
    """Return the edits of a SELECT without FROM. With FROM, DEFAULT may be the name of a column."""
    words = reader.words
    if any(word.says("FROM") for word in words):
        return
    depth = number = 0
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        depth += word.says("(") - word.says(")")
        is_whole = before.text.upper() in ("SELECT", ",") and (after is None or after.says(","))
        if depth == 0 and word.says("DEFAULT") and is_whole:
            yield Edit(word.start, word.end, defaults[number] if number < len(defaults) else NO_DEFAULT)
        number += depth == 0 and word.says(",")


def _edits(reader: Reader, defaults: Sequence[str]) -> Iterator[Edit]:
    words = reader.words
    depth = number = 0
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        if word.says("("):
            depth += 1
            number = 0 if depth == 1 else number
        elif word.says(")"):
            depth -= 1
        elif word.says(",") and depth == 1:
            number += 1
        elif word.says("DEFAULT") and depth == 1 and before.text in ("(", ",") and after and after.text in (")", ","):
            yield Edit(word.start, word.end, defaults[number] if number < len(defaults) else NO_DEFAULT)
