"""A hash of a file's bytes within its name, so that damaged and exchanged files are noticed.

The format has no checksums for manifests, lists, statistics and most indexes, but their names are ours to choose: a
word, a UUID, a number. New files get a UUID of version 8 (RFC 9562, section 5.8), whose 122 free bits are 58 that make
it unique and 64 of the file's XXH3 hash. Other writers use version 4; of such names nothing is concluded, and other
readers see nothing but a UUID.

The name of a large file index states a second hash behind the UUID: that of the parts that a look-up of keys reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from xxhash import xxh3_64, xxh3_64_intdigest

from table_format.errors import BadEncoding

_UNIQUE: Final = (1 << 58) - 1
"""Of a UUID both halves are taken together, so that it does not matter where its chance, or its counter, is."""

_HASH_BITS: Final = 64
_VERSION_BITS: Final = 8 << 76
_VARIANT_BITS: Final = 0b10 << 62
_LOW: Final = (1 << 62) - 1
"""What follows the variant; 60 bits come before it, with the version among them."""

_UUID_8: Final = "[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_HASH: Final = "[0-9a-f]{16}"
_NAME: Final = re.compile(rf"(?:manifest|manifest-list|index-manifest|index|stat)-({_UUID_8})-[0-9]+")
_INDEX_END: Final = ".index"
_INDEX_NAME: Final = re.compile(rf"({_UUID_8})(?:-({_HASH}))?")
"""What stands before the end of the name of an index of a data file, behind the name of that file."""


def content_uuid(unique: str, data: bytes) -> str:
    """The UUID for the name of a file of these bytes; ``unique``, a UUID as well, keeps equal files apart.

    >>> content_uuid("7f60b530-056b-4692-9e07-7c8e9fd4e68a", b"some bytes")
    '59f26fa6-afe8-8061-85c9-7cf9b0447624'
    """
    given = _number_of(unique)
    bits = ((given ^ given >> 64) & _UNIQUE) << _HASH_BITS | xxh3_64_intdigest(data)
    high, low = bits >> 62, bits & _LOW
    text = f"{(high >> 12) << 80 | _VERSION_BITS | (high & 0xFFF) << 64 | _VARIANT_BITS | low:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def stated_hash(name: str) -> int | None:
    """The hash that the name of a file states, or ``None`` for a name that states none.

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
    """The hash of some parts of a file that its name states besides that of the whole, or ``None``.

    >>> hex(stated_parts_hash("d.59f26fa6-afe8-8061-85c9-7cf9b0447624-00000000000000ff.index") or 0)
    '0xff'
    """
    if not name.endswith(_INDEX_END):
        return None
    found = _matched(name)
    return int(found[2], 16) if found is not None and found[2] else None


def states_content(path: str) -> bool:
    """Whether the name of a file states its content."""
    return _matched(path.rpartition("/")[2]) is not None


def check_content(data: bytes, *, path: str) -> None:
    """Compare the bytes of a whole file with the hash in its name, if there is one.

    Raises:
        BadEncoding: they are other bytes than were written under that name.
    """
    expected = stated_hash(path.rpartition("/")[2])
    if expected is not None:
        _check(expected, xxh3_64_intdigest(data), path)


def hash_of_parts(parts: Iterable[bytes]) -> int:
    """The hash of parts of a file, one after the other.

    >>> hash_of_parts([b"some ", b"bytes"]) == xxh3_64_intdigest(b"some bytes")
    True
    """
    found = xxh3_64()
    for part in parts:
        found.update(part)
    return found.intdigest()


def check_parts(parts: Iterable[bytes], *, stated: int, path: str) -> None:
    """Compare parts of a file with the hash of them that its name states.

    Raises:
        BadEncoding: they are other bytes than were written under that name.
    """
    _check(stated, hash_of_parts(parts), path)


def _check(expected: int, found: int, path: str) -> None:
    if found != expected:
        message = f"the content does not match the hash in its name: expected {expected:016x}, found {found:016x}"
        raise BadEncoding(path, f"{message}; the file is damaged, or another was put in its place")


def _matched(name: str) -> re.Match[str] | None:
    if not name.endswith(_INDEX_END):
        return _NAME.fullmatch(name)
    parts = name.rsplit(".", 2)
    return _INDEX_NAME.fullmatch(parts[1]) if len(parts) == 3 and parts[0] else None


def _number_of(uuid: str) -> int:
    return int(uuid.replace("-", ""), 16)
