"""Manifest entries and manifest list entries (format chapter 04)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta, SimpleStats

DELETION_VECTORS: Final = "DELETION_VECTORS"
HASH: Final = "HASH"


class FileKind(IntEnum):
    """Whether an entry adds or removes a file. The values are stored on disk; do not change them."""

    ADD = 0
    DELETE = 1


FileIdentifier: TypeAlias = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]
"""Partition, bucket, level, file name, extra files, embedded index and external path, which identify a file."""


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One addition or removal of a file. ``partition`` is a serialised BinaryRow of the partition values."""

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the file."""
        return BucketId(self.partition, self.bucket)

    @property
    def identifier(self) -> FileIdentifier:
        """The identifier of the file, including its level; an ADD and a DELETE of the same file have the same one."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.file_name,
            file.extra_files,
            file.embedded_file_index,
            file.external_path,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFileMeta:
    """The metadata of one manifest in a manifest list. ``file_size`` is in bytes."""

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class DeletionVectorRange:
    """The position of the deletion vector of one data file in an index file; offset and length in bytes."""

    data_file: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFileMeta:
    """One index file: ``HASH`` or ``DELETION_VECTORS``."""

    index_type: str
    file_name: str
    file_size: int
    row_count: int
    deletion_vector_ranges: tuple[DeletionVectorRange, ...] | None = None
    external_path: str | None = None


@dataclass(frozen=True, slots=True)
class IndexManifestEntry:
    """One live index file of a partition and bucket."""

    kind: FileKind
    partition: bytes
    bucket: int
    index_file: IndexFileMeta

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the index file."""
        return BucketId(self.partition, self.bucket)
