"""Stores sets of row positions as 32-bit Roaring bitmaps in the portable format, run-optimised.

The bytes are the same as those of Java ``RoaringBitmap32.serialize``. Large sets are encoded directly from a mask over
all rows, 65,536 rows at a time, like the containers of the format.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from table_format.kernels.file_index.payload import Payload

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Parts: TypeAlias = list[bytes | memoryview]
"""Pieces of bytes to concatenate."""

_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_COOKIE_BYTES: Final = 4
CHUNK_ROWS: Final = 1 << 16
"""The number of rows of one container."""
_ARRAY_ROWS: Final = 4096
"""The maximum number of rows of an array container; one with more rows is a bitmap."""
_BITMAP_BYTES: Final = 8192
_FEW_CONTAINERS: Final = 16
_OFFSETS_FROM: Final = 4
"""The minimum number of containers with which a bitmap with runs has offsets."""
_FIRST_WORDS: Final = _BITMAP_BYTES // 8 // 4
"""The number of words of a container in which runs are counted first."""
_WORD_BITS: Final = 64
_WORD_SHIFT: Final = 6
_ONE: Final = np.uint64(1)
_LAST: Final = np.uint64(63)
_ALL_SET: Final = np.uint64(2**64 - 1)
_EVERY_ROW: Final = struct.pack("<HHH", 1, 0, CHUNK_ROWS - 1)
"""The stored form of a full container: a single run."""
_UNSIGNED: Final = "I"
"""The type code of ``array`` for row positions, which has 4 bytes on all platforms of numpy."""


def bitmap_of(rows: npt.NDArray[Any]) -> BitMap:
    """Return the set of these ascending positions."""
    # BitMap reads arrays of the standard library ten times as fast as those of numpy.
    positions = array(_UNSIGNED)
    positions.frombytes(rows.astype(np.uint32).tobytes())
    return BitMap(positions)


def stored_rows(rows: npt.NDArray[Any]) -> bytes:
    """Return the stored form of ascending positions.

    >>> stored_rows(np.array([0, 3])).hex()
    '3a30000001000000000001001000000000000300'
    """
    bitmap = bitmap_of(rows)
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


class RowSets:
    """Many sets of positions, which are encoded together, because that is much faster than encoding each set.

    ``rows`` are the ascending positions of the first set, then those of the next; ``ends`` are the ends of the sets. No
    set is empty.

    >>> RowSets(np.array([5, 0, 3]), np.array([1, 3])).stored(1) == stored_rows(np.array([0, 3]))
    True
    """

    def __init__(self, rows: npt.NDArray[Any], ends: Ints) -> None:
        words = rows.astype("<i8", copy=False).view("<u2").reshape(-1, 4)
        self._lows, chunks = words[:, 0].copy(), words[:, 1].copy()
        is_start = np.ones(len(rows), np.bool_)
        np.not_equal(chunks[1:], chunks[:-1], out=is_start[1:])
        is_start[ends[:-1]] = True
        starts = np.flatnonzero(is_start)
        sizes = np.diff(starts, append=len(rows))
        begins_run = is_start
        begins_run[1:] |= self._lows[1:] - self._lows[:-1] != 1
        # Summing bytes is faster than counting booleans.
        runs = np.add.reduceat(begins_run.view(np.uint8), starts, dtype=np.uint32) if len(starts) else sizes
        runs = runs.astype(np.int64)
        self._has_runs = _are_shorter_as_runs(runs, sizes)
        self._is_array = ~self._has_runs & (sizes <= _ARRAY_ROWS)
        self._chunks, self._sizes, self._bounds = chunks[starts].astype(np.int64), sizes, [*starts.tolist(), len(rows)]
        self._containers = [0, *np.searchsorted(starts, ends).tolist()]
        firsts, counts = np.array(self._containers[:-1], np.int64), np.diff(self._containers)
        self._are_arrays = np.logical_and.reduceat(self._is_array, firsts).tolist() if len(ends) else []
        # The parts of all sets that consist only of array containers.
        self._all_lows = self._lows.tobytes()
        self._described = np.stack([self._chunks, sizes - 1], axis=1).astype("<u2").tobytes()
        self._offsets = (2 * starts + np.repeat(8 + 8 * counts - 2 * starts[firsts], counts)).astype("<u4").tobytes()

    def stored(self, number: int) -> bytes:
        """Return the stored form of one set."""
        first, last = self._containers[number], self._containers[number + 1]
        if not self._are_arrays[number]:
            bodies = [self._body(container) for container in range(first, last)]
            containers = slice(first, last)
            parts = _assembled(self._chunks[containers], self._sizes[containers], self._has_runs[containers], bodies)
            return b"".join(parts)
        containers, rows = slice(4 * first, 4 * last), slice(2 * self._bounds[first], 2 * self._bounds[last])
        head = struct.pack("<II", _COOKIE, last - first)
        return b"".join([head, self._described[containers], self._offsets[containers], self._all_lows[rows]])

    def _body(self, container: int) -> bytes:
        lows = self._lows[self._bounds[container] : self._bounds[container + 1]]
        if self._has_runs[container]:
            return _runs(lows.astype(np.int64))
        if self._is_array[container]:
            return lows.tobytes()
        mask = np.zeros(CHUNK_ROWS, np.bool_)
        mask[lows] = True
        return np.packbits(mask, bitorder="little").tobytes()


def stored_mask(mask: Mask | npt.NDArray[np.uint8]) -> bytes:
    """Return the stored form of the rows at which a mask is true or nonzero.

    >>> stored_mask(np.array([True, False, False, True])) == stored_rows(np.array([0, 3]))
    True
    """
    if len(mask) and mask.all():
        return _stored_first_rows(len(mask))
    packed = np.zeros((-(-len(mask) // CHUNK_ROWS), _BITMAP_BYTES), np.uint8)
    packed.reshape(-1)[: -(-len(mask) // 8)] = np.packbits(mask, bitorder="little")
    sets = PackedSets(1, len(mask))
    for chunk, words in enumerate(packed.view(np.uint64)):
        sets.put(chunk, words[None])
    return b"".join(sets.parts()[0])


def _stored_first_rows(count: int) -> bytes:
    """Return the stored form of all rows below ``count``, which is not 0."""
    chunks = np.arange(-(-count // CHUNK_ROWS))
    sizes = np.minimum(count - chunks * CHUNK_ROWS, CHUNK_ROWS)
    # A bitmap of a range would keep its runs even if an array takes the same number of bytes.
    has_runs = _are_shorter_as_runs(np.ones_like(sizes), sizes)
    bodies = [
        _stored_runs(np.array([0]), np.array([size - 1])) if is_run else np.arange(size, dtype="<u2").tobytes()
        for size, is_run in zip(sizes.tolist(), has_runs.tolist(), strict=True)
    ]
    return b"".join(_assembled(chunks, sizes, has_runs, bodies))


class PackedSets:
    """Sets of positions below ``row_count`` as bits: 1,024 words for each 65,536 rows, lowest bits first."""

    def __init__(self, count: int, row_count: int) -> None:
        """Create ``count`` sets; every chunk of 65,536 rows must be added with ``put``."""
        self.chunk_count = -(-row_count // CHUNK_ROWS)
        self._words = np.empty((count, self.chunk_count, _BITMAP_BYTES // 8), np.uint64)
        self._sizes, self._runs = np.zeros((2, count, self.chunk_count), np.int64)

    def put(self, chunk: int, words: npt.NDArray[np.uint64]) -> None:
        """Add a chunk of all sets, one row of words for each set; runs are counted while the words are in the cache.

        For sets that are not stored as runs, not all runs are counted.
        """
        self._words[:, chunk] = words
        self._sizes[:, chunk] = np.bitwise_count(words).sum(axis=1, dtype=np.uint32)
        # Most sets have more runs in their first words than a run container may have.
        self._runs[:, chunk] = _run_counts(words[:, :_FIRST_WORDS])
        unknown = np.flatnonzero(_are_shorter_as_runs(self._runs[:, chunk], self._sizes[:, chunk]))
        if unknown.size:
            self._runs[unknown, chunk] = _run_counts(words[unknown])

    def parts(self) -> list[Parts]:
        """Return the stored form of each set; the parts reference the memory of these sets."""
        has_runs = _are_shorter_as_runs(self._runs, self._sizes)
        are_bitmaps: list[bool] = np.all((self._sizes > _ARRAY_ROWS) & ~has_runs, axis=1).tolist()
        every, lengths = np.arange(self.chunk_count), np.full(self.chunk_count, _BITMAP_BYTES)
        return [
            [_head(every, sizes, runs, lengths), words.data] if is_bitmap else self._few(words, sizes, runs)
            for is_bitmap, words, sizes, runs in zip(are_bitmaps, self._words, self._sizes, has_runs, strict=True)
        ]

    def _few(self, words: npt.NDArray[np.uint64], sizes: Ints, has_runs: Mask) -> Parts:
        chunks = np.flatnonzero(sizes)
        bodies = [
            words[chunk].data
            if sizes[chunk] > _ARRAY_ROWS and not has_runs[chunk]
            else _few_rows(words[chunk], is_run=bool(has_runs[chunk]))
            for chunk in chunks.tolist()
        ]
        return _assembled(chunks, sizes[chunks], has_runs[chunks], bodies)


def empty_parts() -> Parts:
    """Return the stored form of the empty set."""
    nothing = np.zeros(0, np.int64)
    return _assembled(nothing, nothing, np.zeros(0, np.bool_), [])


def _few_rows(words: npt.NDArray[np.uint64], *, is_run: bool) -> bytes:
    if words[0] == words[-1] == _ALL_SET and (words == _ALL_SET).all():
        return _EVERY_ROW
    if not is_run:
        return _positions(words).astype("<u2").tobytes()
    firsts = _positions(_run_starts(words[None])[0])
    # In reverse order, the last row of a run is its first.
    after = words >> _ONE
    after[:-1] |= words[1:] << _LAST
    lasts = _positions(words & ~after)
    return _stored_runs(firsts, lasts)


def _positions(words: npt.NDArray[np.uint64]) -> Ints:
    """Return the positions of the set bits of words, few of which are nonzero."""
    places = np.flatnonzero(words)
    # numpy finds nonzero values much faster among booleans than among numbers.
    found = np.flatnonzero(np.unpackbits(words[places].view(np.uint8), bitorder="little").view(np.bool_))
    rows: Ints = places[found >> _WORD_SHIFT] << _WORD_SHIFT | found & _WORD_BITS - 1
    return rows


def _run_counts(words: npt.NDArray[np.uint64]) -> Ints:
    """Return the number of runs of bits that begin in each row of words."""
    counts: Ints = np.bitwise_count(_run_starts(words)).sum(axis=1, dtype=np.uint32).astype(np.int64)
    return counts


def _run_starts(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the bits whose lower neighbour is not set."""
    before = words << _ONE
    before[:, 1:] |= words[:, :-1] >> _LAST
    np.invert(before, out=before)
    before &= words
    return before


def _are_shorter_as_runs(runs: Ints, sizes: Ints) -> Mask:
    """Return a mask of the containers that are shorter when stored as runs."""
    found: Mask = 2 + 4 * runs < np.where(sizes <= _ARRAY_ROWS, 2 * sizes, _BITMAP_BYTES)
    return found


def _runs(rows: npt.NDArray[np.int64]) -> bytes:
    breaks = np.flatnonzero(np.diff(rows) != 1)
    return _stored_runs(rows[np.append(0, breaks + 1)], rows[np.append(breaks, len(rows) - 1)])


def _stored_runs(firsts: Ints, lasts: Ints) -> bytes:
    return struct.pack("<H", len(firsts)) + np.stack([firsts, lasts - firsts], axis=1).astype("<u2").tobytes()


def _assembled(chunks: Ints, sizes: Ints, has_runs: Mask, bodies: Sequence[bytes | memoryview]) -> Parts:
    lengths = np.array([memoryview(body).nbytes for body in bodies], np.int64)
    return [_head(chunks, sizes, has_runs, lengths), *bodies]


def _head(chunks: Ints, sizes: Ints, has_runs: Mask, lengths: Ints) -> bytes:
    """Return the head of a bitmap whose containers have these lengths in bytes."""
    count = len(chunks)
    if has_runs.any():
        head = struct.pack("<I", _COOKIE_WITH_RUNS | (count - 1) << 16)
        head += np.packbits(has_runs, bitorder="little").tobytes()
    else:
        head = struct.pack("<II", _COOKIE, count)
    head += np.stack([chunks, sizes - 1], axis=1).astype("<u2").tobytes()
    if not has_runs.any() or count >= _OFFSETS_FROM:
        offsets = len(head) + 4 * count + np.cumsum(lengths) - lengths
        head += offsets.astype("<u4").tobytes()
    return head


def check_bitmap_begins(payload: Payload, at: int) -> None:
    """Check the first bytes of a stored bitmap.

    Raises:
        BadEncoding: no bitmap begins there.
    """
    cookie = int.from_bytes(payload.read(at, _COOKIE_BYTES), "little")
    if cookie != _COOKIE and cookie & 0xFFFF != _COOKIE_WITH_RUNS:
        message = f"expected a bitmap at byte {at}, found {cookie:#x}"
        raise payload.damaged(message)


def stored_length(data: bytes, at: int, payload: Payload) -> int:
    """Return the size in bytes of the stored bitmap at ``at``; sequences of bitmaps do not contain their sizes.

    Raises:
        BadEncoding: no bitmap begins there, or it extends beyond the end.
    """
    try:
        length = _stored_length(data, at)
    except ValueError as error:
        message = f"expected a bitmap at byte {at}: {error}"
        raise payload.damaged(message) from error
    if at + length > len(data):
        message = f"a bitmap of {length} bytes from byte {at} on goes beyond the {len(data)} bytes"
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
        message = f"the data begins with {cookie:#x}"
        raise ValueError(message)
    if count > CHUNK_ROWS:
        message = f"expected at most {CHUNK_ROWS} containers, found {count}"
        raise ValueError(message)
    described = end
    end += 4 * count
    if not is_run or count >= _OFFSETS_FROM:
        end += 4 * count
    if not is_run and count <= _FEW_CONTAINERS:
        # Most bitmaps of a file take this path, because numpy arrays would take longer.
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
        message = f"expected {length} bytes at byte {at} of {len(data)}"
        raise ValueError(message)
    return data[at : at + length]


def rows_at(payload: Payload, start: int, length: int, row_count: int) -> BitMap:
    """Read a stored bitmap of exactly ``length`` bytes of a file with ``row_count`` rows.

    Raises:
        BadEncoding: the bitmap has another length or is damaged, or contains a row beyond the file.
    """
    data = payload.read(start, length)
    if stored_length(data, 0, payload) != length:
        message = f"the bitmap at byte {start} is not {length} bytes long"
        raise payload.damaged(message)
    return read_rows(data, payload, row_count)


def read_rows(data: bytes, payload: Payload, row_count: int) -> BitMap:
    """Decode a stored bitmap of a file with ``row_count`` rows.

    Raises:
        BadEncoding: the bitmap is damaged, or contains a row beyond the file.
    """
    try:
        found = BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        message = f"not a valid bitmap in {len(data)} bytes: {error}"
        raise payload.damaged(message) from error
    if found and found.max() >= row_count:
        message = f"row {found.max()} is beyond the {row_count} rows of the data file"
        raise payload.damaged(message)
    return found
