"""Reads the types of columns that the Hive metastore writes (Java ``HiveTypeUtils``). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_format.errors import UnsupportedFeature
from table_format.model.types import (
    ArrayType,
    BigIntType,
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
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_KIND: Final = exp.DType
_SIMPLE: Final[Mapping[exp.DType, Callable[[], DataType]]] = {
    _KIND.BOOLEAN: BooleanType,
    _KIND.TINYINT: TinyIntType,
    _KIND.SMALLINT: SmallIntType,
    _KIND.INT: IntType,
    _KIND.BIGINT: BigIntType,
    _KIND.FLOAT: FloatType,
    _KIND.DOUBLE: DoubleType,
    _KIND.TEXT: VarCharType,
    _KIND.BINARY: VarBinaryType,
    _KIND.DATE: DateType,
    # The metastore does not write the precision of a time.
    _KIND.TIMESTAMP: lambda: TimestampType(3),
    _KIND.TIMESTAMPLTZ: lambda: LocalZonedTimestampType(6),
}


def parse_hive_type(text: str, column: str) -> DataType:
    """Return the type of a column.

    >>> str(parse_hive_type("array<decimal(10,2)>", "prices"))
    'ARRAY<DECIMAL(10, 2)>'

    Raises:
        UnsupportedFeature: there is no such type here, such as for ``uniontype``.
    """
    try:
        return _type(exp.DataType.build(text, dialect="hive"))
    except (SqlglotError, _Unknown) as error:
        feature = f"Hive type '{text}'"
        raise UnsupportedFeature(feature, f"column '{column}' has the type '{text}', which is not supported") from error


class _Unknown(Exception):
    """A type that this library does not have."""


def _type(parsed: exp.Expr | None) -> DataType:
    if not isinstance(parsed, exp.DataType):
        raise _Unknown
    kind, parts = parsed.this, parsed.expressions
    if kind in _SIMPLE:
        return _SIMPLE[kind]()
    match kind:
        case _KIND.CHAR:
            return CharType(*_numbers(parts))
        case _KIND.VARCHAR:
            return VarCharType(*_numbers(parts))
        case _KIND.DECIMAL:
            return DecimalType(*_numbers(parts))
        case _KIND.ARRAY if len(parts) == 1:
            return ArrayType(_type(parts[0]))
        case _KIND.MAP if len(parts) == 2:
            return MapType(_type(parts[0]), _type(parts[1]))
        case _KIND.STRUCT:
            return RowType(tuple(DataField(n, part.name, _type(part.args["kind"])) for n, part in enumerate(parts)))
    raise _Unknown


def _numbers(parameters: Sequence[exp.Expr]) -> Sequence[int]:
    return [int(parameter.name) for parameter in parameters]
