"""The remote stores of the lakes of this process, which ``format("paimon")`` finds by the path that it loads.

The keys of a store are not options of a read, because Spark shows those in plans. They travel with the class of the
data source instead, as they travel with the tasks of a lake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.io.file_io import FileIO, RemoteStore

Stores = Mapping[str, FileIO]
"""Stores by the URI of their bucket, such as ``s3://lake``."""

_KNOWN: Final[dict[str, FileIO]] = {}


def remember_store(io: FileIO, warehouse: str) -> None:
    """Let later reads and writes of this bucket use the keys of this store; ``warehouse`` is a path in it."""
    if isinstance(io, RemoteStore):
        _KNOWN[bucket_of(io.uri(warehouse))] = io


def known_stores() -> Stores:
    """Return the stores that were remembered so far."""
    return dict(_KNOWN)


def bucket_of(uri: str) -> str:
    """Return the URI of the bucket of a URI; a plain path is returned as it is.

    >>> bucket_of("s3a://lake/warehouse/shop.db"), bucket_of("/data/warehouse")
    ('s3a://lake', '/data/warehouse')
    """
    scheme, separator, path = uri.partition("://")
    return f"{scheme}://{path.partition('/')[0]}" if separator else uri
