"""The base class of bucket writers that write rows directly to an open file. Memory holds one row group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta


class StraightWriter(ABC):
    """Writes the rows of one bucket to files in the order of their arrival, without compaction."""

    buffers_rows: Final = False
    """Rows are not buffered in memory. They become part of a message when the open file is closed."""

    def __init__(self) -> None:
        self._files: RollingDataFileWriter | None = None

    @abstractmethod
    def _open(self) -> RollingDataFileWriter:
        """Return a writer for the next files."""

    @abstractmethod
    def _message(self, files: tuple[DataFileMeta, ...]) -> CommitMessage:
        """Return the commit message for closed files."""

    def prepare(self, *, compact: object = False) -> CommitMessage:  # noqa: ARG002 - this writer never compacts
        """Close the open file and return the commit message, which is empty without rows since the last call."""
        files = () if self._files is None else self._files.close()
        self._files = None
        return self._message(files)

    def finish(self) -> CommitMessage:
        """Return the same as ``prepare``, because no compaction is running."""
        return self.prepare()

    def abort(self) -> None:
        """Delete the files written since the last ``prepare``."""
        if self._files is not None:
            self._files.abort()
            self._files = None

    def begin_compaction(self) -> None:  # noqa: B027 - optional in subclasses
        """Do nothing, because this writer never compacts."""

    def were_committed(self, names: Iterable[str]) -> None:  # noqa: B027 - optional in subclasses
        """Do nothing, because the writer never reads its files again."""

    def release(self) -> None:  # noqa: B027 - optional in subclasses
        """Do nothing, because no compaction is running."""

    def _append(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        if self._files is None:
            self._files = self._open()
        self._files.write(rows)
