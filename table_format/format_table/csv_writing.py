"""Writes CSV files that Java Paimon, Spark and this library read back with the same values.

Java does not escape the escape character itself, and loses it when it reads; here it is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.format_table.text_values import to_text
from table_format.model.arrow_calls import (
    arrow_array,
    binary_join,
    binary_join_element_wise,
    equal,
    if_else,
    list_array,
)
from table_format.model.types import DataField, TextType, VarCharType
from table_format.options.format_table import QUOTE, FormatTableOptions

_LINE_END: Final = "[\r\n]"


def csv_bytes(rows: pa.RecordBatch, fields: Sequence[DataField], options: FormatTableOptions) -> bytes:
    r"""Return the lines of rows.

    >>> from table_format.model.types import IntType, VarCharType
    >>> rows = pa.RecordBatch.from_pydict({"a": [1, None], "b": ["x,y", "a\\b"]})
    >>> csv_bytes(rows, [DataField(0, "a", IntType()), DataField(1, "b", VarCharType())], FormatTableOptions())
    b'1,"x,y"\n,"a\\\\b"\n'

    Raises:
        InvalidData: a text has an end of a line, or a character that the file cannot hold.
    """
    if not rows.num_rows:
        return b""
    texts = [_escaped(to_text(column, f.type), f, options) for f, column in zip(fields, rows.columns, strict=True)]
    if len(texts) == 1 and options.quote_character is not None:
        # Some readers, Spark among them, skip a line without any character.
        texts = [if_else(equal(texts[0], ""), pa.scalar(options.quote_character * 2), texts[0])]
    lines = binary_join_element_wise(*texts, options.field_delimiter) if len(texts) > 1 else texts[0]
    whole = list_array(arrow_array([0, len(lines)], pa.int32()), lines)
    joined: str = binary_join(whole, options.line_delimiter)[0].as_py()
    return f"{joined}{options.line_delimiter}".encode()


def header_bytes(fields: Sequence[DataField], options: FormatTableOptions) -> bytes:
    """Return the line with the names of the columns."""
    names = arrow_array([field.name for field in fields], pa.string())
    escaped = _escaped(names, DataField(0, "the names of the columns", VarCharType()), options)
    shown = cast("list[str]", escaped.to_pylist())
    return f"{options.field_delimiter.join(shown)}{options.line_delimiter}".encode()


def _escaped(texts: pa.Array, field: DataField, options: FormatTableOptions) -> pa.Array:
    """Quote texts where a reader needs it, and fill in nulls."""
    if isinstance(field.type, TextType):
        _refuse(texts, _LINE_END, f"column '{field.name}': a CSV file cannot hold the end of a line, as in ", "")
    return _quoted(texts, field, options).fill_null(options.null_literal)


def _quoted(texts: pa.Array, field: DataField, options: FormatTableOptions) -> pa.Array:
    delimiter, quote, escape = options.field_delimiter, options.quote_character, options.escape_character
    special = [c for c in (delimiter, quote, escape) if c is not None]
    pattern = f"[{''.join(map(re.escape, special))}]"
    if quote is None:
        advice = f"; set the option '{QUOTE.key}'"
        _refuse(texts, pattern, f"column '{field.name}': a file without quotes cannot hold ", advice)
        return texts
    needed = pc.or_kleene(pc.match_substring_regex(texts, pattern), pc.match_substring_regex(texts, r"^\s+$"))
    if not pc.any(needed).as_py():
        return texts
    inner = texts
    if escape is None:
        inner = pc.replace_substring(inner, quote, quote * 2)
    else:
        inner = pc.replace_substring(pc.replace_substring(inner, escape, escape * 2), quote, escape + quote)
    return if_else(needed, binary_join_element_wise(quote, inner, quote, ""), texts)


def _refuse(texts: pa.Array, pattern: str, start: str, end: str) -> None:
    found = pc.match_substring_regex(texts, pattern)
    if pc.any(found).as_py():
        text = texts[pc.index(found, value=True).as_py()].as_py()
        message = f"{start}{text!r}{end}; correct the value, or use a format table of Parquet, ORC or JSON files"
        raise InvalidData(message)
