"""Translates the syntax of Flink into that of Spark: UNNEST, ``ARRAY[...]``, ``ROW(...)`` and types with ROW.

Each is translated only where it has no other meaning in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from table_format.sql.reader import Reader
from table_format.sql.splices import Edit

_NESTING: Final = ("ARRAY", "MAP", "ROW", "STRUCT", "MULTISET")


def respellings(text: str) -> tuple[Edit, ...]:
    """Return the edits that Spark needs to parse the query.

    >>> [edit.text for edit in respellings("SELECT s FROM t, UNNEST(t.items) AS u(s, n)")]
    ['LATERAL inline']

    Raises:
        InvalidSql: a parenthesis is not closed.
    """
    reader = Reader.of(text)
    return (*row_types(reader), *_constructors(reader), *_unnests(reader))


def row_types(reader: Reader) -> Iterator[Edit]:
    """Return the edits of ``ROW<`` in a type after AS, as in ``CAST(x AS ARRAY<ROW<a INT>>)``."""
    for start, word in enumerate(reader.words):
        if not word.says("AS"):
            continue
        reader.position = start + 1
        if not any(reader.sees(name, "<") for name in _NESTING):
            continue
        depth = 0
        while (inner := reader.word) is not None:
            if inner.says("ROW") and reader.sees("ROW", "<"):
                yield Edit(inner.start, inner.end, "STRUCT")
            depth += inner.says("<") - inner.says(">")
            reader.position += 1
            if depth == 0 and inner.says(">"):
                break


def _constructors(reader: Reader) -> Iterator[Edit]:
    reader.position = 0
    while (word := reader.word) is not None:
        if reader.sees("ROW", "("):
            yield Edit(word.start, word.end, "struct")
        elif reader.sees("ARRAY", "[") and (closing := _closing(reader)) is not None:
            opening = reader.words[reader.position + 1]
            yield Edit(word.start, opening.end, "array(")
            yield Edit(closing, closing + 1, ")")
        reader.position += 1


def _closing(reader: Reader) -> int | None:
    """Return the offset of the bracket that closes ``ARRAY[``; ``None`` if this may be an element of a column
    ``ARRAY``.
    """
    depth, commas = 0, 0
    for word in reader.words[reader.position + 1 :]:
        depth += word.says("[") + word.says("(") - word.says("]") - word.says(")")
        commas += word.says(",") and depth == 1
        if depth == 0:
            several = commas > 0 or reader.sees("ARRAY", "[", "ROW", "(")
            return word.start if several else None
    return None


def _unnests(reader: Reader) -> Iterator[Edit]:
    for number, word in enumerate(reader.words):
        if not word.says("UNNEST"):
            continue
        reader.position = number + 1
        if not reader.sees("(") or number == 0:
            continue
        before = reader.words[number - 1]
        reader.skip_parentheses()
        if reader.sees("WITH", "ORDINALITY"):
            reader.refuse("UNNEST ... WITH ORDINALITY", "use LATERAL posexplode(...)")
        function = "explode" if _names_one_column(reader) else "inline"
        yield Edit(word.start, word.end, function if before.says("LATERAL") else f"LATERAL {function}")


def _names_one_column(reader: Reader) -> bool:
    reader.take("AS")
    if reader.word is None or not reader.word.is_name:
        return False
    reader.position += 1
    return reader.sees("(") and len(reader.in_parentheses(lambda: reader.name("a column"))) == 1
