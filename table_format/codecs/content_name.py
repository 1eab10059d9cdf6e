"""File names that contain a hash of the file's bytes, so that damaged and exchanged files are detected.

The format has no checksums for manifests, manifest lists, statistics and most indexes, but the writer chooses their
names: a word, a UUID, a number. New files get a UUID of version 8 (RFC 9562, section 5.8). Of its 122 free bits, 58
make it unique, and 64 contain the file's XXH3 hash. Other writers use version 4, and their names are not checked. For
other readers, the name is an ordinary UUID.

The name of a large file index contains a second hash after the UUID: that of the parts that a lookup of keys reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from xxhash import xxh3_64, xxh3_64_intdigest

from table_format.errors import BadEncoding

_UNIQUE: Final = (1 << 58) - 1
"""Both halves of a UUID are combined, so it does not matter which half contains the random bits or the counter."""

_HASH_BITS: Final = 64
_VERSION_BITS: Final = 8 << 76
_VARIANT_BITS: Final = 0b10 << 62
_LOW: Final = (1 << 62) - 1
"""The bits after the variant; 60 bits, including the version, precede it."""

_UUID_8: Final = "[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_HASH: Final = "[0-9a-f]{16}"
_NAME: Final = re.compile(rf"(?:manifest|manifest-list|index-manifest|index|stat)-({_UUID_8})-[0-9]+")
_INDEX_END: Final = ".index"
_INDEX_NAME: Final = re.compile(rf"({_UUID_8})(?:-({_HASH}))?")
"""The part of an index file name between the name of the data file and the extension."""


def content_uuid(unique: str, data: bytes) -> str:
    """Return the UUID for the name of a file with these bytes; ``unique`` is a UUID that distinguishes equal files.

    >>> content_uuid("7f60b530-056b-4692-9e07-7c8e9fd4e68a", b"some bytes")
    '59f26fa6-afe8-8061-85c9-7cf9b0447624'
    """
    given = _number_of(unique)
    bits = ((given ^ given >> 64) & _UNIQUE) << _HASH_BITS | xxh3_64_intdigest(data)
    high, low = bits >> 62, bits & _LOW
    text = f"{(high >> 12) << 80 | _VERSION_BITS | (high & 0xFFF) << 64 | _VARIANT_BITS | low:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def stated_hash(name: str) -> int | None:
    """Return the hash in the name of a file, or ``None`` if the name has none.

    >>> stated_hash("manifest-59f26fa6-afe8-8061-85c9-7cf9b0447624-0") == xxh3_64_intdigest(b"some bytes")
    True
    >>> stated_hash("manifest-7f60b530-056b-4692-9e07-7c8e9fd4e68a-0") is None
    True
    """
    found = _matched(name)
    if found is None:
        return None
    number = _number_of(found[1])
    return (number >> 64 & 0b11) << 62 | number & _LOW


def stated_parts_hash(name: str) -> int | None:
    """Return the second hash in the name of a file, that of the lookup parts, or ``None`` if the name has none.

    >>> hex(stated_parts_hash("d.59f26fa6-afe8-8061-85c9-7cf9b0447624-00000000000000ff.index") or 0)
    '0xff'
    """
    if not name.endswith(_INDEX_END):
        return None
    found = _matched(name)
    return int(found[2], 16) if found is not None and found[2] else None


def states_content(path: str) -> bool:
    """Return whether the name of a file contains a hash of its content."""
    return _matched(path.rpartition("/")[2]) is not None


def check_content(data: bytes, *, path: str) -> None:
    """Compare the bytes of a whole file with the hash in its name, if there is one.

    Raises:
        BadEncoding: the bytes differ from those written under this name.
    """
    expected = stated_hash(path.rpartition("/")[2])
    if expected is not None:
        _check(expected, xxh3_64_intdigest(data), path)


def hash_of_parts(parts: Iterable[bytes]) -> int:
    """Return the hash of the concatenated parts of a file.

    >>> hash_of_parts([b"some ", b"bytes"]) == xxh3_64_intdigest(b"some bytes")
    True
    """
    found = xxh3_64()
    for part in parts:
        found.update(part)
    return found.intdigest()


def check_parts(parts: Iterable[bytes], *, stated: int, path: str) -> None:
    """Compare parts of a file with the hash of these parts in its name.

    Raises:
        BadEncoding: the bytes differ from those written under this name.
    """
    _check(stated, hash_of_parts(parts), path)


def _check(expected: int, found: int, path: str) -> None:
    if found != expected:
        message = f"the content does not match the hash in its name: expected {expected:016x}, found {found:016x}"
        raise BadEncoding(path, f"{message}; the file is damaged or was replaced")


def _matched(name: str) -> re.Match[str] | None:
    if not name.endswith(_INDEX_END):
        return _NAME.fullmatch(name)
    parts = name.rsplit(".", 2)
    return _INDEX_NAME.fullmatch(parts[1]) if len(parts) == 3 and parts[0] else None


def _number_of(uuid: str) -> int:
    return int(uuid.replace("-", ""), 16)
