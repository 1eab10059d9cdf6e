"""Converts keys of data files to values that Python can order (format chapter 06, section 5).

``DataFileMeta`` contains its first and last key as BinaryRows, which levels and sections compare. The order is that of
the merge kernel: null first, NaN after every number, -0.0 equal to 0.0, and text by code point, which is also the order
of its UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeAlias

from table_format.codecs.binary_row import deserialize_row, whole_number_reader
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.types import DataType, InternalValue

KeyPart: TypeAlias = tuple[int, bool | int | float | str | bytes | Decimal]
"""A rank (0 null, 1 value, 2 NaN) and the value, which is 0 for null and NaN."""

Key: TypeAlias = tuple[KeyPart, ...]
KeyRange: TypeAlias = tuple[Key, Key]
"""The first and the last key of a file."""

KeyRangeOf: TypeAlias = Callable[[DataFileMeta], KeyRange]


def key_ranges(schema: TableSchema) -> KeyRangeOf:
    """Return a function that returns the key range of a file of the table; it decodes each key only once."""
    types = tuple(f.type for f in schema.key_fields)
    known: dict[tuple[bytes, bytes], KeyRange] = {}
    quick = whole_number_reader(types)

    def decode(data: bytes, file: DataFileMeta) -> Key:
        numbers = None if quick is None else quick(data)
        return _decode(types, data, file) if numbers is None else tuple([(1, number) for number in numbers])

    def key_range(file: DataFileMeta) -> KeyRange:
        stored = (file.min_key, file.max_key)
        found = known.get(stored)
        if found is None:
            found = (decode(file.min_key, file), decode(file.max_key, file))
            known[stored] = found
        return found

    return key_range


def sort_key(values: Sequence[InternalValue]) -> Key:
    """Convert internal values of the key columns to a key that Python orders as the format does.

    >>> sort_key([1, "b"]) < sort_key([2, "a"]), sort_key([float("nan")]) > sort_key([float("inf")])
    (True, True)
    """
    return tuple(_part(value) for value in values)


def _part(value: InternalValue) -> KeyPart:
    if value is None:
        return (0, 0)
    if isinstance(value, float) and value != value:
        return (2, 0)
    return (1, value)


def _decode(types: tuple[DataType, ...], data: bytes, file: DataFileMeta) -> Key:
    return sort_key(deserialize_row(types, data, path=file.file_name))
