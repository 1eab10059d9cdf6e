"""Default values of columns in SQL, and the text that a schema contains for them.

In SQL, every text has quotes. In a schema, a text within a nested value has none: other programs take the quotes as a
part of the value.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.default_values import default_of, is_plain
from table_format.model.types import ArrayType, DataField, DataType, MapType, RowType
from table_format.sql.reader import Reader
from table_format.sql.splices import text_literal

_FUNCTIONS: Final = ("ARRAY", "MAP", "STRUCT")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


def read_default(reader: Reader) -> str | None:
    """Read a default value: a literal, or ARRAY, MAP or STRUCT of such values. NULL is no default value: ``None``.

    >>> read_default(Reader.of("ARRAY('a', 'b')"))
    'ARRAY(a, b)'

    Raises:
        InvalidSql: the value is not a literal.
        UnsupportedFeature: a schema cannot contain the value.
    """
    if _sees_function(reader):
        return _nested(reader)
    text, value = _literal(reader)
    if value is None:
        return None
    return f"'{value}'" if isinstance(value, str) else text


def _sees_function(reader: Reader) -> bool:
    return any(reader.sees(name, "(") for name in _FUNCTIONS)


def _literal(reader: Reader) -> tuple[str, object]:
    """Read a literal. Return its text without spaces, and its value."""
    start = reader.offset
    is_parameter = reader.sees(":")
    value = reader.value()
    if is_parameter:
        return (str(value).lower() if isinstance(value, bool) else str(value)), value
    return reader.text[start : reader.last_end].replace(" ", ""), value


def _nested(reader: Reader) -> str:
    start = reader.offset
    function = reader.take_any(*_FUNCTIONS)
    parts = reader.in_parentheses(lambda: _part(reader))
    if function == "MAP" and "null" in parts:
        reader.refuse("NULL in the MAP(...) of a default value", "other programs fail to read it", start)
    return f"{function}({', '.join(parts)})"


def _part(reader: Reader) -> str:
    if _sees_function(reader):
        return _nested(reader)
    start = reader.offset
    text, value = _literal(reader)
    if value is None:
        return "null"
    if not isinstance(value, str):
        return text
    if not is_plain(value):
        advice = "other programs read another value: it is empty or null, or has a quote, comma, bracket or backslash"
        reader.refuse(f"the text {text_literal(value)} within a nested default value", advice, start)
    return value


def default_sql(field: DataField) -> str:
    """Return the default value of a column in SQL.

    >>> from table_format.model.types import VarCharType
    >>> default_sql(DataField(0, "a", ArrayType(VarCharType()), default_value="[a, b]"))
    "ARRAY('a', 'b')"
    """
    text = field.default_value or "NULL"
    try:
        found = default_of(field)
    except (InvalidSchema, UnsupportedFeature):
        return text
    return text if found is None else _sql(found.as_py(), field.type)


def _sql(value: Any, data_type: DataType) -> str:  # noqa: ANN401 - a value of the type
    if value is None:
        return "NULL"
    match data_type:
        case ArrayType(element=element):
            return f"ARRAY({', '.join(_sql(part, element) for part in value)})"
        case MapType(key=key, value=of_value):
            return f"MAP({', '.join(f'{_sql(k, key)}, {_sql(v, of_value)}' for k, v in value)})"
        case RowType(fields=fields):
            return f"STRUCT({', '.join(_sql(value[f.name], f.type) for f in fields)})"
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.microsecond:
        value = str(value).rstrip("0")
    is_number = not isinstance(value, str) and _NUMBER.fullmatch(str(value))
    return str(value) if is_number else text_literal(str(value))
