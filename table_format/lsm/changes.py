"""What a writer has done since it last handed over, so that one commit can carry several compactions.

Java ``MergeTreeWriter.updateCompactResult``. A file that one compaction made and the next consumed was never visible:
it is deleted at once and named by neither list.
"""

from __future__ import annotations

from collections.abc import Sequence

from table_format.formats.bucket_files import BucketFiles
from table_format.lsm.compact import CompactResult
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta


class Changes:
    """New files, and the sum of all compactions, of one bucket."""

    def __init__(self, bucket: BucketFiles) -> None:
        self._bucket = bucket
        self._new: list[DataFileMeta] = []
        self._before: dict[str, DataFileMeta] = {}
        self._after: list[DataFileMeta] = []

    def flushed(self, files: Sequence[DataFileMeta]) -> None:
        """Note new level-0 files."""
        self._new.extend(files)

    def compacted(self, result: CompactResult) -> None:
        """Add a compaction to those before it."""
        kept = {file.file_name for file in result.after}
        for file in result.before:
            if file not in self._after:
                self._before[file.file_name] = file
                continue
            self._after.remove(file)
            # An upgraded file is not ours alone: a snapshot names it at the level it came from.
            if file.file_name not in self._before and file.file_name not in kept:
                self._bucket.delete(file)
        self._after.extend(result.after)

    def drain(self) -> CommitMessage:
        """All changes as one message; then there are none."""
        message = self._bucket.message(
            new_files=tuple(self._new),
            compact_before=tuple(self._before.values()),
            compact_after=tuple(self._after),
        )
        self._clear()
        return message

    def abort(self) -> None:
        """Delete every file these changes made."""
        made = [*self._new, *(file for file in self._after if file.file_name not in self._before)]
        self._clear()
        for file in made:
            self._bucket.delete(file)

    def _clear(self) -> None:
        self._new, self._before, self._after = [], {}, []
