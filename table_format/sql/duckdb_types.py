"""Which columns of DuckDB a view may show as columns of its declared types."""

from __future__ import annotations

from typing import Final

from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    FloatingType,
    IntegerType,
    MapType,
    MultisetType,
    RowType,
    TextType,
    TimeType,
)

_INTEGERS: Final = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_UNSIGNED: Final = ("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint")
_TIMESTAMPS: Final = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone")
_KINDS: Final[tuple[tuple[tuple[type[DataType], ...], tuple[str, ...]], ...]] = (
    ((IntegerType, FloatingType, DecimalType), (*_INTEGERS, *_UNSIGNED, "float", "double", "decimal")),
    ((TextType,), ("varchar",)),
    ((BytesType,), ("blob",)),
    ((BooleanType,), ("boolean",)),
    ((TimeType,), ("time",)),
    ((DateType, AnyTimestampType), ("date", *_TIMESTAMPS)),
    ((ArrayType,), ("list", "array")),
    ((MapType, MultisetType), ("map",)),
    ((RowType,), ("struct",)),
)
_KNOWN: Final = frozenset(name for _, names in _KINDS for name in names)


def is_same_kind(declared: DataType, found: str) -> bool:
    """Return whether a column of DuckDB's type ``found`` may be a column of a declared type.

    DuckDB computes with other types of one kind than Spark: the sum of INT is a HUGEINT, and a DATE with an interval is
    a TIMESTAMP. A type that tables do not have, such as UUID, is taken for the declared one.

    >>> from table_format.model.types import BigIntType
    >>> [is_same_kind(BigIntType(), found) for found in ("hugeint", "date", "uuid")]
    [True, False, True]
    """
    return found not in _KNOWN or any(isinstance(declared, types) and found in names for types, names in _KINDS)
