"""The size limits of files that are read completely. They depend on the file name, so every read is checked."""

from __future__ import annotations

from typing import Final

from table_format.limits import MAX_AVRO_BYTES, MAX_HINT_BYTES, MAX_JSON_BYTES, MAX_UNANNOUNCED_BYTES

_HINTS: Final = frozenset({"EARLIEST", "LATEST"})
_JSON: Final = ("snapshot-", "changelog-", "schema-", "tag-", "consumer-", "stat-")


def size_limit(path: str) -> int:
    """Return the maximum size in bytes of a hint, a JSON file, or any other file (a manifest, an index).

    >>> [size_limit(f"/w/{name}") >> 20 for name in ("LATEST", "snapshot-7", "manifest-list-7f60-0")]
    [1, 64, 512]
    """
    name = path.rpartition("/")[2]
    if name in _HINTS:
        return MAX_HINT_BYTES
    return MAX_JSON_BYTES if name.startswith(_JSON) else MAX_AVRO_BYTES


def read_limit(path: str) -> int:
    """Return the maximum number of bytes that ``FileIO.read`` reads: callers check the size of larger files first.

    >>> [read_limit(f"/w/{name}") >> 20 for name in ("LATEST", "snapshot-7", "manifest-list-7f60-0")]
    [1, 64, 16]
    """
    limit = size_limit(path)
    return limit if limit < MAX_AVRO_BYTES else MAX_UNANNOUNCED_BYTES
