"""Commit messages and committables, the input of a commit.

Format chapter 10, section 1; Java ``CommitMessage``, ``ManifestCommittable``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """The changes of one writer in one bucket of one partition, which are not visible before they are committed.

    ``partition`` is a serialised BinaryRow. ``new_*`` members belong to the APPEND snapshot, ``compact_*`` members to
    the COMPACT snapshot. ``schema_id`` is the schema of the writer, and ``schemas`` are the identities of the schemas
    of the new files: after a fast-forward, another schema may have the id. ``made_ms`` is the epoch time when the
    message was made, before which no snapshot has its new files. ``rewrites`` states that the new rows were computed
    from rows of the table. The other members name the state on which the changes are based. The message cannot be
    committed if that state is out of date:

    ``hash_index_base`` is the fingerprint of the hash index files of the partition with which rows were assigned to
    buckets. It is out of date if the partition has different files now.

    ``key_places_base`` is the id of the snapshot in which the places of the keys were found, for a cross-partition
    table. ``rows_base`` is the id of the snapshot in which a DELETE, UPDATE or MERGE found the rows to change. They are
    out of date if other commits have written the same keys since.

    ``key_places_after`` names a new file of the message before, by whose rows the places of the keys were found too:
    the messages of a write to such a table form a chain. The message cannot be committed before or without that one.

    ``numbers_base`` is the id of the snapshot after which the sequence numbers of upserts continue. It is out of date
    if a statement has changed one of the keys since: the changed row may have a number as high, so the upsert could
    lose against it although it is committed later.

    ``levels_base`` is the fingerprint of the bucket's files above level 0 in which a compaction looked up keys. It is
    out of date if the bucket has other files there now: the results would hide rows that the compaction has not seen.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    deleted_files: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    new_index_files: tuple[IndexFileMeta, ...] = ()
    deleted_index_files: tuple[IndexFileMeta, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog_files: tuple[DataFileMeta, ...] = ()
    compact_new_index_files: tuple[IndexFileMeta, ...] = ()
    compact_deleted_index_files: tuple[IndexFileMeta, ...] = ()
    hash_index_base: bytes | None = None
    key_places_base: str | None = None
    key_places_after: tuple[str, ...] = ()
    rows_base: str | None = None
    numbers_base: str | None = None
    levels_base: bytes | None = None
    schema_id: int | None = None
    schemas: tuple[str, ...] = ()
    made_ms: int | None = None
    rewrites: bool = False

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the work."""
        return BucketId(self.partition, self.bucket)

    @property
    def is_empty(self) -> bool:
        """Whether the message changes nothing."""
        return not (
            self.new_files
            or self.deleted_files
            or self.changelog_files
            or self.new_index_files
            or self.deleted_index_files
            or self.compact_before
            or self.compact_after
            or self.compact_changelog_files
            or self.compact_new_index_files
            or self.compact_deleted_index_files
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Committable:
    """All messages of one transaction, with the commit identifier that makes it take effect exactly once."""

    identifier: int
    messages: tuple[CommitMessage, ...]
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    operation: str | None = None
    """``UPDATE``, ``DELETE`` or ``MERGE`` if the transaction changes rows that it read."""
