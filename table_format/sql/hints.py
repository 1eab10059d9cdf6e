"""Reads the hint ``/*+ OPTIONS('key' = 'value') */`` after a table name: options for this statement only."""

from __future__ import annotations

import re
from typing import Final

from table_format.sql.reader import Reader, blank
from table_format.sql.words import fail_at

_HINT: Final = re.compile(r"/\*\+\s*OPTIONS\s*(?P<options>\(.*?\))\s*\*/", re.IGNORECASE | re.DOTALL)
_BEGINNING: Final = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)


def options_between(text: str, start: int, end: int) -> dict[str, str]:
    """Return the options of the hints in a part of the text that consists of comments and spaces.

    >>> options_between("t /*+ OPTIONS('scan.snapshot-id' = '1') */", 1, 43)
    {'scan.snapshot-id': '1'}

    Raises:
        InvalidSql: a hint cannot be parsed.
    """
    found: dict[str, str] = {}
    for begun in _BEGINNING.finditer(text, start, end):
        hint = _HINT.match(text, begun.start(), end)
        if hint is None:
            fail_at(text, begun.start(), "expected /*+ OPTIONS('key' = 'value', ...) */")
        options = Reader.of(blank(text[: hint.start("options")]) + hint["options"])
        found.update(options.options())
        options.end()
    return found


def refuse_idle_hint(reader: Reader) -> None:
    """Refuse an OPTIONS hint that the statement, which the reader has read, does not use.

    Raises:
        UnsupportedFeature: the message names the place and the alternative.
    """
    # A hint within quotes is text.
    quoted = [(word.start, word.end) for word in reader.words]
    at = hints_outside(reader.text, [*reader.passed_on, *quoted])
    if at is not None:
        advice = (
            "write it directly after a table that a query reads or that INSERT writes, as in MERGE INTO t USING "
            "(SELECT * FROM s /*+ OPTIONS(...) */) AS s; to set options of a table itself, use ALTER TABLE ... SET "
            "TBLPROPERTIES"
        )
        reader.refuse("a hint of options here", advice, at)


def hints_outside(text: str, used: list[tuple[int, int]]) -> int | None:
    """Return the offset of the first hint outside the ranges ``used``, or ``None`` if there is none."""
    for begun in _BEGINNING.finditer(text):
        if not any(start <= begun.start() < end for start, end in used):
            return begun.start()
    return None
