"""Splits: the units a scan is read in."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DeletionVectorRange


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The vector of one data file: full path of the index file and where in it the vector lies."""

    path: str
    range: DeletionVectorRange


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """Files of one bucket to be read together.

    ``raw_convertible`` means that concatenating the files is the answer: no merge is needed. ``deletion_files`` is
    empty, or has one item (or ``None``) for each file.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    raw_convertible: bool
    deletion_files: tuple[DeletionFile | None, ...] = ()

    @property
    def row_count(self) -> int:
        """Physical rows in the files."""
        return sum(file.row_count for file in self.files)
