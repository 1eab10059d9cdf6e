"""Containers of Roaring bitmaps, and 32-bit bitmaps in the portable format (Java ``RoaringBitmap``).

A container stores the low 16 bits of the values with the same upper bits. It is an array, a bitmap or a list of runs.
The stored kind depends on the operands, so kinds are tracked in the same way as in the Java library.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from table_format.counted import counted

_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_ARRAY_VALUES: Final = 4096
"""The maximum number of values of an array container; with more it becomes a bitmap."""
_BITMAP_BYTES: Final = 8192
_LAST_LOW: Final = 0xFFFF
_OFFSETS_FROM: Final = 4
"""The minimum number of containers with which a bitmap with runs has offsets."""


class RoaringFormatError(ValueError):
    """The bytes are not a bitmap of this format."""


class Kind(IntEnum):
    """The layout of a container; the numbers are those of the 64-bit format."""

    RUN = 0
    BITMAP = 1
    ARRAY = 2


@dataclass(frozen=True)
class Container:
    """The low halves of some values, and their layout."""

    kind: Kind
    lows: BitMap

    @classmethod
    def stored(cls, kind: Kind, cardinality: int, data: bytes) -> Container:
        """Return a container from its stored form.

        Raises:
            ValueError: the bytes are not ``cardinality`` ascending values in this layout.
        """
        if kind is not Kind.RUN and (kind is Kind.ARRAY) != (cardinality <= _ARRAY_VALUES):
            message = f"a container of {counted(cardinality, 'value')} cannot have the kind {kind.name}"
            raise RoaringFormatError(message)
        lows = BitMap.deserialize((_RUN_HEAD if kind is Kind.RUN else _HEAD).pack(*_heads(kind, cardinality)) + data)
        if len(lows) != cardinality or (lows and lows.max() > _LAST_LOW):
            message = f"a container states {counted(cardinality, 'value')} but holds {len(lows)}"
            raise RoaringFormatError(message)
        return cls(kind, lows)

    def union(self, other: Container) -> Container:
        """Return the union of two containers (Java ``Container.ior``)."""
        lows = self.lows | other.lows
        kinds = {self.kind, other.kind}
        if Kind.BITMAP in kinds:
            return Container(Kind.BITMAP, lows)
        if Kind.RUN in kinds:
            return _efficient(lows)
        return Container(Kind.ARRAY if len(lows) <= _ARRAY_VALUES else Kind.BITMAP, lows)

    def optimized(self) -> Container:
        """Return the container in its smallest layout (Java ``Container.runOptimize``)."""
        if self.kind is Kind.RUN:
            return _efficient(self.lows)
        compressed = BitMap(self.lows)
        # For arrays and bitmaps, the C library makes the same choice as the Java library.
        return Container(Kind.RUN, compressed) if compressed.run_optimize() else self

    def data(self) -> bytes:
        """Return the stored form of the values."""
        if self.kind is Kind.RUN:
            values = self.values()
            breaks = np.flatnonzero(np.diff(values) != 1)
            firsts = values[np.append(0, breaks + 1)]
            lasts = values[np.append(breaks, len(values) - 1)]
            return struct.pack("<H", len(firsts)) + np.stack([firsts, lasts - firsts], axis=1).astype("<u2").tobytes()
        stored = self.lows.serialize()
        if int.from_bytes(stored[:4], "little") != _COOKIE:
            stored = BitMap(self.values()).serialize()
        return bytes(stored[_HEAD.size :])

    def values(self) -> npt.NDArray[np.uint32]:
        """Return the low halves, ascending."""
        return np.array(self.lows.to_array(), np.uint32)


_HEAD: Final = struct.Struct("<IIHHI")
"""The head of a bitmap of one container: cookie, count, key, cardinality minus one, and offset."""
_RUN_HEAD: Final = struct.Struct("<IBHH")
"""The same with runs: without count and offset, but with a byte that marks the container."""


def _heads(kind: Kind, cardinality: int) -> tuple[int, ...]:
    last = (cardinality - 1) & _LAST_LOW
    return (_COOKIE_WITH_RUNS, 1, 0, last) if kind is Kind.RUN else (_COOKIE, 1, 0, last, _HEAD.size)


def _efficient(lows: BitMap) -> Container:
    """Return the smallest container of these values (Java ``RunContainer.toEfficientContainer``)."""
    runs = Container(Kind.RUN, lows)
    count = int(np.count_nonzero(np.diff(runs.values()) != 1)) + 1
    if 2 + 4 * count <= min(_BITMAP_BYTES, 2 * len(lows) + 2):
        return runs
    return Container(Kind.ARRAY if len(lows) <= _ARRAY_VALUES else Kind.BITMAP, lows)


class Reader:
    """A cursor over stored bytes that never reads beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        """Read the next bytes.

        Raises:
            RoaringFormatError: fewer are left.
        """
        end = self.position + size
        if size < 0 or end > len(self._data):
            message = f"expected {size} bytes at byte {self.position} of {len(self._data)}"
            raise RoaringFormatError(message)
        piece = self._data[self.position : end]
        self.position = end
        return piece

    def number(self, form: str) -> int:
        """Read the next number, in a ``struct`` format of one item."""
        (value,) = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return int(value)

    def container(self, kind: Kind, cardinality: int) -> Container:
        """Read the values of a container.

        Raises:
            ValueError: the values do not ascend, or their number differs from ``cardinality``.
        """
        if not 0 < cardinality <= 1 << 16:
            message = f"a container has 1 to 65536 values, found {cardinality}"
            raise RoaringFormatError(message)
        match kind:
            case Kind.ARRAY:
                data = self.take(2 * cardinality)
            case Kind.BITMAP:
                data = self.take(_BITMAP_BYTES)
            case _:
                count = self.take(2)
                data = count + self.take(4 * int.from_bytes(count, "little"))
        return Container.stored(kind, cardinality, data)


Bitmap32 = dict[int, Container]
"""Containers by the upper 16 bits of their values."""


def decode_bitmap32(data: bytes) -> Bitmap32:
    """Decode a bitmap in the portable 32-bit format.

    Raises:
        RoaringFormatError: the bytes are not a 32-bit Roaring bitmap.
    """
    reader = Reader(data)
    cookie = reader.number("I")
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.unpackbits(np.frombuffer(reader.take((count + 7) // 8), np.uint8), bitorder="little")
        has_offsets = count >= _OFFSETS_FROM
    elif cookie == _COOKIE:
        count = reader.number("I")
        flags = np.zeros(min(count, 1 << 16), np.uint8)
        has_offsets = True
    else:
        message = f"expected a 32-bit Roaring bitmap, found the first four bytes {cookie:#x}"
        raise RoaringFormatError(message)
    if count > 1 << 16:
        message = f"expected at most {1 << 16} containers, found {count}"
        raise RoaringFormatError(message)
    heads = np.frombuffer(reader.take(4 * count), "<u2").reshape(-1, 2).astype(np.int64)
    if has_offsets:
        reader.take(4 * count)
    if (np.diff(heads[:, 0]) <= 0).any():
        message = "the keys of the containers are not in ascending order"
        raise RoaringFormatError(message)
    bitmap: Bitmap32 = {}
    for (key, last), is_run in zip(heads.tolist(), flags.tolist(), strict=False):
        kind = Kind.RUN if is_run else Kind.ARRAY if last < _ARRAY_VALUES else Kind.BITMAP
        bitmap[key] = reader.container(kind, last + 1)
    return bitmap


def encode_bitmap32(bitmap: Bitmap32) -> bytes:
    """Encode a bitmap in the portable 32-bit format."""
    keys = sorted(bitmap)
    containers = [bitmap[key] for key in keys]
    runs = np.array([c.kind is Kind.RUN for c in containers], np.uint8)
    if runs.any():
        head = (
            struct.pack("<I", _COOKIE_WITH_RUNS | (len(keys) - 1) << 16)
            + np.packbits(runs, bitorder="little").tobytes()
        )
    else:
        head = struct.pack("<II", _COOKIE, len(keys))
    heads = b"".join(struct.pack("<HH", k, len(c.lows) - 1) for k, c in zip(keys, containers, strict=True))
    bodies = [c.data() for c in containers]
    offsets = b""
    if not runs.any() or len(keys) >= _OFFSETS_FROM:
        position = len(head) + len(heads) + 4 * len(keys)
        sizes = np.array([len(b) for b in bodies], np.int64)
        offsets = (position + np.cumsum(sizes) - sizes).astype("<u4").tobytes()
    return b"".join([head, heads, offsets, *bodies])


def has_runs(data: bytes) -> bool:
    """Return whether a stored 32-bit bitmap has run containers."""
    return int.from_bytes(data[:2], "little") != _COOKIE


def union_bitmap32(older: Bitmap32, newer: Bitmap32) -> Bitmap32:
    """Return the union of two bitmaps, with the same layout as in the reference.

    >>> one, two = ({0: Container(Kind.ARRAY, BitMap([value]))} for value in (1, 2))
    >>> union_bitmap32(one, two)[0].lows
    BitMap([1, 2])
    """
    result = dict(older)
    for key, container in newer.items():
        there = result.get(key)
        result[key] = container if there is None else there.union(container)
    return {key: container.optimized() for key, container in result.items()}
