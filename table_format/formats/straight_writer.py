"""The common part of bucket writers whose rows go directly to an open file. Memory holds one row group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta


class StraightWriter(ABC):
    """Write the rows of one bucket to files in the order they come, without ever compacting."""

    buffers_rows: Final = False
    """Rows do not wait in memory: closing the open file is what makes them part of a message."""

    def __init__(self) -> None:
        self._files: RollingDataFileWriter | None = None

    @abstractmethod
    def _open(self) -> RollingDataFileWriter:
        """The writer of the next files."""

    @abstractmethod
    def _message(self, files: tuple[DataFileMeta, ...]) -> CommitMessage:
        """The message of files that were closed."""

    def prepare(self, *, compact: object = False) -> CommitMessage:  # noqa: ARG002 - a writer that never compacts
        """Close the files and hand them over; the message is empty when no row came since the last call."""
        files = () if self._files is None else self._files.close()
        self._files = None
        return self._message(files)

    def finish(self) -> CommitMessage:
        """The same as ``prepare``: no compaction is running."""
        return self.prepare()

    def abort(self) -> None:
        """Delete what was written since the last ``prepare``."""
        if self._files is not None:
            self._files.abort()
            self._files = None

    def begin_compaction(self) -> None:  # noqa: B027 - it has nothing to do
        """Do nothing: rows stay as they were written."""

    def were_committed(self, names: Iterable[str]) -> None:  # noqa: B027 - it has nothing to do
        """Do nothing: the writer never reads its files again."""

    def release(self) -> None:  # noqa: B027 - it has nothing to give
        """No compaction is running."""

    def _append(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        if self._files is None:
            self._files = self._open()
        self._files.write(rows)
