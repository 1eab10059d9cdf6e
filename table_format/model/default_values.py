"""Default values of columns, which replace nulls when rows are written (Java ``DefaultValueUtils``).

A schema contains a default value as the text of a literal, with or without quotes. The text is cast to the type of the
column. For nested types, it is ``ARRAY(...)``, ``MAP(key, value, ...)`` or ``STRUCT(...)`` with literals, or ``[...]``,
``{key -> value, ...}`` and ``{...}``. Texts within them have no quotes.

Java splits nested values at every comma and bracket, takes quotes for a part of a text, and accepts null only in lower
case, and not in ``MAP(...)``. What Java versions read differently, or not at all, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    SmallIntType,
    TextType,
    TimestampType,
    TinyIntType,
)

_NESTED: Final = {ArrayType: ("array", "[]"), MapType: ("map", "{}"), RowType: ("struct", "{}")}
_SPECIAL: Final = re.compile(r"""[\\,'"()\[\]{}<>]|->""")
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}
_NULL: Final = "null"
"""A null within a nested value."""
_NULL_MAP: Final = "NULL"

_BY_ARROW = (
    *(BooleanType, TinyIntType, SmallIntType, IntType, BigIntType, FloatType, DoubleType),
    *(DateType, TimestampType),
)


def default_of(field: DataField) -> pa.Scalar[Any] | None:
    """Return the default value of a column as an Arrow scalar; ``None`` if it has none.

    >>> default_of(DataField(0, "a", IntType(), default_value="'5'")).as_py()
    5

    Raises:
        InvalidSchema: the text is not a value of the type.
        UnsupportedFeature: this version does not support default values of the type.
    """
    text = field.default_value
    if text is None:
        return None
    if len(text) > 1 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    if isinstance(field.type, MapType) and text.strip().upper() == _NULL_MAP:
        return None
    try:
        return _converted(text, field.type)
    except (pa.ArrowInvalid, InvalidOperation) as error:
        message = (
            f"column '{field.name}': unsupported default value `{field.default_value}` for type {field.type}; "
            f"write one literal, such as {_example(field.type)}"
        )
        raise InvalidSchema(message) from error


def _example(data_type: DataType) -> str:
    match data_type:
        case ArrayType():
            return "ARRAY(1, 2)"
        case MapType():
            return "MAP(a, 1, b, 2), with texts without quotes"
        case RowType():
            return "STRUCT(1, a), with texts without quotes"
    return "5, 'text' or '2026-01-31'"


def is_plain(text: str) -> bool:
    """Return whether every program reads the text within a nested default value as the same text.

    >>> is_plain("two words"), is_plain("a,b"), is_plain("")
    (True, False, False)
    """
    return text not in ("", _NULL) and text == text.strip() and not _SPECIAL.search(text)


def _nested(text: str, data_type: ArrayType | MapType | RowType) -> object:
    function, brackets = _NESTED[type(data_type)]
    text = text.strip()
    call = re.fullmatch(rf"{function}\s*\((.*)\)", text, re.IGNORECASE | re.DOTALL)
    if call is None and not (text[:1] == brackets[0] and text[-1:] == brackets[1]):
        message = f"expected {function.upper()}(...)"
        raise pa.ArrowInvalid(message)
    content = text[1:-1] if call is None else call[1]
    parts = _split(content)
    match data_type:
        case ArrayType(element=element):
            return [_part(part, element) for part in parts]
        case MapType(key=key, value=value):
            if call is None:
                pairs = [tuple(part.split("->", 1)) for part in parts]
            else:
                pairs = [tuple(parts[i : i + 2]) for i in range(0, len(parts), 2)]
            found = [_pair(pair, key, value) for pair in pairs]
            if any(name is None for name, _ in found) or len({str(name) for name, _ in found}) < len(found):
                message = "a key is null or occurs twice"
                raise pa.ArrowInvalid(message)
            if call is not None and any(part is None for _, part in found):
                message = "other programs cannot read null in MAP(...); write {key -> null}"
                raise pa.ArrowInvalid(message)
            return found
        case RowType(fields=fields):
            parts = parts or [_NULL] * len(fields)
            if len(parts) != len(fields):
                message = f"expected {len(fields)} fields, found {len(parts)}"
                raise pa.ArrowInvalid(message)
            return {field.name: _part(part, field.type) for field, part in zip(fields, parts, strict=True)}


def _pair(pair: Sequence[str], key: DataType, value: DataType) -> tuple[object, object]:
    if len(pair) < 2:
        message = f"the key {pair[0]} has no value"
        raise pa.ArrowInvalid(message)
    return _part(pair[0], key), _part(pair[1], value)


def _part(text: str, data_type: DataType) -> object:
    text = text.strip()
    if text == _NULL:
        if not data_type.nullable:
            message = f"null for {data_type}"
            raise pa.ArrowInvalid(message)
        return None
    if isinstance(data_type, ArrayType | MapType | RowType):
        return _nested(text, data_type)
    if isinstance(data_type, FloatType | DoubleType):
        text = text.rstrip("dDfF")
    if not is_plain(text):
        message = f"other programs read '{text}' differently: it is empty, or has a quote, comma, bracket or backslash"
        raise pa.ArrowInvalid(message)
    return _converted(text, data_type).as_py()


def _split(content: str) -> list[str]:
    """Split a text at the commas outside of brackets."""
    parts, start, depth = [], 0, 0
    for place, character in enumerate(content):
        is_arrow = character == ">" and content[place - 1 : place] == "-"
        depth += 0 if is_arrow else _BRACKETS.get(character, 0)
        if character == "," and depth == 0:
            parts.append(content[start:place])
            start = place + 1
    parts.append(content[start:])
    return parts if len(parts) > 1 or parts[0].strip() else []


def _converted(text: str, data_type: DataType) -> pa.Scalar[Any]:
    target = arrow_type(data_type)
    match data_type:
        case TextType() if len(text) > data_type.length:
            message = f"{len(text)} characters"
            raise pa.ArrowInvalid(message)
        case BytesType() if len(text.encode()) > data_type.length:
            message = f"{len(text.encode())} bytes"
            raise pa.ArrowInvalid(message)
        case TextType() | BytesType():
            return pa.scalar(text).cast(target)
        case DecimalType():
            return pa.scalar(Decimal(text), target)
        case ArrayType() | MapType() | RowType():
            return pa.scalar(_nested(text, data_type), target)
    if isinstance(data_type, _BY_ARROW):
        return pa.scalar(text).cast(target)
    feature = f"a default value of type {data_type}"
    raise UnsupportedFeature(feature)
