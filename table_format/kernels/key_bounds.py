"""Reads the key of a single row from columns, and finds the position of a key in a sorted batch.

Key columns are NOT NULL (format chapter 06, section 5); their order is that of ``key_words``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.counted import counted
from table_format.errors import InvalidData
from table_format.kernels.compiled import Int64Array
from table_format.kernels.key_words import bytes_of, integers, is_bytes, wide_decimal_item

KeyPart: TypeAlias = int | bytes
Key: TypeAlias = tuple[KeyPart, ...]


class _Column(Protocol):
    """A key column of one sorted batch."""

    def item(self, row: int) -> Any: ...  # noqa: ANN401 - int or bytes, the same in one column

    def range_of(self, value: Any, first: int, end: int) -> tuple[int, int]:  # noqa: ANN401
        """Return the start and end of the rows equal to ``value`` within a range that is sorted by this column."""
        ...


@dataclass(frozen=True, slots=True)
class _Integers:
    values: Int64Array

    def item(self, row: int) -> int:
        return int(self.values[row])

    def range_of(self, value: int, first: int, end: int) -> tuple[int, int]:
        part = self.values[first:end]
        typed = np.int64(value)
        return first + int(np.searchsorted(part, typed, "left")), first + int(np.searchsorted(part, typed, "right"))


@dataclass(frozen=True, slots=True)
class _Bytes:
    offsets: npt.NDArray[Any]
    data: memoryview

    def item(self, row: int) -> bytes:
        return bytes(self.data[self.offsets[row] : self.offsets[row + 1]])

    def range_of(self, value: bytes, first: int, end: int) -> tuple[int, int]:
        return _range_of(self, value, first, end)


@dataclass(frozen=True, slots=True)
class _WideDecimals:
    array: pa.Array

    def item(self, row: int) -> int:
        return wide_decimal_item(self.array, row)

    def range_of(self, value: int, first: int, end: int) -> tuple[int, int]:
        return _range_of(self, value, first, end)


def _range_of(column: _Column, value: Any, first: int, end: int) -> tuple[int, int]:  # noqa: ANN401
    rows = range(end)
    left = bisect_left(rows, value, first, end, key=column.item)
    return left, bisect_right(rows, value, left, end, key=column.item)


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """The key columns of a batch that is sorted by key."""

    columns: tuple[_Column, ...]
    row_count: int

    def key(self, row: int) -> Key:
        """Return the key of one row, comparable with the keys of other batches of the same columns."""
        return tuple(column.item(row) for column in self.columns)

    def count_up_to(self, bound: Key, first: int = 0) -> int:
        """Return the number of rows from the start of the batch with keys up to ``bound``; at least ``first``."""
        left, right = first, self.row_count
        for column, value in zip(self.columns, bound, strict=True):
            left, right = column.range_of(value, left, right)
        return right


def sorted_keys(batch: pa.RecordBatch, key_columns: Sequence[str]) -> SortedKeys:
    """Return the key columns of a batch, which must be sorted by key.

    Raises:
        InvalidData: a key column is missing, contains nulls, or has a type that cannot be a key.
    """
    return SortedKeys(tuple(_column(key_array(batch, name)) for name in key_columns), batch.num_rows)


def key_array(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a key column.

    Raises:
        InvalidData: the column is missing or contains nulls.
    """
    at = batch.schema.get_field_index(name)
    if at < 0:
        message = f"key column '{name}' is missing; the columns are {', '.join(batch.schema.names)}"
        raise InvalidData(message)
    array = batch.column(at)
    if array.null_count:
        message = f"key column '{name}' holds {counted(array.null_count, 'null')}; key columns are NOT NULL"
        raise InvalidData(message)
    return array


def _column(array: pa.Array) -> _Column:
    values = integers(array)
    if values is not None:
        return _Integers(values)
    if is_bytes(array.type):
        offsets, data = bytes_of(array)
        return _Bytes(offsets, data.data)
    if pa.types.is_decimal128(array.type):
        return _WideDecimals(array)
    message = f"a column of type {array.type} cannot be a key"
    raise InvalidData(message)
