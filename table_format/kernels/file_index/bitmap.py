"""Bitmap indexes: the rows of each value (format chapter 09, section 4; Java ``BitmapFileIndex``), versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from table_format.counted import counted
from table_format.kernels.file_index.bitmap_directory import (
    NO_LENGTH,
    VERSION_1,
    Directory,
    decode_directory,
    encode_v1,
    encode_v2,
    has_block_size,
    version_of,
)
from table_format.kernels.file_index.conditions import EVERYTHING, Condition, KeyRange, SoughtValues, selected_rows
from table_format.kernels.file_index.hash_map_order import FEW_KEYS, InsertedKeys, hash_map_order
from table_format.kernels.file_index.keys import Ints, Key, KeyFormat, key_format
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.ranked_keys import RankedKeysBuilder, RowsByKey
from table_format.kernels.file_index.results import UNKNOWN, IndexResult
from table_format.kernels.file_index.row_bitmaps import RowSets, bitmap_of, rows_at, stored_rows
from table_format.model.arrow_calls import arrow_array
from table_format.model.file_index import keeps_keys
from table_format.model.types import DataType
from table_format.options.index_types import BITMAPS, IndexDeclaration

_MAX_BITMAPS: Final = 4096
"""For a range with more bitmaps, reading the rows is cheaper than reading the index."""


class BitmapBuilder:
    """Builds the index of one column."""

    def __init__(self, data_type: DataType, *, version: int, block_bytes: int) -> None:
        self._type = data_type
        self._version = version
        self._block_bytes = block_bytes
        self._keys = RankedKeysBuilder(data_type)

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows, an array of the column's ``arrow_type`` with nulls."""
        self._keys.add(column)

    def finish(self) -> bytes:
        """Return the index of all added values."""
        stored = key_format(self._type)
        assert stored is not None  # noqa: S101 - the type supports its columns
        found = self._keys.rows_by_key()
        # Version 1 stores all keys in the order of the map, version 2 only the bitmaps.
        has_all = self._version == VERSION_1 or len(found.keys) <= FEW_KEYS
        chosen = np.arange(len(found.keys)) if has_all else np.flatnonzero(found.counts > 1)
        keys = found.keys if has_all else found.keys.take(arrow_array(chosen))
        inserted = InsertedKeys(keys, found.firsts[chosen], len(found.keys), found.ends_with_new_key)
        order = chosen[hash_map_order(inserted, self._type, stored)]
        places = _Places(found, order)
        if self._version == VERSION_1:
            entries, _ = stored.entries(found.keys.take(arrow_array(order)), places.offsets[order])
            null = places.null and places.null[0]
            return encode_v1(found.row_count, null, len(found.keys), entries) + places.body
        head = stored.entries(found.keys, places.offsets, places.lengths)
        return encode_v2(found.row_count, places.null, head, self._block_bytes) + places.body


class _Places:
    """The bitmaps of all keys in sequence, that of null first, and their places."""

    def __init__(self, found: RowsByKey, order: Ints) -> None:
        """``order`` are all keys with several rows, in the order of their bitmaps."""
        counts = found.counts
        is_single = counts == 1
        self.offsets = np.where(is_single, -1 - found.firsts, np.int64(-1))
        self.lengths = np.full(len(counts), NO_LENGTH, np.int64)
        nulls = stored_rows(found.nulls) if len(found.nulls) else b""
        # Java writes the length of a bitmap of nulls even if a single null row has no bitmap.
        is_inline = len(found.nulls) == 1
        self.null = ((-1 - int(found.nulls[0]) if is_inline else 0), len(nulls)) if nulls else None
        parts = [] if is_inline else [nulls]
        if not is_single.all():
            rows = found.rows[np.repeat(~is_single, counts)] if is_single.any() else found.rows
            sets = RowSets(rows, np.cumsum(counts[~is_single]))
            numbers = np.cumsum(~is_single) - 1
            order = order[~is_single[order]]
            parts += [sets.stored(number) for number in numbers[order].tolist()]
            lengths = np.array([len(part) for part in parts], np.int64)
            starts = np.cumsum(lengths) - lengths
            self.offsets[order], self.lengths[order] = starts[-len(order) :], lengths[-len(order) :]
        self.body = b"".join(parts)


class BitmapReader:
    """Reads an index; blocks of the directory and bitmaps are decoded on demand."""

    def __init__(self, directory: Directory, payload: Payload) -> None:
        self._directory = directory
        self._payload = payload
        self._nulls: BitMap | None = None

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return the rows that match a condition on the column.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        ranges = [keys for keys in condition.ranges or () if keys != EVERYTHING]
        if sum(map(self._bitmaps, ranges)) > _MAX_BITMAPS:
            return UNKNOWN
        return selected_rows(condition, self._directory.row_count, self._not_null, self._within)

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return, for each of many values, whether a row of the file may be equal to it.

        Raises:
            CorruptionError: the decoded part is damaged.
        """
        return np.array([any(n.stop > n.start for _, n in self._places(KeyRange(k, k))) for k in values.keys], np.bool_)

    def group_counts(self, rows: BitMap | None = None) -> tuple[list[tuple[Key, int]], int]:
        """Return the number of rows of each key, in ascending order, and of nulls; for all rows or some.

        ``keys.value_of_key`` converts keys to values; 0.0 and -0.0 are different keys.

        Raises:
            BadEncoding: the bitmaps do not contain each row once.
        """
        counts = [
            (key, len(found) if rows is None else rows.intersection_cardinality(found)) for key, found in self._by_key()
        ]
        nulls = len(self._null_rows()) if rows is None else rows.intersection_cardinality(self._null_rows())
        self._check_sum(sum(count for _, count in counts) + nulls, rows)
        return [(key, count) for key, count in counts if count], nulls

    def groups(self, rows: BitMap | None = None) -> list[tuple[Key | None, BitMap]]:
        """Return the rows of each key, in ascending order, and then those of null; for all rows or some.

        Groups without rows are left out. Raises the same errors as ``group_counts``.
        """
        found = [(key, members if rows is None else members & rows) for key, members in self._by_key()]
        nulls = self._null_rows() if rows is None else self._null_rows() & rows
        everything: list[tuple[Key | None, BitMap]] = [*found, (None, nulls)]
        self._check_sum(sum(len(members) for _, members in everything), rows)
        return [(key, members) for key, members in everything if members]

    @property
    def key_count(self) -> int:
        """The number of keys, without null."""
        return sum(len(self._directory.block(number).keys) for number in range(len(self._directory.first_keys)))

    def _check_sum(self, found: int, rows: BitMap | None) -> None:
        expected = self._directory.row_count if rows is None else len(rows)
        if found != expected:
            message = f"expected each of its {expected} rows in exactly one bitmap"
            raise self._payload.damaged(message)

    def _by_key(self) -> Iterator[tuple[Key, BitMap]]:
        for number in range(len(self._directory.first_keys)):
            block = self._directory.block(number)
            for key, offset, length in zip(block.keys, block.offsets.tolist(), block.lengths.tolist(), strict=True):
                yield key, self._rows_at(offset, length)

    def _places(self, keys: KeyRange) -> list[tuple[int, slice]]:
        """Return the entries of a key range, by block."""
        directory = self._directory
        return [(number, directory.block(number).within(keys)) for number in directory.blocks(keys)]

    def _bitmaps(self, keys: KeyRange) -> int:
        """Return the number of bitmaps that a key range has to read."""
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
        return rows_at(self._payload, self._directory.body_start + offset, length, self._directory.row_count)

    def _single_rows(self, rows: npt.NDArray[np.int64]) -> BitMap:
        if rows.max(initial=-1) >= self._directory.row_count:
            message = f"row {rows.max()} is beyond the {self._directory.row_count} rows of the data file"
            raise self._payload.damaged(message)
        return bitmap_of(np.sort(rows))


@dataclass(frozen=True, slots=True)
class BitmapIndexes:
    """The index type ``bitmap``."""

    declaration: IndexDeclaration = BITMAPS
    finds_rows: bool = True

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Return whether an index on values of type ``stored`` is valid for the same values read as ``wanted``."""
        return keeps_keys(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> BitmapBuilder:
        """Start the index of a column; ``settings`` are its options by name."""
        version, block_bytes = self._form(settings)
        return BitmapBuilder(data_type, version=version, block_bytes=block_bytes)

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:
        """Return whether an index has the version and block size of these settings; true for an unknown version.

        Without a version in the settings, an index of version 1 has them: Paimon 0.9 reads no other, and states none.

        Raises:
            BadEncoding: the index is damaged.
        """
        stored = key_format(data_type)
        version, block_bytes = self._form(settings)
        if stored is None or (found := version_of(payload)) is None:
            return True
        if found == VERSION_1:
            return version == VERSION_1 or "version" not in settings
        return version == found and has_block_size(payload, stored, block_bytes)

    def _form(self, settings: Mapping[str, object]) -> tuple[int, int]:
        settings = self.declaration.with_defaults(settings)
        version, block_bytes = settings["version"], settings["index-block-size"]
        assert isinstance(version, int) and isinstance(block_bytes, int)  # noqa: S101, PT018 - as the options declare
        return version, block_bytes

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> BitmapReader | None:
        """Open the index of a column of a file with ``row_count`` rows; ``None`` for an unknown version.

        Raises:
            CorruptionError: the payload is not an index of this type and file.
        """
        stored: KeyFormat | None = key_format(data_type)
        directory = None if stored is None else decode_directory(payload, stored)
        if directory is None:
            return None
        if directory.row_count != row_count:
            message = f"it states {counted(directory.row_count, 'row')}, but the data file has {row_count}"
            raise payload.damaged(message)
        return BitmapReader(directory, payload)
