"""Converts types to and from their JSON form in schema files: text for scalars, objects for nested types.

Format chapter 02, section 2; Java ``org.apache.paimon.types.DataTypeJsonParser``. Exactly one form is written. The
parser is case-insensitive, ignores spaces, and accepts the synonyms of the Java parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NoReturn

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_SCALAR: Final = re.compile(
    r"""\s*(?P<name>[A-Z_]+(?:\s+PRECISION\b)?)\s*
    (?:\(\s*(?P<first>[0-9]{1,10})\s*(?:,\s*(?P<second>[0-9]{1,10})\s*)?\)\s*)?
    (?P<zone>WITH(?:OUT)?(?:\s+LOCAL)?\s+TIME\s+ZONE\s*)?
    (?P<null>(?:NOT\s+)?NULL)?\s*""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NESTED: Final = re.compile(r"\s*(?P<name>[A-Z_]+)\s*(?P<null>(?:NOT\s+)?NULL)?\s*", re.IGNORECASE | re.ASCII)
_UNSUPPORTED: Final = re.compile(r"\s*(VARIANT|BLOB|BLOB_REF|VECTOR|GEOMETRY|GEOGRAPHY)\b", re.IGNORECASE)

_PLAIN: Final[Mapping[str, type[DataType]]] = {
    "BOOLEAN": BooleanType,
    "TINYINT": TinyIntType,
    "SMALLINT": SmallIntType,
    "INT": IntType,
    "INTEGER": IntType,
    "BIGINT": BigIntType,
    "FLOAT": FloatType,
    "DOUBLE": DoubleType,
    "DOUBLE PRECISION": DoubleType,
    "DATE": DateType,
}
_LENGTH: Final[Mapping[str, Callable[[int], DataType]]] = {
    "CHAR": CharType,
    "VARCHAR": VarCharType,
    "BINARY": BinaryType,
    "VARBINARY": VarBinaryType,
}
_UNBOUNDED: Final[Mapping[str, type[VarCharType] | type[VarBinaryType]]] = {
    "STRING": VarCharType,
    "BYTES": VarBinaryType,
}


def type_json(t: DataType) -> str | dict[str, object]:
    """Return the JSON value of a type.

    >>> type_json(DecimalType(10, 2, nullable=False))
    'DECIMAL(10, 2) NOT NULL'
    >>> type_json(ArrayType(IntType()))
    {'type': 'ARRAY', 'element': 'INT'}
    """
    match t:
        case ArrayType(element=element):
            return {"type": _nested_name("ARRAY", t), "element": type_json(element)}
        case MultisetType(element=element):
            return {"type": _nested_name("MULTISET", t), "element": type_json(element)}
        case MapType(key=key, value=value):
            return {"type": _nested_name("MAP", t), "key": type_json(key), "value": type_json(value)}
        case RowType(fields=fields):
            return {"type": _nested_name("ROW", t), "fields": [field_json(f) for f in fields]}
    return str(t)


def field_json(field: DataField) -> dict[str, object]:
    """Return the JSON object of a column or of a field of a ROW."""
    members: dict[str, object] = {"id": field.id, "name": field.name, "type": type_json(field.type)}
    if field.description is not None:
        members["description"] = field.description
    if field.default_value is not None:
        members["defaultValue"] = field.default_value
    return members


def parse_type(value: object) -> DataType:
    """Parse the JSON form of a type.

    >>> parse_type("timestamp_ltz(3) not null")
    LocalZonedTimestampType(nullable=False, precision=3)

    Raises:
        InvalidSchema: the value is not a type of the format.
        UnsupportedFeature: the type belongs to a newer release (VARIANT, BLOB, VECTOR, ...).
    """
    if isinstance(value, str):
        return _parse_scalar(value)
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return _parse_nested(value)
    message = f"expected a type (text, or an object with 'type'), found {_shown(value)}"
    raise InvalidSchema(message)


def parse_field(value: object) -> DataField:
    """Parse the JSON form of a column; unknown members are ignored.

    Raises:
        InvalidSchema: a member is missing or has the wrong type.
        UnsupportedFeature: the type belongs to a newer release.
    """
    if not isinstance(value, Mapping):
        message = f"expected a field object, found {_shown(value)}"
        raise InvalidSchema(message)
    identifier, name = value.get("id"), value.get("name")
    if not isinstance(identifier, int) or isinstance(identifier, bool) or not isinstance(name, str):
        message = f"expected a field object with an integer 'id' and a text 'name', found {_shown(value)}"
        raise InvalidSchema(message)
    try:
        parsed = parse_type(value.get("type"))
    except UnsupportedFeature as error:
        message = f"column '{name}': {error}"
        raise UnsupportedFeature(error.feature, message) from error
    return DataField(
        id=identifier,
        name=name,
        type=parsed,
        description=_optional_text(value, "description"),
        default_value=_optional_text(value, "defaultValue"),
    )


def _optional_text(value: Mapping[str, object], member: str) -> str | None:
    text = value.get(member)
    if text is None or isinstance(text, str):
        return text
    message = f"field {_shown(value.get('name'))}: expected text as '{member}', found {_shown(text)}"
    raise InvalidSchema(message)


def _nested_name(name: str, t: DataType) -> str:
    return name if t.nullable else f"{name} NOT NULL"


def _parse_nested(value: Mapping[str, object]) -> DataType:
    text = str(value["type"])
    match = _NESTED.fullmatch(text)
    name = match["name"].upper() if match else ""
    nullable = match is None or not _says_not_null(match["null"])
    match name:
        case "ARRAY":
            return ArrayType(parse_type(value.get("element")), nullable=nullable)
        case "MULTISET":
            return MultisetType(parse_type(value.get("element")), nullable=nullable)
        case "MAP":
            return MapType(parse_type(value.get("key")), parse_type(value.get("value")), nullable=nullable)
        case "ROW":
            fields = value.get("fields")
            if not isinstance(fields, list):
                message = f"expected a list as 'fields' of a ROW, found {_shown(fields)}"
                raise InvalidSchema(message)
            return RowType(tuple(parse_field(f) for f in fields), nullable=nullable)
    return _refuse_unknown(text)


@lru_cache(maxsize=1024)  # a schema repeats a few types, and each opened table reads one
def _parse_scalar(text: str) -> DataType:
    match = _SCALAR.fullmatch(text)
    if match is None:
        _refuse_unknown(text)
    name = " ".join(match["name"].upper().split())
    arguments = tuple(int(a) for a in (match["first"], match["second"]) if a is not None)
    zone = " ".join((match["zone"] or "").upper().split())
    try:
        parsed = _scalar(name, arguments, zone)
    except ValueError as e:
        message = f"type {_shown(text)}: {e}"
        raise InvalidSchema(message) from e
    if parsed is None:
        _refuse_unknown(text)
    return parsed.with_nullable(not _says_not_null(match["null"]))


def _scalar(name: str, arguments: tuple[int, ...], zone: str) -> DataType | None:
    match name, arguments, zone:
        case "DECIMAL" | "NUMERIC" | "DEC", _, "":
            return DecimalType(*arguments)
        case "TIME", () | (_,), "" | "WITHOUT TIME ZONE":
            return TimeType(*arguments)
        case "TIMESTAMP", () | (_,), "" | "WITHOUT TIME ZONE":
            return TimestampType(*arguments)
        case ("TIMESTAMP", () | (_,), "WITH LOCAL TIME ZONE") | ("TIMESTAMP_LTZ", () | (_,), ""):
            return LocalZonedTimestampType(*arguments)
        case _, (length,), "" if name in _LENGTH and not 1 <= length <= MAX_LENGTH:
            message = f"the length must be 1 to {MAX_LENGTH}"
            raise ValueError(message)
        case _, () | (_,), "" if name in _LENGTH:
            return _LENGTH[name](*(arguments or (1,)))
        case _, (), "" if name in _UNBOUNDED:
            return _UNBOUNDED[name](MAX_LENGTH)
        case _, (), "" if name in _PLAIN:
            return _PLAIN[name]()
    return None


def _says_not_null(suffix: str | None) -> bool:
    return suffix is not None and suffix.upper().startswith("NOT")


def _refuse_unknown(text: str) -> NoReturn:
    if _UNSUPPORTED.match(text):
        feature = f"type {text.strip()[:100]}"
        raise UnsupportedFeature(feature)
    message = f"{_shown(text)} is not a type of the format"
    raise InvalidSchema(message)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
