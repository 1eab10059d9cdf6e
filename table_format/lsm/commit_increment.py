"""The changes of a writer in a bucket since its last commit message, including several compactions.

Java ``MergeTreeWriter.updateCompactResult``. A file that one compaction created and the next one consumed was never
visible. It is deleted immediately and appears in no list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from table_format.formats.bucket_files import BucketFiles
from table_format.lsm.bucket_deletion_vectors import BucketVectors
from table_format.lsm.levels import Levels, levels_fingerprint
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The removed and the added files of a compaction. An upgraded file is in both, at another level."""

    before: tuple[DataFileMeta, ...]
    after: tuple[DataFileMeta, ...]
    changelog: tuple[DataFileMeta, ...] = ()


class CommitIncrement:
    """The new files and the combined result of all compactions of one bucket."""

    def __init__(self, bucket: BucketFiles) -> None:
        self._bucket = bucket
        self._new: list[DataFileMeta] = []
        self._before: dict[str, DataFileMeta] = {}
        self._after: list[DataFileMeta] = []
        self._changelog: list[DataFileMeta] = []
        self._compact_changelog: list[DataFileMeta] = []
        self._levels_base: bytes | None = None

    def flushed(self, files: Sequence[DataFileMeta], changelog: Sequence[DataFileMeta] = ()) -> None:
        """Add new level-0 files, and the changelog files of their rows."""
        self._new.extend(files)
        self._changelog.extend(changelog)

    def compacted(self, result: CompactResult, levels: Levels) -> None:
        """Add the result of a compaction of these levels."""
        if self._levels_base is None and self._bucket.options.compacts_by_lookup:
            # Only files that are removed are checked otherwise, and keys were looked up in others.
            self._levels_base = levels_fingerprint(levels.files)
        kept = {file.file_name for file in result.after}
        for file in result.before:
            if file not in self._after:
                self._before[file.file_name] = file
                continue
            self._after.remove(file)
            # An upgraded file must not be deleted: a snapshot names it at its old level.
            if file.file_name not in self._before and file.file_name not in kept:
                self._bucket.delete(file)
        self._after.extend(result.after)
        self._compact_changelog.extend(result.changelog)

    def drain(self, deletion_vectors: BucketVectors | None, levels: Levels) -> CommitMessage:
        """Return all changes as one message, with the deletion vectors of live files, and reset."""
        removed, added = ((), ()) if deletion_vectors is None else deletion_vectors.write(levels.files)
        message = self._bucket.message(
            new_files=tuple(self._new),
            compact_before=tuple(self._before.values()),
            compact_after=tuple(self._after),
            changelog=tuple(self._changelog),
            compact_changelog=tuple(self._compact_changelog),
        )
        base = self._levels_base
        self._clear()
        return replace(message, compact_deleted_index_files=removed, compact_new_index_files=added, levels_base=base)

    def forget_compactions(self) -> None:
        """Undo all compactions: delete their output, and keep the new files."""
        made = self._compacted
        self._before, self._after, self._compact_changelog = {}, [], []
        self._levels_base = None
        self._bucket.delete(*made)

    def abort(self) -> None:
        """Delete every file that these changes created."""
        made = [*self._new, *self._changelog, *self._compacted]
        self._clear()
        self._bucket.delete(*made)

    @property
    def _compacted(self) -> list[DataFileMeta]:
        """The files that compactions created, without those that were only moved to another level."""
        return [*(file for file in self._after if file.file_name not in self._before), *self._compact_changelog]

    def _clear(self) -> None:
        self._new, self._before, self._after = [], {}, []
        self._changelog, self._compact_changelog = [], []
        self._levels_base = None
