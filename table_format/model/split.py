"""Splits, the units in which a scan is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pyroaring import FrozenBitMap

from table_format.counted import counted
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DeletionVectorRange


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The location of a deletion vector: full path of the index file, offset, length and recorded size in bytes."""

    path: str
    range: DeletionVectorRange
    file_size: int | None = field(default=None, compare=False)


class SplitContent(StrEnum):
    """The contents of the files of a split, which determine how they are read."""

    STATE = "state"
    """Versions of rows; only the newest version of each key counts."""
    CHANGES = "changes"
    """Changes in their order, from delta or changelog files; each change counts."""
    DIFFERENCE = "difference"
    """Two states, ``before_files`` and ``files``; the differences between them count."""
    REPLACEMENT = "replacement"
    """The rows of ``before_files`` are retracted, and then those of ``files`` are added."""


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A snapshot that a reader depends on.

    The name of its delta manifest list, if it is known, distinguishes it from another snapshot that has its id after a
    rollback.
    """

    id: int
    delta_manifest_list: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """Files of one bucket to be read together.

    ``raw_convertible`` means that the files can be concatenated without merging. ``deletion_files`` is empty, or
    has one item (or ``None``) for each file. ``selections`` too is empty or has one item (or ``None``) for each
    file: the positions of the only rows that can match the filter of the scan. ``branch`` names the branch whose
    schemas and options are used for reading, if it is not the branch of the scan. ``oldest_snapshot_id`` is set if
    files come from earlier snapshots, which must be retained too. ``delta_manifest_list`` is that of the snapshot.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    raw_convertible: bool
    deletion_files: tuple[DeletionFile | None, ...] = ()
    selections: tuple[FrozenBitMap | None, ...] = ()
    content: SplitContent = SplitContent.STATE
    before_files: tuple[DataFileMeta, ...] = ()
    before_deletion_files: tuple[DeletionFile | None, ...] = ()
    branch: str | None = None
    oldest_snapshot_id: int | None = None
    delta_manifest_list: str | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        size = f"{counted(len(self.files), 'file')}, {counted(self.row_count, 'stored row', thousands=True)}"
        return f"DataSplit(snapshot {self.snapshot_id}, bucket {self.bucket} of {self.total_buckets}, {size})"

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The ids of ``snapshots``."""
        return tuple(snapshot.id for snapshot in self.snapshots)

    @property
    def snapshots(self) -> tuple[SnapshotRef, ...]:
        """The snapshots that must be retained while the files are read, oldest first."""
        newest = SnapshotRef(self.snapshot_id, self.delta_manifest_list)
        if self.oldest_snapshot_id is None or self.oldest_snapshot_id == self.snapshot_id:
            return (newest,)
        return SnapshotRef(self.oldest_snapshot_id), newest

    @property
    def row_count(self) -> int:
        """The number of physical rows in the files."""
        return sum(file.row_count for file in (*self.before_files, *self.files))
