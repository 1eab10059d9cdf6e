"""Commit messages and committables, the input of a commit (format chapter 10, section 1; Java ``CommitMessage``,
``ManifestCommittable``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """The work of one writer in one bucket of one partition: nothing of it is visible before it is committed.

    ``partition`` is a serialised BinaryRow. ``new_*`` members go to the APPEND snapshot, ``compact_*`` members to the
    COMPACT snapshot. ``hash_index_base`` is the fingerprint of the hash index files of the partition that rows were
    given their buckets by; when the partition has others by now, the message cannot be committed. ``key_places_base``
    names the snapshot that told where the keys lie, on a table in which they may change their partition, and
    ``rows_base`` the snapshot in which a DELETE, UPDATE or MERGE found the rows it changes; when others have written
    the same keys since, the message cannot be committed. ``numbers_base`` names the snapshot from which the sequence
    numbers of upserts go on: when a statement has changed one of their keys since, its row has a number as high, and
    the upsert, though committed later, could lose against it. ``schema_id`` is the schema the work was done under, and
    ``rewrites`` says that its new rows were made from rows of the table.
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
    rows_base: str | None = None
    numbers_base: str | None = None
    schema_id: int | None = None
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
    """All messages of one transaction, with the identifier that makes it exactly once."""

    identifier: int
    messages: tuple[CommitMessage, ...]
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    operation: str | None = None
    """``UPDATE``, ``DELETE`` or ``MERGE`` where rows were read to be changed."""
