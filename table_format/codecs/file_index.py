"""The container of all file indexes of one data file (format chapter 09, section 2; Java ``FileIndexFormat``).

Columns are in the order of Java's ``HashMap``. Readers do not need this order, but it makes equal indexes equal bytes
(except if two names share a slot of the map).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, TypeVar

from table_format.codecs.content_name import hash_of_parts
from table_format.errors import BadEncoding, LimitExceeded, Truncated
from table_format.limits import KIB, MAX_FILE_INDEX_HEAD_BYTES
from table_format.model.file_index import BLOOM_FILTER
from table_format.model.java_text import java_hash, modified_utf8, text_of_modified_utf8

PREFIX_BYTES: Final = 16
"""The magic, the version, and the length of the head, which includes these bytes."""

_PREFIX: Final = struct.Struct(">qii")
_INT: Final = struct.Struct(">i")
_PLACE: Final = struct.Struct(">ii")
_LENGTH: Final = struct.Struct(">H")
_MAGIC: Final = 1493475289347502
_VERSION: Final = 1
_NOWHERE: Final = -1

MIN_BYTES_FOR_PARTS: Final = 64 * KIB
"""Smaller containers are read completely, because two reads would take as long."""

_KEPT_NAMES: Final = 1024
_KEPT_LAYOUTS: Final = 256
_MAX_KEPT_BYTES: Final = 4096
"""The layout of a longer head is not cached."""


class IndexPlace(NamedTuple):
    """The position of an index in the container, from its first byte; empty means that all values are null."""

    start: int
    length: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return self.start == _NOWHERE


_Found = TypeVar("_Found")

IndexPlaces: TypeAlias = Mapping[str, Mapping[str, IndexPlace]]
"""The places of indexes by column and index type."""


def encode_file_index(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """Return the container of indexes by column and type; ``None`` is an empty index.

    >>> encode_file_index({"a": {"bsi": None}})[16:].hex()
    '00000001000161000000010003627369ffffffff0000000000000000'
    """
    ordered = [
        (modified_utf8(column), [(modified_utf8(t), indexes[column][t]) for t in _in_java_order(indexes[column])])
        for column in _in_java_order(indexes)
    ]
    head_length = (
        PREFIX_BYTES
        + 2 * _INT.size
        + sum(
            _LENGTH.size + len(column) + _INT.size + sum(_LENGTH.size + len(t) + _PLACE.size for t, _ in of_column)
            for column, of_column in ordered
        )
    )
    head, payloads, end = bytearray(_PREFIX.pack(_MAGIC, _VERSION, head_length)), list[bytes](), head_length
    head += _INT.pack(len(ordered))
    for column, of_column in ordered:
        head += _LENGTH.pack(len(column)) + column + _INT.pack(len(of_column))
        for index_type, payload in of_column:
            place = (_NOWHERE, 0) if payload is None else (end, len(payload))
            head += _LENGTH.pack(len(index_type)) + index_type + _PLACE.pack(*place)
            payloads.append(payload or b"")
            end += len(payloads[-1])
    head += _INT.pack(0)
    # Joined only once, because containers can have many megabytes.
    return b"".join([head, *payloads])


def head_length(data: bytes, *, path: str) -> int | None:
    """Return the length of the head of a container that begins with these bytes; ``None`` for an unknown version.

    Raises:
        BadEncoding: the bytes are not the start of a container.
        LimitExceeded: the head is longer than any valid head.
    """
    if len(data) < PREFIX_BYTES:
        raise Truncated(path, expected_bytes=PREFIX_BYTES, found_bytes=len(data))
    magic, version, length = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise BadEncoding(path, f"a file index begins with {_MAGIC:#x}, found {magic:#x}")
    if version != _VERSION:
        return None
    if length < PREFIX_BYTES:
        raise BadEncoding(path, f"the head of a file index has more than {PREFIX_BYTES} bytes, found {length}")
    if length > MAX_FILE_INDEX_HEAD_BYTES:
        raise LimitExceeded(path, f"the head of {length} bytes is longer than {MAX_FILE_INDEX_HEAD_BYTES}")
    return int(length)


def decode_head(head: bytes, *, path: str) -> IndexPlaces:
    """Return the places of the indexes from a complete head.

    Raises:
        BadEncoding: the head is truncated or contains invalid values.
    """
    layout, numbers = read_head(head, path=path)
    return layout.places(numbers)


def read_head(head: bytes, *, path: str) -> tuple[HeadLayout, tuple[int, ...]]:
    """Return the layout of a complete head, and its numbers for ``HeadLayout.places``.

    The heads of a table's files have few layouts. Each is the same object as long as it is cached.

    Raises:
        BadEncoding: the head is truncated or contains invalid values.
    """
    try:
        layout = _layouts.get(len(head))
        if layout is None or not layout.fits(head):
            layout = _decode_and_keep(head)
        return layout, layout.numbers(head)
    except (struct.error, ValueError) as error:
        raise BadEncoding(path, f"the head of the file index cannot be decoded: {error}") from error


_name = lru_cache(maxsize=_KEPT_NAMES)(text_of_modified_utf8)
"""Decodes the names of columns and types; cached, because the files of a table have the same ones."""


class HeadLayout:
    """The common part of heads with the same columns and types: everything except positions.

    ``indexes`` are the columns and types in the order of the head; ``filters`` are the numbers of the bloom filters.
    """

    def __init__(self, head: bytes, indexes: Sequence[tuple[str, str]], starts: Sequence[int]) -> None:
        """``starts`` are the positions in the head at which the place of each index (column and type) is stored."""
        mask, form, at = bytearray(b"\xff" * len(head)), ">", 0
        for start in starts:
            mask[start : start + _PLACE.size] = bytes(_PLACE.size)
            form += f"{start - at}xii"
            at = start + _PLACE.size
        self._mask = int.from_bytes(mask, "big")
        self._fixed = int.from_bytes(head, "big") & self._mask
        self._numbers = struct.Struct(f"{form}{len(head) - at}x")
        self.indexes = tuple(indexes)
        self.filters = tuple(n for n, (_, index_type) in enumerate(indexes) if index_type == BLOOM_FILTER)

    def fits(self, head: bytes) -> bool:
        """Return whether a head of the same length has this layout."""
        return int.from_bytes(head, "big") & self._mask == self._fixed

    def numbers(self, head: bytes) -> tuple[int, ...]:
        """Return the start and the length of each index of a head with this layout. Raises ``ValueError``."""
        found = self._numbers.unpack(head)
        if found and min(found) < 0:
            for start, length in zip(found[::2], found[1::2], strict=True):
                _place(start, length)
        return found

    def places(self, numbers: Sequence[int]) -> IndexPlaces:
        """Return the places of a head with these numbers."""
        found: dict[str, dict[str, IndexPlace]] = {}
        for (column, index_type), start, length in zip(self.indexes, numbers[::2], numbers[1::2], strict=True):
            found.setdefault(column, {})[index_type] = IndexPlace(start, length)
        return found


_layouts: Final[dict[int, HeadLayout]] = {}
"""The last layout, by the length of the head."""


def _decode_and_keep(head: bytes) -> HeadLayout:
    _, layout = _decode_head(head)
    if len(head) <= _MAX_KEPT_BYTES:
        if len(_layouts) >= _KEPT_LAYOUTS:
            _layouts.clear()
        _layouts[len(head)] = layout
    return layout


def _place(start: int, length: int) -> IndexPlace:
    if start < _NOWHERE or length < 0 or (start == _NOWHERE and length):
        message = f"an index has an invalid place: {length} bytes at byte {start}"
        raise ValueError(message)
    return IndexPlace(start, length)


def _decode_head(head: bytes) -> tuple[IndexPlaces, HeadLayout]:
    at = PREFIX_BYTES

    def text() -> str:
        nonlocal at
        (length,) = _LENGTH.unpack_from(head, at)
        start, at = at + _LENGTH.size, at + _LENGTH.size + length
        if at > len(head):
            message = f"a name of {length} bytes exceeds the head"
            raise ValueError(message)
        return _name(head[start:at])

    def number() -> int:
        nonlocal at
        (value,) = _INT.unpack_from(head, at)
        at += _INT.size
        if value < 0:
            message = f"{value} is not a valid count"
            raise ValueError(message)
        return int(value)

    found: dict[str, dict[str, IndexPlace]] = {}
    indexes, starts = [], []
    for _ in range(number()):
        column, of_column = text(), dict[str, IndexPlace]()
        _put_once(found, column, of_column)
        for _ in range(number()):
            index_type = text()
            indexes.append((column, index_type))
            starts.append(at)
            _put_once(of_column, index_type, _place(*_PLACE.unpack_from(head, at)))
            at += _PLACE.size
    end = number() + at
    if end != len(head):
        message = f"its entries end at byte {end} of {len(head)}"
        raise ValueError(message)
    return found, HeadLayout(head, indexes, starts)


def _put_once(found: dict[str, _Found], name: str, value: _Found) -> None:
    if name in found:
        message = f"{name!r} occurs twice"
        raise ValueError(message)
    found[name] = value


def look_up_parts(places: IndexPlaces, *, head_length: int) -> list[IndexPlace]:
    """Return what a lookup of keys reads: the head, and the indexes that only support lookups, in the order of the
    file.

    >>> look_up_parts({"a": {"bsi": IndexPlace(90, 7), "bloom-filter": IndexPlace(80, 10)}}, head_length=80)
    [IndexPlace(start=0, length=80), IndexPlace(start=80, length=10)]
    """
    filters = [of_column[BLOOM_FILTER] for of_column in places.values() if BLOOM_FILTER in of_column]
    return [IndexPlace(0, head_length), *sorted(place for place in filters if not place.is_empty)]


def look_up_hash(data: bytes, *, min_bytes: int = MIN_BYTES_FOR_PARTS) -> int | None:
    """Return the hash of the lookup parts of a container; ``None`` if it is small, or a lookup reads all or nothing.

    >>> look_up_hash(encode_file_index({"a": {"bloom-filter": bytes(9)}})) is None
    True
    """
    if len(data) < min_bytes:
        return None
    length = int.from_bytes(data[PREFIX_BYTES - _INT.size : PREFIX_BYTES], "big")
    parts = look_up_parts(_decode_head(data[:length])[0], head_length=length)
    if len(parts) == 1 or sum(part.length for part in parts) == len(data):
        return None
    return hash_of_parts(data[part.start : part.start + part.length] for part in parts)


def check_places(places: IndexPlaces, *, head_length: int, size: int, path: str) -> None:
    """Check the places against a complete container: indexes must follow each other from the head to the end.

    Otherwise an index with a wrong place or length would be read from the bytes of another index.

    Raises:
        Truncated: the last index extends beyond the end.
        BadEncoding: there is a gap, an overlap, or data after the last index.
    """
    end = head_length
    each = [place for of_column in places.values() for place in of_column.values() if place.start != _NOWHERE]
    for start, length in sorted(each):
        if start != end:
            raise BadEncoding(path, f"an index of the file index begins at {start}, expected {end}")
        end += length
    if end > size:
        raise Truncated(path, expected_bytes=end, found_bytes=size)
    if end < size:
        raise BadEncoding(path, f"the file index has {size} bytes, but its indexes end at {end}")


def _in_java_order(names: Iterable[str]) -> list[str]:
    """Return names in the iteration order of a ``HashMap``: by slot of its table, which doubles as it fills."""
    listed = list(names)
    slots = 16
    while len(listed) > slots * 3 // 4:
        slots *= 2
    return sorted(listed, key=lambda name: _spread(java_hash(name)) & (slots - 1))


def _spread(code: int) -> int:
    return code ^ (code >> 16)
