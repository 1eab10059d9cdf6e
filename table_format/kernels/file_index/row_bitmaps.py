"""Sets of row positions as indexes store them: 32-bit Roaring bitmaps in the portable format, run-optimised.

Bytes are those of Java ``RoaringBitmap32.serialize`` for the same rows. Large sets are made straight from a mask over
all rows, 65,536 rows at a time, as the format cuts them.
"""

from __future__ import annotations

import struct
from array import array
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from table_format.kernels.file_index.payload import Payload

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_COOKIE_BYTES: Final = 4
_CHUNK: Final = 1 << 16
"""Rows of one container."""
_ARRAY_ROWS: Final = 4096
"""A container of more rows is a bitmap."""
_BITMAP_BYTES: Final = 8192
_FEW_CONTAINERS: Final = 16
_OFFSETS_FROM: Final = 4
"""Containers from which on a bitmap with runs has offsets."""
_ONE: Final = np.uint64(1)
_LAST: Final = np.uint64(63)
_UNSIGNED: Final = "I"
"""Type code of ``array`` for row positions; 4 bytes wherever numpy runs."""


def bitmap_of(rows: npt.NDArray[Any]) -> BitMap:
    """The set of these positions, which ascend."""
    # BitMap takes arrays of the standard library ten times as fast as those of numpy.
    positions = array(_UNSIGNED)
    positions.frombytes(rows.astype(np.uint32).tobytes())
    return BitMap(positions)


def stored_rows(rows: npt.NDArray[Any]) -> bytes:
    """The stored form of positions that ascend.

    >>> stored_rows(np.array([0, 3])).hex()
    '3a30000001000000000001001000000000000300'
    """
    bitmap = bitmap_of(rows)
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


class RowSets:
    """Many sets of positions, stored one by one; together they are made much faster than each alone.

    ``rows`` has the positions of the first set in ascending order, then those of the next one; ``ends`` is where each
    ends. No set is empty.

    >>> RowSets(np.array([5, 0, 3]), np.array([1, 3])).stored(1) == stored_rows(np.array([0, 3]))
    True
    """

    def __init__(self, rows: npt.NDArray[Any], ends: Ints) -> None:
        self._lows = rows.astype("<u2")
        chunks = rows >> 16
        is_start = np.ones(len(rows), np.bool_)
        is_start[1:] = chunks[1:] != chunks[:-1]
        is_start[ends[:-1]] = True
        starts = np.flatnonzero(is_start)
        sizes = np.diff(starts, append=len(rows))
        begins_run = is_start
        begins_run[1:] |= rows[1:] != rows[:-1] + 1
        runs = np.add.reduceat(begins_run, starts, dtype=np.int64) if len(starts) else sizes
        self._has_runs = _are_shorter_as_runs(runs, sizes)
        self._is_array = ~self._has_runs & (sizes <= _ARRAY_ROWS)
        self._chunks, self._sizes, self._bounds = chunks[starts], sizes, [*starts.tolist(), len(rows)]
        self._containers = [0, *np.searchsorted(starts, ends).tolist()]
        firsts, counts = np.array(self._containers[:-1], np.int64), np.diff(self._containers)
        self._are_arrays = np.logical_and.reduceat(self._is_array, firsts).tolist() if len(ends) else []
        # What sets of arrays alone are made of, for all of them.
        self._all_lows = self._lows.tobytes()
        self._described = np.stack([self._chunks, sizes - 1], axis=1).astype("<u2").tobytes()
        self._offsets = (2 * starts + np.repeat(8 + 8 * counts - 2 * starts[firsts], counts)).astype("<u4").tobytes()

    def stored(self, number: int) -> bytes:
        """The stored form of one set."""
        first, last = self._containers[number], self._containers[number + 1]
        if not self._are_arrays[number]:
            bodies = [self._body(container) for container in range(first, last)]
            return _assembled(self._chunks[first:last], self._sizes[first:last], self._has_runs[first:last], bodies)
        containers, rows = slice(4 * first, 4 * last), slice(2 * self._bounds[first], 2 * self._bounds[last])
        head = struct.pack("<II", _COOKIE, last - first)
        return b"".join([head, self._described[containers], self._offsets[containers], self._all_lows[rows]])

    def _body(self, container: int) -> bytes:
        lows = self._lows[self._bounds[container] : self._bounds[container + 1]]
        if self._has_runs[container]:
            return _runs(lows.astype(np.int64))
        if self._is_array[container]:
            return lows.tobytes()
        mask = np.zeros(_CHUNK, np.bool_)
        mask[lows] = True
        return np.packbits(mask, bitorder="little").tobytes()


def stored_mask(mask: Mask | npt.NDArray[np.uint8]) -> bytes:
    """The stored form of the rows at which a mask is true, or not 0.

    >>> stored_mask(np.array([True, False, False, True])) == stored_rows(np.array([0, 3]))
    True
    """
    count = -(-len(mask) // _CHUNK)
    packed = np.zeros((count, _BITMAP_BYTES), np.uint8)
    packed.reshape(-1)[: -(-len(mask) // 8)] = np.packbits(mask, bitorder="little")
    words = packed.view(np.uint64)
    sizes = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    before = words << _ONE
    before[:, 1:] |= words[:, :-1] >> _LAST
    runs = np.bitwise_count(words & ~before).sum(axis=1, dtype=np.int64)
    has_runs = _are_shorter_as_runs(runs, sizes)
    chunks = np.flatnonzero(sizes).tolist()
    bodies = []
    for chunk in chunks:
        if sizes[chunk] > _ARRAY_ROWS and not has_runs[chunk]:
            bodies.append(packed[chunk].tobytes())
        else:
            rows = np.flatnonzero(mask[chunk * _CHUNK : (chunk + 1) * _CHUNK])
            bodies.append(_runs(rows) if has_runs[chunk] else rows.astype("<u2").tobytes())
    return _assembled(np.array(chunks, np.int64), sizes[chunks], has_runs[chunks], bodies)


def _are_shorter_as_runs(runs: Ints, sizes: Ints) -> Mask:
    """Of containers with so many runs and rows, which are stored as runs."""
    found: Mask = 2 + 4 * runs < np.where(sizes <= _ARRAY_ROWS, 2 * sizes, _BITMAP_BYTES)
    return found


def _runs(rows: npt.NDArray[np.int64]) -> bytes:
    breaks = np.flatnonzero(np.diff(rows) != 1)
    firsts = rows[np.append(0, breaks + 1)]
    lasts = rows[np.append(breaks, len(rows) - 1)]
    return struct.pack("<H", len(firsts)) + np.stack([firsts, lasts - firsts], axis=1).astype("<u2").tobytes()


def _assembled(chunks: Ints, sizes: Ints, has_runs: Mask, bodies: list[bytes]) -> bytes:
    count = len(chunks)
    if has_runs.any():
        head = struct.pack("<I", _COOKIE_WITH_RUNS | (count - 1) << 16)
        head += np.packbits(has_runs, bitorder="little").tobytes()
    else:
        head = struct.pack("<II", _COOKIE, count)
    head += np.stack([chunks, sizes - 1], axis=1).astype("<u2").tobytes()
    if not has_runs.any() or count >= _OFFSETS_FROM:
        lengths = np.array([len(body) for body in bodies], np.int64)
        offsets = len(head) + 4 * count + np.cumsum(lengths) - lengths
        head += offsets.astype("<u4").tobytes()
    return b"".join([head, *bodies])


def check_bitmap_begins(payload: Payload, at: int) -> None:
    """Look at the first bytes of a stored bitmap.

    Raises:
        BadEncoding: none begins there.
    """
    cookie = int.from_bytes(payload.read(at, _COOKIE_BYTES), "little")
    if cookie != _COOKIE and cookie & 0xFFFF != _COOKIE_WITH_RUNS:
        message = f"no bitmap at {at}: it begins with {cookie:#x}"
        raise payload.damaged(message)


def stored_length(data: bytes, at: int, payload: Payload) -> int:
    """The number of bytes of the stored bitmap that begins there: streams of them state no lengths.

    Raises:
        BadEncoding: there is none, or it goes beyond the end.
    """
    try:
        length = _stored_length(data, at)
    except ValueError as error:
        message = f"no bitmap at {at}: {error}"
        raise payload.damaged(message) from error
    if at + length > len(data):
        message = f"a bitmap of {length} bytes at {at} goes beyond its {len(data)} bytes"
        raise payload.damaged(message)
    return length


def _stored_length(data: bytes, at: int) -> int:
    cookie = int.from_bytes(_part(data, at, 4), "little")
    end = at + 4
    is_run: list[int] = []
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(data, np.uint8, (count + 7) // 8, end)
        is_run = np.unpackbits(flags, bitorder="little")[:count].tolist()
        end += len(flags)
    elif cookie == _COOKIE:
        count = int.from_bytes(_part(data, end, 4), "little")
        end += 4
    else:
        message = f"it begins with {cookie:#x}"
        raise ValueError(message)
    if count > _CHUNK:
        message = f"{count} containers are more than a bitmap can have"
        raise ValueError(message)
    described = end
    end += 4 * count
    if not is_run or count >= _OFFSETS_FROM:
        end += 4 * count
    if not is_run and count <= _FEW_CONTAINERS:
        # Most bitmaps of a file: arrays would take longer.
        sizes = struct.unpack(f"<{2 * count}H", _part(data, described, 4 * count))[1::2]
        return end - at + sum(2 * size + 2 if size < _ARRAY_ROWS else _BITMAP_BYTES for size in sizes)
    numbers = np.frombuffer(data, "<u2", 2 * count, described)[1::2].astype(np.int64) + 1
    lengths = np.where(numbers <= _ARRAY_ROWS, 2 * numbers, _BITMAP_BYTES)
    if not is_run:
        return int(lengths.sum()) + end - at
    for run, length in zip(is_run, lengths.tolist(), strict=True):
        end += 2 + 4 * int.from_bytes(_part(data, end, 2), "little") if run else int(length)
    return end - at


def _part(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        message = f"{length} bytes are expected at {at} of {len(data)}"
        raise ValueError(message)
    return data[at : at + length]


def read_rows(data: bytes, payload: Payload, row_count: int) -> BitMap:
    """The rows of a stored bitmap, all of a file with that many.

    Raises:
        BadEncoding: it is damaged, or names a row beyond the file.
    """
    try:
        found = BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        message = f"no sound bitmap in {len(data)} bytes: {error}"
        raise payload.damaged(message) from error
    if found and found.max() >= row_count:
        message = f"row {found.max()} is beyond the {row_count} rows of the data file"
        raise payload.damaged(message)
    return found
