"""Range-bitmap indexes: bit slices of the ranks of values (format chapter 09, section 6; Java ``RangeBitmap``).

Version 1: an int for the length of the head; the head (version, rows, distinct keys, the smallest and the largest key,
bytes of the dictionary); the dictionary, which ranks keys; and the slices of the ranks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from table_format.counted import counted
from table_format.kernels.file_index.bit_slices import BitSlices, stored_slices
from table_format.kernels.file_index.chunked_dictionary import Dictionary, encode_dictionary
from table_format.kernels.file_index.conditions import Condition, KeyRange, SoughtValues, selected_rows
from table_format.kernels.file_index.keys import Key, KeyFormat, key_format
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.ranked_keys import RankedKeysBuilder, Ranks
from table_format.kernels.file_index.results import IndexResult
from table_format.kernels.file_index.row_bitmaps import Parts, rows_at, stored_mask
from table_format.model.file_index import keeps_keys
from table_format.model.types import BooleanType, DataType, SmallIntType, TinyIntType
from table_format.options.index_types import RANGE_BITMAPS, IndexDeclaration

_VERSION: Final = 1
_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">bii")
_SLICES_HEAD: Final = struct.Struct(">ibbii")
"""The length of the rest, the version, the number of slices, and the bytes of the set of rows and of the places."""
_SLICES_OF_NOTHING: Final = 64
"""The number of slices in Java if all values are null, because the largest rank is -1."""
_CHUNK_BYTES: Final = 16_384
_UNCHUNKED: Final = (BooleanType, TinyIntType, SmallIntType)


class RangeBitmapBuilder:
    """Builds the index of one column."""

    def __init__(self, data_type: DataType, *, chunk_bytes: int | None) -> None:
        self._type = data_type
        self._chunk_bytes = _chunk_bytes(data_type, chunk_bytes)
        self._keys = RankedKeysBuilder(data_type)

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows, an array of the column's ``arrow_type`` with nulls."""
        self._keys.add(column)

    def finish(self) -> bytes:
        """Return the index of all added values."""
        stored = key_format(self._type)
        assert stored is not None  # noqa: S101 - the type supports its columns
        found = self._keys.ranked()
        dictionary = encode_dictionary(found.keys, stored, self._chunk_bytes)
        head = _HEAD.pack(_VERSION, found.row_count, len(found.keys))
        if len(found.keys):
            head += stored.encoded(found.keys[0].as_py()) + stored.encoded(found.keys[-1].as_py())
        head += _INT.pack(len(dictionary))
        slices = _stored(found.ranks, len(found.keys))
        return b"".join([_INT.pack(len(head)), head, dictionary, *slices])


def _chunk_bytes(data_type: DataType, stated: int | None) -> int:
    default = 0 if isinstance(data_type, _UNCHUNKED) else _CHUNK_BYTES
    return default if stated is None else stated


def _stored(ranks: Ranks, cardinality: int) -> Parts:
    count = max((cardinality - 1).bit_length(), 1) if cardinality else _SLICES_OF_NOTHING
    rows = stored_mask(ranks >= 0)
    slices = stored_slices(np.maximum(ranks, 0), count)
    lengths = np.array([sum(memoryview(part).nbytes for part in parts) for parts in slices], np.int64)
    places = np.stack([np.cumsum(lengths) - lengths, lengths], axis=1).astype(">i4").tobytes()
    head_bytes = _SLICES_HEAD.size - _INT.size + len(places)
    head = _SLICES_HEAD.pack(head_bytes, _VERSION, count, len(rows), len(places))
    return [head, places, rows, *chain.from_iterable(slices)]


class RangeBitmapReader:
    """Reads an index; chunks of the dictionary and slices are decoded on demand."""

    def __init__(
        self, row_count: int, bounds: tuple[Key, Key] | None, dictionary: Dictionary, slices: _StoredSlices
    ) -> None:
        self._row_count = row_count
        self._bounds = bounds
        self.dictionary = dictionary
        self._slices = slices

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return the rows that match a condition on the column.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        return selected_rows(condition, self._row_count, self._not_null, self._within)

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return, for each of many values, whether a row of the file may be equal to it.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        return np.array([bool(self._codes(KeyRange(key, key))) for key in values.keys], np.bool_)

    @property
    def not_null(self) -> BitMap:
        """The rows that have a value; the set must not be changed."""
        return BitMap() if self._bounds is None else self._slices.rows

    def best_rows(self, rows: BitMap, count: int, *, largest: bool) -> Iterator[tuple[list[int], list[Key]]]:
        """Yield at most ``count`` of ``rows`` with the largest or smallest keys, and the keys, in no particular order.

        Each of the rows must have a value.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        if rows:
            found = self._slices.slices.best(rows, count, largest=largest)
            yield list(found), self.dictionary.keys_at(self._slices.slices.numbers(found).tolist())

    def _not_null(self) -> BitMap:
        return self.not_null

    def _within(self, keys: KeyRange) -> BitMap:
        codes = self._codes(keys)
        if not codes:
            return BitMap()
        slices = self._slices.slices
        if len(codes) == 1:
            return slices.equal(codes.start)
        if codes.start == 0:
            return slices.at_most(codes.stop - 1)
        found = slices.at_least(codes.start)
        return found if codes.stop == self._slices.cardinality else found & slices.at_most(codes.stop - 1)

    def _codes(self, keys: KeyRange) -> range:
        """Return the ranks of the keys in a range."""
        if self._bounds is None:
            return range(0)
        smallest, largest = self._bounds
        low, high = keys.low, keys.high
        if (low is not None and low > largest) or (high is not None and high < smallest):  # type: ignore[operator]  # one type
            return range(0)
        start = 0 if low is None or low <= smallest else self.dictionary.first_at_least(low)  # type: ignore[operator]  # one type
        if high is None or high >= largest:  # type: ignore[operator]  # one type
            return range(start, self._slices.cardinality)
        return range(start, self.dictionary.first_above(high))


class _StoredSlices:
    """The slices of the ranks, from ``start`` to the end of the index."""

    def __init__(self, payload: Payload, start: int, row_count: int, cardinality: int) -> None:
        self._payload = payload
        self._start = start
        self._row_count = row_count
        self.cardinality = cardinality
        self._decoded: dict[int, BitMap] = {}

    @cached_property
    def slices(self) -> BitSlices:
        """The slices, which are decoded on demand."""
        return BitSlices(len(self._places), self._slice, lambda: self.rows)

    @cached_property
    def rows(self) -> BitMap:
        """The non-null rows."""
        return self._bitmap(self._body_start, self._rows_bytes)

    @cached_property
    def _head(self) -> tuple[int, int]:
        """The size of the head without its length, and that of the set of rows, in bytes."""
        head_bytes, version, count, rows_bytes, place_bytes = _SLICES_HEAD.unpack(
            self._payload.read(self._start, _SLICES_HEAD.size)
        )
        expected = max((self.cardinality - 1).bit_length(), 1)
        is_sound = place_bytes == 2 * _INT.size * count and head_bytes == _SLICES_HEAD.size - _INT.size + place_bytes
        if version != _VERSION or count != expected or not is_sound:
            keys = counted(self.cardinality, "key")
            message = f"the head of its slices is invalid: version {version}, {counted(count, 'slice')} for {keys}"
            raise self._payload.damaged(message)
        return head_bytes, rows_bytes

    @property
    def _rows_bytes(self) -> int:
        return self._head[1]

    @property
    def _body_start(self) -> int:
        return self._start + _INT.size + self._head[0]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """The positions of the slices after the set of rows, and their sizes in bytes."""
        start = self._start + _SLICES_HEAD.size
        data = self._payload.read(start, self._body_start - start)
        places = np.frombuffer(data, ">i4").astype(np.int64).reshape(-1, 2)
        ends = np.cumsum(places[:, 1])
        end = self._body_start + self._rows_bytes + int(ends[-1])
        if (places < 0).any() or (ends - places[:, 1] != places[:, 0]).any() or end != self._payload.length:
            message = f"its slices end at byte {end} of {self._payload.length}"
            raise self._payload.damaged(message)
        return [(int(offset), int(length)) for offset, length in places.tolist()]

    def _slice(self, bit: int) -> BitMap:
        if bit not in self._decoded:
            offset, length = self._places[bit]
            found = self._bitmap(self._body_start + self._rows_bytes + offset, length)
            if not found.issubset(self.rows):
                message = f"slice {bit} has rows without a value"
                raise self._payload.damaged(message)
            self._decoded[bit] = found
        return self._decoded[bit]

    def _bitmap(self, start: int, length: int) -> BitMap:
        return rows_at(self._payload, start, length, self._row_count)


@dataclass(frozen=True, slots=True)
class RangeBitmaps:
    """The index type ``range-bitmap``."""

    declaration: IndexDeclaration = RANGE_BITMAPS
    finds_rows: bool = True

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Return whether an index on values of type ``stored`` is valid for the same values read as ``wanted``."""
        return keeps_keys(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> RangeBitmapBuilder:
        """Start the index of a column; ``settings`` are its options by name."""
        return RangeBitmapBuilder(data_type, chunk_bytes=self._chunk_bytes(settings))

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:
        """Return whether the dictionary has the chunk size of these settings; true for an unknown version.

        Raises:
            CorruptionError: the index is damaged.
        """
        stored = key_format(data_type)
        found = None if stored is None else _opened(payload, stored, None)
        return found is None or found.dictionary.has_chunk_size(_chunk_bytes(data_type, self._chunk_bytes(settings)))

    def _chunk_bytes(self, settings: Mapping[str, object]) -> int | None:
        chunk_bytes = self.declaration.with_defaults(settings)["chunk-size"]
        assert chunk_bytes is None or isinstance(chunk_bytes, int)  # noqa: S101 - as the options declare it
        return chunk_bytes

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> RangeBitmapReader | None:
        """Open the index of a column of a file with ``row_count`` rows; ``None`` for an unknown version.

        Raises:
            CorruptionError: the payload is not an index of this type and file.
        """
        stored = key_format(data_type)
        return None if stored is None else _opened(payload, stored, row_count)


def _opened(payload: Payload, stored: KeyFormat, row_count: int | None) -> RangeBitmapReader | None:
    """The index; ``row_count`` is that of the data file, if it is to be compared."""
    (head_bytes,) = _INT.unpack(payload.read(0, _INT.size))
    if head_bytes < _HEAD.size + _INT.size:
        message = f"its head of {head_bytes} bytes is too short"
        raise payload.damaged(message)
    head = payload.read(_INT.size, head_bytes)
    version, rows, cardinality = _HEAD.unpack_from(head)
    if version > _VERSION:
        return None
    if version != _VERSION or row_count not in (None, rows) or not 0 <= cardinality <= rows:
        message = (
            f"its head is invalid: version {version}, {counted(cardinality, 'key')}, {counted(rows, 'row')}; "
            f"the data file has {row_count}"
        )
        raise payload.damaged(message)
    bounds, at = None, _HEAD.size
    try:
        if cardinality:
            smallest, at = stored.decoded(head, at)
            largest, at = stored.decoded(head, at)
            bounds = smallest, largest
        (length,) = _INT.unpack(head[at:])
    except (struct.error, ValueError) as error:
        message = f"its head cannot be decoded: {error}"
        raise payload.damaged(message) from error
    start = _INT.size + head_bytes
    if length < 0 or start + length > payload.length:
        message = f"a dictionary of {length} bytes from byte {start} on goes beyond its {payload.length} bytes"
        raise payload.damaged(message)
    dictionary = Dictionary(payload, stored, start=start, length=length, cardinality=cardinality)
    return RangeBitmapReader(rows, bounds, dictionary, _StoredSlices(payload, start + length, rows, cardinality))
