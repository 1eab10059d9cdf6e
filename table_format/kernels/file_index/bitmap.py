"""Bitmap indexes: the rows of each value (format chapter 09, section 4; Java ``BitmapFileIndex``), versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from table_format.kernels.file_index.bitmap_directory import (
    NO_LENGTH,
    VERSION_1,
    Directory,
    decode_directory,
    encode_v1,
    encode_v2,
)
from table_format.kernels.file_index.conditions import EVERYTHING, Condition, KeyRange, SoughtValues, selected_rows
from table_format.kernels.file_index.distinct_keys import DistinctKeys, DistinctKeysBuilder
from table_format.kernels.file_index.hash_map_order import hash_map_order
from table_format.kernels.file_index.keys import Key, KeyFormat, key_format, sort_order
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.results import UNKNOWN, IndexResult
from table_format.kernels.file_index.row_bitmaps import RowSets, bitmap_of, read_rows, stored_length
from table_format.model.file_index import keeps_keys
from table_format.model.types import DataType
from table_format.options.index_types import BITMAPS, IndexDeclaration

_MAX_BITMAPS: Final = 4096
"""Of a range over more bitmaps than that, reading the rows is cheaper than the index."""


class BitmapBuilder:
    """The index of one column while its values come in."""

    def __init__(self, data_type: DataType, *, version: int, block_bytes: int) -> None:
        self._type = data_type
        self._version = version
        self._block_bytes = block_bytes
        self._distinct = DistinctKeysBuilder(data_type)

    def add(self, column: pa.Array) -> None:
        """Take the values of the next rows, an array of the column's ``arrow_type`` with its nulls."""
        self._distinct.add(column)

    def finish(self) -> bytes:
        """The index of all values that were taken."""
        stored = key_format(self._type)
        assert stored is not None  # noqa: S101 - the type supports its columns
        found = self._distinct.finish()
        order = hash_map_order(found, self._type, stored)
        places = _Places(found, order)
        keys = stored.all_encoded(found.keys)
        if self._version == VERSION_1:
            entries = ([keys[n] for n in order.tolist()], places.offsets[order])
            return encode_v1(found.row_count, places.null and places.null[0], entries) + places.body
        ascending = sort_order(found.keys)
        sorted_entries = [keys[n] for n in ascending.tolist()], places.offsets[ascending], places.lengths[ascending]
        return encode_v2(found.row_count, places.null, sorted_entries, self._block_bytes) + places.body


class _Places:
    """The bitmaps of all keys one after the other, first that of null, and where each lies."""

    def __init__(self, found: DistinctKeys, order: npt.NDArray[np.int64]) -> None:
        rows, ends = found.rows_by_key()
        starts = np.append(0, ends[:-1])
        counts = ends - starts
        # Every key has rows; the set of nulls alone can be empty.
        sets, first = RowSets(rows, ends if counts[0] else ends[1:]), int(counts[0] > 0)
        nulls = sets.stored(0) if counts[0] else b""
        is_inline = counts[0] == 1
        parts = [] if is_inline else [nulls]
        # Java writes the length of the bitmap of nulls also where there is none for a single row.
        self.null = ((-1 - int(rows[0]) if is_inline else 0), len(nulls)) if counts[0] else None
        counts, starts = counts[1:], starts[1:]
        self.offsets = np.full(len(counts), -1, np.int64)
        self.lengths = np.full(len(counts), NO_LENGTH, np.int64)
        is_single = counts == 1
        self.offsets[is_single] -= rows[starts[is_single]]
        at = sum(map(len, parts))
        for key in order[~is_single[order]].tolist():
            bitmap = sets.stored(first + key)
            parts.append(bitmap)
            self.offsets[key], self.lengths[key] = at, len(bitmap)
            at += len(bitmap)
        self.body = b"".join(parts)


class BitmapReader:
    """An index that is read: blocks of its directory and bitmaps are decoded when they are needed."""

    def __init__(self, directory: Directory, payload: Payload) -> None:
        self._directory = directory
        self._payload = payload
        self._nulls: BitMap | None = None

    def evaluate(self, condition: Condition) -> IndexResult:
        """Which rows meet a condition on the column.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        ranges = [keys for keys in condition.ranges or () if keys != EVERYTHING]
        if sum(map(self._bitmaps, ranges)) > _MAX_BITMAPS:
            return UNKNOWN
        return selected_rows(condition, self._directory.row_count, self._not_null, self._within)

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """For each of many values whether a row of the file may be equal to it.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        return np.array([any(n.stop > n.start for _, n in self._places(KeyRange(k, k))) for k in values.keys], np.bool_)

    def group_counts(self, rows: BitMap | None = None) -> tuple[list[tuple[Key, int]], int]:
        """How many rows have each key, in ascending order, and how many are null; of some rows, or of all.

        ``keys.value_of_key`` makes values of keys; 0.0 and -0.0 are two keys.

        Raises:
            BadEncoding: the bitmaps do not hold each row once.
        """
        counts = [
            (key, len(found) if rows is None else rows.intersection_cardinality(found)) for key, found in self._by_key()
        ]
        nulls = len(self._null_rows()) if rows is None else rows.intersection_cardinality(self._null_rows())
        self._check_sum(sum(count for _, count in counts) + nulls, rows)
        return [(key, count) for key, count in counts if count], nulls

    def groups(self, rows: BitMap | None = None) -> list[tuple[Key | None, BitMap]]:
        """The rows that have each key, in ascending order, and last those of null; of some rows, or of all.

        Groups without rows are left out; errors as for ``group_counts``.
        """
        found = [(key, members if rows is None else members & rows) for key, members in self._by_key()]
        nulls = self._null_rows() if rows is None else self._null_rows() & rows
        everything: list[tuple[Key | None, BitMap]] = [*found, (None, nulls)]
        self._check_sum(sum(len(members) for _, members in everything), rows)
        return [(key, members) for key, members in everything if members]

    @property
    def key_count(self) -> int:
        """How many keys there are, without null."""
        return sum(len(self._directory.block(number).keys) for number in range(len(self._directory.first_keys)))

    def _check_sum(self, found: int, rows: BitMap | None) -> None:
        expected = self._directory.row_count if rows is None else len(rows)
        if found != expected:
            message = f"its bitmaps do not have each of {expected} rows once"
            raise self._payload.damaged(message)

    def _by_key(self) -> Iterator[tuple[Key, BitMap]]:
        for number in range(len(self._directory.first_keys)):
            block = self._directory.block(number)
            for key, offset, length in zip(block.keys, block.offsets.tolist(), block.lengths.tolist(), strict=True):
                yield key, self._rows_at(offset, length)

    def _places(self, keys: KeyRange) -> list[tuple[int, slice]]:
        """The entries of a range, by block."""
        directory = self._directory
        return [(number, directory.block(number).within(keys)) for number in directory.blocks(keys)]

    def _bitmaps(self, keys: KeyRange) -> int:
        """How many bitmaps a range has to read."""
        if keys.is_point:
            return 1
        found = ((self._directory.block(number).lengths[entries]) for number, entries in self._places(keys))
        return sum(int(np.count_nonzero(lengths != NO_LENGTH)) for lengths in found)

    def _within(self, keys: KeyRange) -> BitMap:
        found = BitMap()
        for number, entries in self._places(keys):
            block = self._directory.block(number)
            offsets, lengths = block.offsets[entries], block.lengths[entries]
            is_single = offsets < 0
            found |= self._single_rows(-1 - offsets[is_single])
            for offset, length in zip(offsets[~is_single].tolist(), lengths[~is_single].tolist(), strict=True):
                found |= self._rows_at(offset, length)
        return found

    def _not_null(self) -> BitMap:
        return BitMap(range(self._directory.row_count)) - self._null_rows()

    def _null_rows(self) -> BitMap:
        if self._nulls is None:
            null = self._directory.null
            self._nulls = BitMap() if null is None else self._rows_at(*null)
        return self._nulls

    def _rows_at(self, offset: int, length: int) -> BitMap:
        if offset < 0:
            return self._single_rows(np.array([-1 - offset]))
        data = self._payload.read(self._directory.body_start + offset, length)
        if stored_length(data, 0, self._payload) != length:
            message = f"the bitmap at {offset} does not have {length} bytes"
            raise self._payload.damaged(message)
        return read_rows(data, self._payload, self._directory.row_count)

    def _single_rows(self, rows: npt.NDArray[np.int64]) -> BitMap:
        if rows.max(initial=-1) >= self._directory.row_count:
            message = f"row {rows.max()} is beyond the {self._directory.row_count} rows of the data file"
            raise self._payload.damaged(message)
        return bitmap_of(np.sort(rows))


@dataclass(frozen=True, slots=True)
class BitmapIndexes:
    """The type of index."""

    declaration: IndexDeclaration = BITMAPS
    finds_rows: bool = True

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Whether an index over values of one type answers for the same values read as the other."""
        return keeps_keys(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> BitmapBuilder:
        """Begin the index of a column; ``settings`` are what the options say of it, by name."""
        settings = self.declaration.with_defaults(settings)
        version, block_bytes = settings["version"], settings["index-block-size"]
        assert isinstance(version, int) and isinstance(block_bytes, int)  # noqa: S101, PT018 - as the options declare
        return BitmapBuilder(data_type, version=version, block_bytes=block_bytes)

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> BitmapReader | None:
        """Open the index of a column of a file with that many rows; ``None`` for a version not known here.

        Raises:
            CorruptionError: it is not an index of this type and this file.
        """
        stored: KeyFormat | None = key_format(data_type)
        directory = None if stored is None else decode_directory(payload, stored)
        if directory is None:
            return None
        if directory.row_count != row_count:
            message = f"it has {directory.row_count} rows, and the data file {row_count}"
            raise payload.damaged(message)
        return BitmapReader(directory, payload)
