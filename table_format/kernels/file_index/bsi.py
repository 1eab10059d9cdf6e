"""Bit-slice indexes (format chapter 09, section 5; Java ``BitSliceIndexBitmapFileIndex``), version 1.

Non-negative values and the magnitudes of negative values have separate slices.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from table_format.counted import counted
from table_format.kernels.aggregates.buffers import numbers, validity
from table_format.kernels.file_index.bit_slices import BitSlices, stored_slices
from table_format.kernels.file_index.conditions import Condition, KeyRange, SoughtValues, selected_rows
from table_format.kernels.file_index.keys import Ints, Key, have_keys, keys_of
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.results import IndexResult
from table_format.kernels.file_index.row_bitmaps import Mask, Parts, read_rows, stored_length, stored_mask
from table_format.model.file_index import keeps_keys
from table_format.model.types import DataType
from table_format.options.index_types import BIT_SLICES, IndexDeclaration

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">bi")
_SLICES_HEAD: Final = struct.Struct(">bqq")
_INT: Final = struct.Struct(">i")
_NOTHING: Final = b"\0"
"""The stored range of a sign that no row has."""
_SMALLEST: Final = -(2**63)
"""The smallest number, which the format cannot store, because its magnitude does not fit into 64 bits."""
_FEW_VALUES: Final = 16
"""At most this many values are looked up; if there are more, only values out of range are excluded."""


class BsiBuilder:
    """Builds the index of one column."""

    def __init__(self, data_type: DataType) -> None:
        self._type = data_type
        self._keys: list[Ints] = []
        self._present: list[Mask] = []
        self._is_possible = True

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows, an array of the column's ``arrow_type`` with nulls."""
        self._is_possible &= have_keys(column, self._type)
        keys = keys_of(column, self._type)
        self._keys.append(numbers(keys, np.int64))
        self._present.append(validity(keys))

    def finish(self) -> bytes | None:
        """Return the index of all added values; ``None`` if the format cannot store one of them."""
        keys = np.concatenate([np.empty(0, np.int64), *self._keys])
        present = np.concatenate([np.empty(0, np.bool_), *self._present])
        if not present.all():
            keys = np.where(present, keys, np.int64(0))
        smallest = int(keys.min(initial=0))
        if not self._is_possible or smallest == _SMALLEST:
            return None
        head = _HEAD.pack(_VERSION, len(keys))
        if smallest == 0:
            return b"".join([head, *_stored(keys, present), _NOTHING])
        is_negative = keys < 0
        above, below = np.maximum(keys, 0), -np.minimum(keys, 0)
        return b"".join([head, *_stored(above, present & ~is_negative), *_stored(below, is_negative)])


def _stored(magnitudes: Ints, present: Mask) -> Parts:
    """Return the slices of one sign; rows with the other sign have the magnitude 0."""
    if not present.any():
        return [_NOTHING]
    largest = int(magnitudes.max())
    slices = stored_slices(magnitudes, largest.bit_length())
    # As in Java, the smallest magnitude is always stored as 0.
    head = b"\1" + _SLICES_HEAD.pack(_VERSION, 0, largest)
    return [head, stored_mask(present), _INT.pack(len(slices)), *chain.from_iterable(slices)]


@dataclass(frozen=True, slots=True)
class NumberAggregates:
    """The aggregates of all or some non-null rows of a file; extremes are ``None`` if there are no such rows.

    Numbers are keys of the index; ``keys.value_of_key`` converts them to values.
    """

    count: int
    total: int
    minimum: int | None
    maximum: int | None


@dataclass(frozen=True, slots=True)
class _Magnitudes:
    """The slices of the magnitudes of one sign, relative to the smallest magnitude."""

    rows: BitMap
    slices: BitSlices
    smallest: int
    largest: int

    def between(self, low: int | None, high: int | None) -> BitMap:
        if not self.rows or (low is not None and low > self.largest) or (high is not None and high < self.smallest):
            return BitMap()
        if low is not None and low == high:
            return self.slices.equal(low - self.smallest)
        found = self.rows if low is None else self.slices.at_least(low - self.smallest)
        return found if high is None or high >= self.largest else found & self.slices.at_most(high - self.smallest)

    def total(self, rows: BitMap) -> int:
        return self.slices.total(rows) + self.smallest * len(rows)


class BsiReader:
    """Reads an index; slices are decoded on demand."""

    def __init__(self, row_count: int, positive: _Magnitudes, negative: _Magnitudes) -> None:
        self._row_count = row_count
        self._positive = positive
        self._negative = negative
        self._not_null = positive.rows | negative.rows

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return the rows that match a condition on the column.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        return selected_rows(condition, self._row_count, lambda: self._not_null, self._within)

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return, for each of many values, whether a row of the file may be equal to it.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        if len(values) <= _FEW_VALUES:
            return np.array([bool(self._within(KeyRange(key, key))) for key in values.keys], np.bool_)
        keys = np.array(values.keys, np.int64)
        found: npt.NDArray[np.bool_] = (keys >= -self._negative.largest) & (keys <= self._positive.largest)
        return found

    def aggregate(self, rows: BitMap | None = None) -> NumberAggregates:
        """Return the count, sum, minimum and maximum of the keys of these rows, or of all rows."""
        rows = self._not_null if rows is None else rows & self._not_null
        above, below = rows & self._positive.rows, rows & self._negative.rows
        total = self._positive.total(above) - self._negative.total(below)
        return NumberAggregates(len(rows), total, self._minimum(above, below), self._maximum(above, below))

    @property
    def not_null(self) -> BitMap:
        """The rows that have a value; the set must not be changed."""
        return self._not_null

    def best_rows(self, rows: BitMap, count: int, *, largest: bool) -> Iterator[tuple[list[int], list[Key]]]:
        """Yield at most ``count`` of ``rows`` with the largest or smallest keys, and the keys, in no particular order.

        Each of the rows must have a value.
        """
        for magnitudes, sign in ((self._positive, 1), (self._negative, -1))[:: 1 if largest else -1]:
            found = magnitudes.slices.best(rows & magnitudes.rows, count, largest=largest == (sign > 0))
            count -= len(found)
            keys = sign * (magnitudes.slices.numbers(found) + magnitudes.smallest)
            yield list(found), keys.tolist()

    def _minimum(self, above: BitMap, below: BitMap) -> int | None:
        if below:
            return -(self._negative.slices.largest(below) + self._negative.smallest)
        return self._positive.slices.smallest(above) + self._positive.smallest if above else None

    def _maximum(self, above: BitMap, below: BitMap) -> int | None:
        if above:
            return self._positive.slices.largest(above) + self._positive.smallest
        return -(self._negative.slices.smallest(below) + self._negative.smallest) if below else None

    def _within(self, keys: KeyRange) -> BitMap:
        low, high = keys.low, keys.high
        assert not isinstance(low, bytes) and not isinstance(high, bytes)  # noqa: S101, PT018 - text has no slices
        found = BitMap()
        if high is None or high >= 0:
            found |= self._positive.between(None if low is None else max(low, 0), high)
        if low is None or low < 0:
            found |= self._negative.between(None if high is None else max(-high, 1), None if low is None else -low)
        return found


@dataclass(frozen=True, slots=True)
class BitSliceIndexes:
    """The index type ``bsi``."""

    declaration: IndexDeclaration = BIT_SLICES
    finds_rows: bool = True

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Return whether an index on values of type ``stored`` is valid for the same values read as ``wanted``."""
        return keeps_keys(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> BsiBuilder:  # noqa: ARG002
        """Start the index of a column; ``settings`` are its options by name."""
        return BsiBuilder(data_type)

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:  # noqa: ARG002
        """Return true: this type of index has no settings."""
        return True

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> BsiReader | None:  # noqa: ARG002
        """Open the index of a column of a file with ``row_count`` rows; ``None`` for an unknown version.

        Raises:
            CorruptionError: the payload is not an index of this type and file.
        """
        data = payload.read(0, payload.length)
        return None if data[:1] > bytes([_VERSION]) else _Decoder(data, payload, row_count).index()


class _Decoder:
    """A read position in the bytes of an index."""

    def __init__(self, data: bytes, payload: Payload, row_count: int) -> None:
        self._data = data
        self._payload = payload
        self._row_count = row_count
        self._at = 0

    def index(self) -> BsiReader:
        version, row_count = self._unpacked(_HEAD)
        if version != _VERSION or row_count != self._row_count:
            message = (
                f"expected version {_VERSION} and {counted(self._row_count, 'row')}, "
                f"found version {version} and {counted(row_count, 'row')}"
            )
            raise self._payload.damaged(message)
        positive, negative = self._magnitudes(), self._magnitudes()
        if self._at != len(self._data):
            message = f"its slices end at byte {self._at} of {len(self._data)}"
            raise self._payload.damaged(message)
        if positive.rows.intersect(negative.rows):
            message = "a row is among both the negative and the other numbers"
            raise self._payload.damaged(message)
        return BsiReader(row_count, positive, negative)

    def _magnitudes(self) -> _Magnitudes:
        is_there = self._taken(1)
        if is_there == b"\0":
            nothing = BitMap()
            return _Magnitudes(nothing, BitSlices(0, lambda _: nothing, lambda: nothing), 0, 0)
        version, smallest, largest = self._unpacked(_SLICES_HEAD)
        rows = read_rows(self._bitmap(), self._payload, self._row_count)
        (count,) = self._unpacked(_INT)
        if is_there != b"\1" or version != _VERSION or not 0 <= smallest <= largest or not rows:
            message = f"the head of its slices is invalid: version {version}, numbers from {smallest} to {largest}"
            raise self._payload.damaged(message)
        if count != (largest - smallest).bit_length():
            message = f"it has {counted(count, 'slice')} for numbers from {smallest} to {largest}"
            raise self._payload.damaged(message)
        stored = [self._bitmap() for _ in range(count)]
        decoded: dict[int, BitMap] = {}

        def slice_of(bit: int) -> BitMap:
            if bit not in decoded:
                decoded[bit] = read_rows(stored[bit], self._payload, self._row_count)
                if not decoded[bit].issubset(rows):
                    message = f"slice {bit} has rows without a value"
                    raise self._payload.damaged(message)
            return decoded[bit]

        return _Magnitudes(rows, BitSlices(count, slice_of, lambda: rows), smallest, largest)

    def _bitmap(self) -> bytes:
        return self._taken(stored_length(self._data, self._at, self._payload))

    def _unpacked(self, form: struct.Struct) -> tuple[int, ...]:
        return form.unpack(self._taken(form.size))

    def _taken(self, length: int) -> bytes:
        start, self._at = self._at, self._at + length
        if self._at > len(self._data):
            message = f"{length} bytes from byte {start} on go beyond its {len(self._data)} bytes"
            raise self._payload.damaged(message)
        return self._data[start : self._at]
