"""The container of all file indexes of one data file (format chapter 09, section 2; Java ``FileIndexFormat``).

Columns come in the order of Java's ``HashMap``, which readers do not need, so that equal indexes are equal bytes (but
for two names in one slot of the map).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from table_format.errors import BadEncoding, LimitExceeded, Truncated
from table_format.limits import MAX_FILE_INDEX_HEAD_BYTES
from table_format.model.java_text import java_hash, modified_utf8, text_of_modified_utf8

PREFIX_BYTES: Final = 16
"""Magic, version and the length of the head, which counts from the first byte of all."""

_PREFIX: Final = struct.Struct(">qii")
_INT: Final = struct.Struct(">i")
_PLACE: Final = struct.Struct(">ii")
_LENGTH: Final = struct.Struct(">H")
_MAGIC: Final = 1493475289347502
_VERSION: Final = 1
_NOWHERE: Final = -1

_KEPT_NAMES: Final = 1024
_KEPT_HEADS: Final = 256
_MAX_KEPT_BYTES: Final = 4096
"""Files with the same columns and settings mostly have the same head: so many of them are decoded once."""


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Where an index lies in the container, counted from its first byte; empty means that all values are null."""

    start: int
    length: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return self.start == _NOWHERE


_Found = TypeVar("_Found")

IndexPlaces: TypeAlias = Mapping[str, Mapping[str, IndexPlace]]
"""By column, and there by type of index."""


def encode_file_index(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """The container of indexes by column and type; ``None`` is one that is empty.

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
    head, body = bytearray(_PREFIX.pack(_MAGIC, _VERSION, head_length)), bytearray()
    head += _INT.pack(len(ordered))
    for column, of_column in ordered:
        head += _LENGTH.pack(len(column)) + column + _INT.pack(len(of_column))
        for index_type, payload in of_column:
            place = (_NOWHERE, 0) if payload is None else (head_length + len(body), len(payload))
            head += _LENGTH.pack(len(index_type)) + index_type + _PLACE.pack(*place)
            body += payload or b""
    head += _INT.pack(0)
    return bytes(head + body)


def head_length(data: bytes, *, path: str) -> int | None:
    """How long the head is of the container that begins with these bytes; ``None`` for a version not known here.

    Raises:
        BadEncoding: it is no such container.
        LimitExceeded: the head is longer than any sound one.
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
    """Where the indexes lie, from a whole head.

    Raises:
        BadEncoding: the head ends too early, or holds what cannot be.
    """
    try:
        return _decode_head(head) if len(head) > _MAX_KEPT_BYTES else _kept_head(head)
    except (struct.error, ValueError) as error:
        raise BadEncoding(path, f"the head of the file index cannot be decoded: {error}") from error


_name = lru_cache(maxsize=_KEPT_NAMES)(text_of_modified_utf8)
"""Of columns and of types: the files of a table have the same ones."""


@lru_cache(maxsize=_KEPT_HEADS)
def _kept_head(head: bytes) -> IndexPlaces:
    return _decode_head(head)


def _decode_head(head: bytes) -> IndexPlaces:
    at = PREFIX_BYTES

    def text() -> str:
        nonlocal at
        (length,) = _LENGTH.unpack_from(head, at)
        start, at = at + _LENGTH.size, at + _LENGTH.size + length
        if at > len(head):
            message = f"a name of {length} bytes goes beyond its end"
            raise ValueError(message)
        return _name(head[start:at])

    def number() -> int:
        nonlocal at
        (value,) = _INT.unpack_from(head, at)
        at += _INT.size
        if value < _NOWHERE:
            message = f"{value} is no number of things or place"
            raise ValueError(message)
        return int(value)

    def place() -> IndexPlace:
        found = IndexPlace(number(), number())
        if found.length < 0 or (found.is_empty and found.length):
            message = f"an index of {found.length} bytes at {found.start} cannot be"
            raise ValueError(message)
        return found

    found: dict[str, dict[str, IndexPlace]] = {}
    for _ in range(number()):
        of_column: dict[str, IndexPlace] = {}
        _put_once(found, text(), of_column)
        for _ in range(number()):
            _put_once(of_column, text(), place())
    end = number() + at
    if end != len(head):
        message = f"it ends at {end} of {len(head)} bytes"
        raise ValueError(message)
    return found


def _put_once(found: dict[str, _Found], name: str, value: _Found) -> None:
    if name in found:
        message = f"{name!r} is there twice"
        raise ValueError(message)
    found[name] = value


def check_places(places: IndexPlaces, *, head_length: int, size: int, path: str) -> None:
    """Compare the places with a whole container: indexes follow each other from the head to the end.

    An index whose place or length is wrong would otherwise be read from bytes of another one.

    Raises:
        Truncated: the last one goes beyond the end.
        BadEncoding: there is a gap, an overlap, or something behind the last one.
    """
    end = head_length
    each = (place for of_column in places.values() for place in of_column.values() if not place.is_empty)
    for place in sorted(each, key=lambda place: (place.start, place.length)):
        if place.start != end:
            raise BadEncoding(path, f"an index of the file index is said to begin at {place.start}, expected {end}")
        end += place.length
    if end > size:
        raise Truncated(path, expected_bytes=end, found_bytes=size)
    if end < size:
        raise BadEncoding(path, f"the file index has {size} bytes, and its indexes end at {end}")


def _in_java_order(names: Iterable[str]) -> list[str]:
    """Names in the order a ``HashMap`` of them is walked in: by place in its table, which doubles as it fills."""
    listed = list(names)
    slots = 16
    while len(listed) > slots * 3 // 4:
        slots *= 2
    return sorted(listed, key=lambda name: _spread(java_hash(name)) & (slots - 1))


def _spread(code: int) -> int:
    return code ^ (code >> 16)
