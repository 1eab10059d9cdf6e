"""The identity of one bucket of a table: its partition and its number."""

from __future__ import annotations

from typing import NamedTuple


class BucketId(NamedTuple):
    """One bucket of one partition. Bucket ids are ordered by the bytes of the partition, then by number.

    It is a tuple because tuples are hashed and compared fast in dictionaries with an entry for each bucket.

    >>> BucketId(b"", 3) == (b"", 3)
    True
    """

    partition: bytes
    """The serialised BinaryRow of the partition values."""

    bucket: int
    """The number of the bucket, from 0; -2 for postponed rows, which have no bucket yet."""
