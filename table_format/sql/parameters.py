"""Replaces ``:name`` by a literal, for engine calls that take no parameters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from math import isfinite

from table_format.errors import UnsupportedFeature
from table_format.sql.splices import Edit, edited, text_literal
from table_format.sql.words import words_of


def with_parameters(text: str, parameters: Mapping[str, object]) -> str:
    """Return the text with literals in place of the given parameters.

    >>> with_parameters("k = :key AND v <> ':key'", {"key": 7})
    "k = 7 AND v <> ':key'"

    Raises:
        InvalidSql: a quote or a comment is not closed.
        UnsupportedFeature: a value cannot be written as a literal.
    """
    if not parameters:
        return text
    words = words_of(text)
    edits = [
        Edit(mark.start, name.end, literal(name.text, parameters[name.text]))
        for mark, name in pairwise(words)
        if mark.says(":") and name.is_name and name.start == mark.end and name.text in parameters
    ]
    return edited(text, edits)


def literal(name: str, value: object) -> str:
    """Return a value as a Spark SQL literal. ``name`` is the parameter, for the error.

    >>> literal("p", "x"), literal("p", None), literal("p", True), literal("p", 1 << 40), literal("p", 0.5)
    ("'x'", 'NULL', 'TRUE', '1099511627776L', '0.5D')

    Raises:
        UnsupportedFeature: a parameter cannot have the type of the value.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value) if -(1 << 31) <= value < 1 << 31 else f"{value}L"
        case float():
            return f"{value!r}D" if isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case str():
            return text_literal(value)
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"TIMESTAMP'{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE'{value.isoformat()}'"
        case _:
            feature = f"a parameter of type {type(value).__name__} in UPDATE, DELETE, MERGE and CREATE VIEW"
            message = f"{feature} is not supported: '{name}'; give a number, a text, bytes, a date or a time"
            raise UnsupportedFeature(feature, message)
