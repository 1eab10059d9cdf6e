"""Reads the SQL types of columns, in the syntax of Spark or Flink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from table_format.counted import counted
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
from table_format.sql.reader import Reader

_PLAIN: Final[Mapping[str, DataType]] = {
    "BOOLEAN": BooleanType(),
    "TINYINT": TinyIntType(),
    "BYTE": TinyIntType(),
    "SMALLINT": SmallIntType(),
    "SHORT": SmallIntType(),
    "INT": IntType(),
    "INTEGER": IntType(),
    "BIGINT": BigIntType(),
    "LONG": BigIntType(),
    "FLOAT": FloatType(),
    "REAL": FloatType(),
    "DATE": DateType(),
    "STRING": VarCharType(MAX_LENGTH),
    "BYTES": VarBinaryType(MAX_LENGTH),
    "TIMESTAMP_NTZ": TimestampType(6),
}
_DEFAULT_PRECISION: Final = 6


def is_flink(reader: Reader) -> bool:
    """Return whether a statement uses the syntax of Flink, where TIMESTAMP has no time zone and BINARY is one byte.

    ``PRIMARY KEY ... NOT ENFORCED`` and ``WITH (...)`` occur only in Flink.
    """
    pairs = zip(reader.words, reader.words[1:], strict=False)
    return any((a.says("NOT") and b.says("ENFORCED")) or (a.says("WITH") and b.says("(")) for a, b in pairs)


def read_type(reader: Reader, *, flink: bool = False) -> DataType:
    """Read a type. It admits nulls unless ``NOT NULL`` follows it.

    Raises:
        InvalidSql: the next words are not a type.
        UnsupportedFeature: the format does not have this type.
    """
    found = _type(reader, flink=flink)
    if reader.take("NOT", "NULL"):
        return found.with_nullable(False)
    reader.take("NULL")
    return found


def _type(reader: Reader, *, flink: bool) -> DataType:
    start = reader.offset
    name = reader.name("a type").upper()
    match name:
        case "DOUBLE":
            reader.take("PRECISION")
            return DoubleType()
        case "DECIMAL" | "DEC" | "NUMERIC":
            return _made(reader, start, DecimalType, _numbers(reader, 2))
        case "CHAR" | "CHARACTER":
            return CharType(*_length(reader, name, start))
        case "VARCHAR":
            return VarCharType(*_length(reader, name, start))
        case "VARBINARY":
            return VarBinaryType(*_length(reader, name, start))
        case "BINARY":
            length = _length(reader, name, start)
            return BinaryType(*length) if flink or length else VarBinaryType(MAX_LENGTH)
        case "TIME":
            return _without_zone(reader, _made(reader, start, TimeType, _numbers(reader, 1)))
        case "TIMESTAMP":
            return _timestamp(reader, start, flink=flink)
        case "TIMESTAMP_LTZ":
            precision = _numbers(reader, 1) or (_DEFAULT_PRECISION,)
            return _made(reader, start, LocalZonedTimestampType, precision)
        case "ARRAY" | "MULTISET" | "MAP" | "STRUCT" | "ROW":
            return _nested(reader, name, flink=flink)
    if name not in _PLAIN:
        reader.refuse(f"type {name}", "see docs/sql.md for the types of columns", start)
    return _PLAIN[name]


def _made(reader: Reader, start: int, kind: Callable[..., DataType], numbers: tuple[int, ...]) -> DataType:
    """Return a type with its precision and scale, or fail where it starts: it does not take these numbers."""
    try:
        return kind(*numbers)
    except ValueError as error:
        reader.fail(str(error), start)


def _length(reader: Reader, name: str, start: int) -> tuple[int, ...]:
    found = _numbers(reader, 1)
    if found and not 1 <= found[0] <= MAX_LENGTH:
        reader.fail(f"{name}({found[0]}): the length must be 1 to {MAX_LENGTH}", start)
    return found


def _numbers(reader: Reader, count: int) -> tuple[int, ...]:
    start = reader.offset
    found = tuple(reader.in_parentheses(reader.whole_number)) if reader.sees("(") else ()
    if len(found) > count:
        reader.fail(f"expected at most {counted(count, 'number')}", start)
    return found


def _timestamp(reader: Reader, start: int, *, flink: bool) -> DataType:
    numbers = _numbers(reader, 1)
    precision = numbers or (_DEFAULT_PRECISION,)
    if reader.take("WITH", "LOCAL", "TIME", "ZONE"):
        return _made(reader, start, LocalZonedTimestampType, precision)
    if reader.take("WITHOUT", "TIME", "ZONE") or flink or numbers:
        return _made(reader, start, TimestampType, precision)
    if reader.sees("WITH", "TIME", "ZONE"):
        reader.refuse("TIMESTAMP WITH TIME ZONE", "use TIMESTAMP WITH LOCAL TIME ZONE")
    # Spark's TIMESTAMP is an instant.
    return LocalZonedTimestampType(*precision)


def _without_zone(reader: Reader, found: DataType) -> DataType:
    reader.take("WITHOUT", "TIME", "ZONE")
    return found


def _nested(reader: Reader, name: str, *, flink: bool) -> DataType:
    reader.expect("<")
    match name:
        case "ARRAY":
            found: DataType = ArrayType(read_type(reader, flink=flink))
        case "MULTISET":
            found = MultisetType(read_type(reader, flink=flink))
        case "MAP":
            key = read_type(reader, flink=flink)
            reader.expect(",")
            found = MapType(key.with_nullable(False), read_type(reader, flink=flink))
        case _:
            fields = [_field(reader, 0, flink=flink)]
            while reader.take(","):
                fields.append(_field(reader, len(fields), flink=flink))
            found = RowType(tuple(fields))
    reader.expect(">")
    return found


def _field(reader: Reader, number: int, *, flink: bool) -> DataField:
    name = reader.name("the name of a field")
    reader.take(":")
    data_type = read_type(reader, flink=flink)
    return DataField(number, name, data_type, description=read_comment(reader))


def read_comment(reader: Reader) -> str | None:
    """Read ``COMMENT 'text'``. In a ROW of Flink, the text stands alone."""
    if reader.take("COMMENT"):
        return reader.string()
    return reader.string() if reader.word is not None and reader.word.kind.value == "text" else None


def column_type(text: str) -> DataType:
    """Parse a type from a text such as ``DECIMAL(10, 2) NOT NULL``.

    >>> str(column_type("decimal(10,2) not null"))
    'DECIMAL(10, 2) NOT NULL'

    Raises:
        InvalidSql: the text is not a type.
        UnsupportedFeature: the format does not have this type.
    """
    reader = Reader.of(text)
    found = read_type(reader)
    reader.end()
    return found
