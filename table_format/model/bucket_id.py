"""The identity of one bucket of a table: its partition and its number."""

from __future__ import annotations

from typing import NamedTuple


class BucketId(NamedTuple):
    """One bucket of one partition; sorts by the bytes of the partition, then by number.

    A tuple, so that it hashes and compares at the speed of one in dictionaries with an entry for each bucket.

    >>> BucketId(b"", 3) == (b"", 3)
    True
    """

    partition: bytes
    """The serialised BinaryRow of the partition values."""

    bucket: int
    """From 0; -2 for rows of a table with postponed buckets that have no bucket yet."""
