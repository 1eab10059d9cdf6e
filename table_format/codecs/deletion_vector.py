"""Deletion vectors: the positions of the deleted rows of a data file (format chapter 08, section 2).

A vector is stored as its size, a magic number, a Roaring bitmap in the portable format, and a CRC-32 of the last two.
There are two encodings, which the magic number identifies: 32-bit (Java ``BitmapDeletionVector``) and, since 1.2,
64-bit (``Bitmap64DeletionVector``). An index file is a version byte followed by vectors.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from table_format.counted import counted
from table_format.errors import BadEncoding, InvalidInputError, LimitExceeded
from table_format.limits import MAX_DELETION_VECTOR_BYTES
from table_format.model.manifest import DeletionVectorRange

VERSION: Final = 1
"""The first byte of an index file."""

MAX_NARROW_POSITION: Final = 2**31 - 1
"""The last position that the 32-bit encoding can store."""

_INT: Final = struct.Struct(">i")
_MAGIC: Final = (1581511376).to_bytes(4, "big")
_WIDE_MAGIC: Final = (1681511377).to_bytes(4, "little")
_FRAME_BYTES: Final = 2 * _INT.size
"""The size before a vector and the checksum after it."""

_CONTAINER_ROWS: Final = 1 << 16
_CONTAINER_BYTES: Final = 8192 + 32
"""The size of the largest container of a bitmap, with its header, in bytes."""

_ROWS_OF_WORDS_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True)
class DeletionVector:
    """The positions of deleted rows, counted from the first row of the file. The bitmap type determines the encoding.

    >>> vector = DeletionVector.of([0, 2])
    >>> vector.cardinality, vector.last, 2 in vector, vector.kept(0, 4).tolist()
    (2, 2, True, [False, True, False, True])
    """

    positions: BitMap | BitMap64

    @classmethod
    def of(cls, positions: Iterable[int] = (), *, is_wide: bool = False) -> DeletionVector:
        """Return a vector of these positions."""
        return cls(BitMap64(positions) if is_wide else BitMap(positions))

    @property
    def is_wide(self) -> bool:
        """Whether the vector has the 64-bit encoding."""
        return isinstance(self.positions, BitMap64)

    @property
    def cardinality(self) -> int:
        """The number of deleted rows."""
        return len(self.positions)

    @property
    def last(self) -> int | None:
        """The last deleted position; ``None`` if the vector is empty."""
        return int(self.positions.max()) if self.positions else None

    def __contains__(self, position: int) -> bool:
        return position in self.positions

    def union(self, positions: Iterable[int]) -> DeletionVector:
        """Return a vector in the same encoding with additional positions."""
        more = self.positions.copy()
        more.update(positions)
        return DeletionVector(more)

    def kept(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Return, for each position from ``start`` to ``stop``, whether the row is not deleted."""
        mask = np.ones(stop - start, np.bool_)
        if isinstance(self.positions, BitMap64):
            found = (self.positions & BitMap64(range(start, stop))).to_array()
        else:
            found = (self.positions & BitMap(range(start, stop))).to_array()
        mask[np.asarray(found, np.int64) - start] = False
        return mask

    def kept_of(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return, for each of these ascending positions, whether the row is not deleted.

        >>> DeletionVector.of([0, 2]).kept_of(np.array([1, 2, 9])).tolist()
        [True, False, True]
        """
        if positions.size == 0:
            return np.ones(0, np.bool_)
        first = int(positions[0])
        return self.kept(first, int(positions[-1]) + 1)[positions - first]

    def words(self, row_count: int) -> npt.NDArray[np.int64]:
        """Return one bit for each row of a file, which is set if the row is deleted; 64 to a word, lowest bit first.

        >>> DeletionVector.of([0, 2, 65]).words(130).tolist()
        [5, 2, 0]
        """
        words = np.zeros((row_count + 63) // 64, np.int64)
        octets = words.view(np.uint8)
        for start in range(0, row_count, _ROWS_OF_WORDS_AT_ONCE):
            stop = min(start + _ROWS_OF_WORDS_AT_ONCE, row_count)
            bits = np.packbits(~self.kept(start, stop), bitorder="little")
            octets[start // 8 : start // 8 + bits.size] = bits
        return words

    def encoded(self) -> bytes:
        """Return the bytes of the vector in an index file: size, magic number, bitmap, checksum.

        >>> DeletionVector.of([0, 2]).encoded().hex()
        '000000185e43f2d03a300000010000000000010010000000000002007b8a0ff7'
        """
        if not self.is_wide and self.last is not None and self.last > MAX_NARROW_POSITION:
            message = f"position {self.last} does not fit into a 32-bit deletion vector; use 64-bit vectors"
            raise InvalidInputError(message)
        bitmap = self.positions.copy()
        bitmap.run_optimize()
        body = (_WIDE_MAGIC if self.is_wide else _MAGIC) + bitmap.serialize()
        return _INT.pack(len(body)) + body + zlib.crc32(body).to_bytes(_INT.size, "big")


EncodedVector: TypeAlias = tuple[str, DeletionVector, bytes]
"""A data file name, its vector, and the encoded vector."""


def encode_index_file(vectors: Mapping[str, DeletionVector]) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """Return the bytes of an index file with the vectors of some data files, and the range of each.

    Without vectors, the file is only the version byte, which states that the bucket has no vectors any more.

    >>> data, ranges = encode_index_file({"data-0.parquet": DeletionVector.of([0, 2])})
    >>> len(data), ranges
    (33, (DeletionVectorRange(data_file='data-0.parquet', offset=1, length=24, cardinality=2),))
    """
    return index_file_of([(data_file, vector, vector.encoded()) for data_file, vector in vectors.items()])


def index_file_of(encoded: Iterable[EncodedVector]) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """Return the same as ``encode_index_file`` for vectors that are already encoded."""
    parts = [bytes([VERSION])]
    position = 1
    ranges = []
    for data_file, vector, record in encoded:
        # The length includes the size and the checksum in the 64-bit encoding, but not in the 32-bit one.
        length = len(record) if vector.is_wide else len(record) - _FRAME_BYTES
        ranges.append(DeletionVectorRange(data_file, position, length, vector.cardinality))
        parts.append(record)
        position += len(record)
    return b"".join(parts), tuple(ranges)


def stored_bytes(length: int) -> int:
    """Return the maximum stored size in bytes of a vector whose range states this length."""
    return length + _FRAME_BYTES


def check_length(range_: DeletionVectorRange, row_count: int, *, path: str) -> None:
    """Refuse, before reading it, a range that is too long for a vector of a file with ``row_count`` rows.

    Raises:
        LimitExceeded: the range is too long.
    """
    containers = row_count // _CONTAINER_ROWS + 1
    bound = min(MAX_DELETION_VECTOR_BYTES, (containers + 1) * _CONTAINER_BYTES)
    if range_.length > bound:
        message = (
            f"the deletion vector of '{range_.data_file}' has a stated length of {range_.length} bytes; "
            f"the maximum for {row_count} rows is {bound}"
        )
        raise LimitExceeded(path, message)


def check_version(first: bytes, *, path: str) -> None:
    """Check the version byte of an index file.

    Raises:
        BadEncoding: the file is empty or has another version.
    """
    if first != bytes([VERSION]):
        found = f"version {first[0]}" if first else "an empty file"
        raise BadEncoding(path, f"expected an index file of deletion vectors in version {VERSION}, found {found}")


def decode_vector(data: bytes, range_: DeletionVectorRange, row_count: int, *, path: str) -> DeletionVector:
    """Decode the vector of a data file with ``row_count`` rows; ``data`` begins at the offset of its range.

    Raises:
        BadEncoding: the vector is truncated or damaged, or contradicts its range or the data file.
    """
    size = _INT.unpack_from(data)[0] if len(data) >= _INT.size else -1
    body = data[_INT.size : _INT.size + size] if size >= 0 else b""
    magic = body[: _INT.size]
    if magic not in (_MAGIC, _WIDE_MAGIC) or len(body) != size:
        raise _bad(path, range_, f"{size} bytes at offset {range_.offset} are not a deletion vector")
    is_wide = magic == _WIDE_MAGIC
    if range_.length != size + (_FRAME_BYTES if is_wide else 0):
        raise _bad(path, range_, f"expected {range_.length} bytes, found {size}")
    checksum = data[_INT.size + size : _FRAME_BYTES + size]
    if checksum != zlib.crc32(body).to_bytes(_INT.size, "big"):
        raise _bad(path, range_, "the checksum does not match the bytes")
    try:
        bitmap = (BitMap64 if is_wide else BitMap).deserialize(body[_INT.size :])
    except (ValueError, IndexError) as error:
        raise _bad(path, range_, f"not a valid bitmap: {error}") from error
    vector = DeletionVector(bitmap)
    if vector.last is not None and vector.last >= row_count:
        raise _bad(
            path, range_, f"row {vector.last} is deleted, but the data file has only {counted(row_count, 'row')}"
        )
    if range_.cardinality is not None and range_.cardinality != vector.cardinality:
        raise _bad(path, range_, f"expected {counted(range_.cardinality, 'deleted row')}, found {vector.cardinality}")
    return vector


def _bad(path: str, range_: DeletionVectorRange, what: str) -> BadEncoding:
    return BadEncoding(path, f"deletion vector of '{range_.data_file}': {what}")
