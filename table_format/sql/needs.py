"""Finds an upper bound of the columns that a query needs: the names that occur in it."""

from __future__ import annotations

from typing import Final

from table_format.sql.reader import Reader
from table_format.sql.words import WordKind

_ALL_COLUMNS: Final = frozenset({"PIVOT", "UNPIVOT", "NATURAL", "TABLE", "IDENTIFIER", "TRANSFORM"})
"""The first words of clauses that read columns without naming them."""


def named_columns(text: str) -> frozenset[str] | None:
    """Return the names in a query in lower case, or ``None`` if it may need a column that it does not name.

    >>> sorted(named_columns("SELECT a, count(*) FROM t WHERE `b c` = 1"))
    ['a', 'b c', 'count', 'from', 'select', 't', 'where']
    >>> named_columns("SELECT t.* FROM t") is None
    True
    """
    reader = Reader.of(text)
    found: set[str] = set()
    while (word := reader.word) is not None:
        if reader.sees("COUNT", "(", "*", ")"):
            found.add("count")
            reader.position += 4
            continue
        if word.text.upper() in _ALL_COLUMNS and word.kind is WordKind.NAME:
            return None
        if word.says("*") and not _multiplies(reader):
            return None
        if word.is_name or word.kind is WordKind.TEXT:
            # In some sessions, a text in double quotes is a name.
            found.add(word.text.lower())
        reader.position += 1
    return frozenset(found)


def _multiplies(reader: Reader) -> bool:
    """Return whether a star is a multiplication sign."""
    before = reader.words[reader.position - 1] if reader.position else None
    after = reader.words[reader.position + 1] if reader.position + 1 < len(reader.words) else None
    if before is None or after is None:
        return False
    if before.text.upper() in ("SELECT", "DISTINCT", "ALL") and before.kind is WordKind.NAME:
        return False
    ends_operand = before.is_name or before.kind in (WordKind.NUMBER, WordKind.TEXT) or before.says(")")
    begins_operand = after.kind is not WordKind.SYMBOL or after.says("(") or after.says("-") or after.says(":")
    return ends_operand and begins_operand and not after.says("FROM")
