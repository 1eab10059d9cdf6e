"""Splits: the units a scan is read in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pyroaring import FrozenBitMap

from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DeletionVectorRange


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The vector of one data file: full path of the index file, where in it the vector lies, and its recorded bytes."""

    path: str
    range: DeletionVectorRange
    file_size: int | None = field(default=None, compare=False)


class SplitContent(StrEnum):
    """The contents of the files of a split, which decide how they are read."""

    STATE = "state"
    """Versions of rows, of which the newest counts."""
    CHANGES = "changes"
    """Changes in the order they were made in, each of which counts: delta or changelog files."""
    DIFFERENCE = "difference"
    """Two states, ``before_files`` and ``files``, of which what differs counts."""
    REPLACEMENT = "replacement"
    """Rows taken back, those of ``before_files``, and then rows put in their place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """Files of one bucket to be read together.

        ``raw_convertible`` means that concatenating the files is the answer: no merge is needed. ``deletion_files`` is
    empty, or has one item (or ``None``) for each file. So has ``selections``: of a file with one, only the rows at
    these positions can meet the filter of the scan. ``branch`` names the branch whose schemas and options the split
    is read with, when that is not the scan's own. ``oldest_snapshot_id`` is given where files come from earlier
    snapshots, which must be retained too.
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

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The snapshots that must be retained while the files are read, oldest first."""
        oldest = self.snapshot_id if self.oldest_snapshot_id is None else self.oldest_snapshot_id
        return (oldest,) if oldest == self.snapshot_id else (oldest, self.snapshot_id)

    @property
    def row_count(self) -> int:
        """Physical rows in the files."""
        return sum(file.row_count for file in (*self.before_files, *self.files))
