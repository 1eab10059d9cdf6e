"""What can be in a file index: which types of it have names, and which values they take (format chapter 09)."""

from __future__ import annotations

from typing import Final

from table_format.model.types import (
    BigIntType,
    BinaryType,
    CharType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

BLOOM_FILTER: Final = "bloom-filter"

_HASHED: Final = (
    CharType,
    VarCharType,
    BinaryType,
    VarBinaryType,
    TinyIntType,
    SmallIntType,
    IntType,
    BigIntType,
    FloatType,
    DoubleType,
    DateType,
    TimeType,
    TimestampType,
    LocalZonedTimestampType,
)
MAX_BLOOM_BITS: Final = 2**31 - 8
"""Bits are numbered by Java's ``int``."""


def has_fast_hash(data_type: DataType) -> bool:
    """Whether values of a type have the hash of bloom filters: all but BOOLEAN, DECIMAL and types with parts.

    >>> has_fast_hash(IntType()), has_fast_hash(VarCharType())
    (True, True)
    """
    return isinstance(data_type, _HASHED)


def map_key_of(column: str) -> tuple[str, str] | None:
    """The map column and the key that ``m[key]`` names, which is an index over the values of that key.

    >>> map_key_of("m[a]"), map_key_of("m")
    (('m', 'a'), None)
    """
    name, bracket, key = column.partition("[")
    return (name, key[:-1]) if bracket and key.endswith("]") else None
