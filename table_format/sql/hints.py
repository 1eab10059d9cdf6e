"""Reads the hint ``/*+ OPTIONS('key' = 'value') */`` after a table name: options for this statement only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from table_format.sql.reader import Reader, blank
from table_format.sql.words import fail_at, words_of

_HINT: Final = re.compile(r"/\*\+\s*OPTIONS\s*(?P<options>\(.*?\))\s*\*/", re.IGNORECASE | re.DOTALL)
_BEGINNING: Final = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)
_COMMENT: Final = re.compile(r"--[^\n]*|/\*|\*/")


def options_between(text: str, start: int, end: int) -> dict[str, str]:
    """Return the options of the hints in a part of the text that consists of comments and spaces.

    >>> options_between("t /*+ OPTIONS('scan.snapshot-id' = '1') */", 1, 43)
    {'scan.snapshot-id': '1'}

    Raises:
        InvalidSql: a hint cannot be parsed.
    """
    found: dict[str, str] = {}
    for begun in hints_between(text, start, end):
        hint = _HINT.match(text, begun, end)
        if hint is None:
            fail_at(text, begun, "expected /*+ OPTIONS('key' = 'value', ...) */")
        options = Reader.of(blank(text[: hint.start("options")]) + hint["options"])
        found.update(options.options())
        options.end()
    return found


def end_of_hints(text: str, start: int, end: int) -> int:
    """Return the end of the last hint in a part of the text that consists of comments and spaces, else its start."""
    *_, last = start, *hints_between(text, start, end)
    hint = _HINT.match(text, last, end)
    return start if hint is None else hint.end()


def hints_between(text: str, start: int, end: int) -> Iterator[int]:
    """Return the offsets of the hints in a part of the text that consists of comments and spaces.

    A hint in another comment is text.

    >>> list(hints_between("-- /*+ OPTIONS() */", 0, 19))
    []
    """
    depth = 0
    for mark in _COMMENT.finditer(text, start, end):
        if mark[0] == "*/":
            depth -= 1
        elif mark[0] == "/*":
            if depth == 0 and _BEGINNING.match(text, mark.start()):
                yield mark.start()
            depth += 1


def refuse_idle_hint(reader: Reader) -> None:
    """Refuse an OPTIONS hint that the statement, which the reader has read, does not use.

    Raises:
        UnsupportedFeature: the message names the place and the alternative.
    """
    at = hints_outside(reader.text, reader.passed_on)
    if at is not None:
        advice = (
            "write it directly after a table that a query reads or that INSERT writes, as in MERGE INTO t USING "
            "(SELECT * FROM s /*+ OPTIONS(...) */) AS s; to set options of a table itself, use ALTER TABLE ... SET "
            "TBLPROPERTIES"
        )
        reader.refuse("a hint of options here", advice, at)


def hints_outside(text: str, used: list[tuple[int, int]]) -> int | None:
    """Return the offset of the first hint outside the ranges ``used``, or ``None`` if there is none.

    A hint within quotes is text.
    """
    if _BEGINNING.search(text) is None:
        return None
    for start, end in _gaps(text):
        for begun in hints_between(text, start, end):
            if not any(first <= begun < last for first, last in used):
                return begun
    return None


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """Return the parts of the text between words."""
    before = 0
    for word in words_of(text):
        # After SELECT and similar words, the beginning of a hint is a word.
        yield before, word.end if word.says("/*+") else word.start
        before = word.end
    yield before, len(text)
