"""The writer of one bucket of an append table (format chapter 06, sections 4 and 6; Java ``AppendOnlyWriter``).

Rows go directly to the open file, in order of arrival, so memory holds one row group. Sequence numbers count rows; if
the rows of a bucket are ordered, they continue from the last number of the bucket.
"""

from __future__ import annotations

import pyarrow as pa

from table_format.formats.bucket_files import BucketFiles
from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.formats.straight_writer import StraightWriter
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource


class AppendWriter(StraightWriter):
    """Write to one bucket; ``existing_max_sequence`` is -1 for an empty bucket and for a table without buckets."""

    def __init__(self, bucket: BucketFiles, *, existing_max_sequence: int = -1) -> None:
        super().__init__()
        self._bucket = bucket
        self._next_sequence = existing_max_sequence + 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows: exactly the table's columns."""
        self._append(batch)

    def _open(self) -> RollingDataFileWriter:
        return RollingDataFileWriter(
            self._bucket, level=0, source=FileSource.APPEND, first_sequence_number=self._next_sequence
        )

    def _message(self, files: tuple[DataFileMeta, ...]) -> CommitMessage:
        if files:
            self._next_sequence = files[-1].max_sequence_number + 1
        return self._bucket.message(new_files=files)
