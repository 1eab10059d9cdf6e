"""Background compaction while a writer continues (format chapter 07, section 2; Java ``MergeTreeCompactManager``).

It compacts files that are already in commit messages, so its result belongs to a later commit. The result is not
visible before that commit, and nothing is lost if the commit never happens. The executor determines where and when it
runs: a thread pool, or a simulation that runs it immediately.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass

from table_format.formats.bucket_files import BucketFiles
from table_format.lsm.bucket_deletion_vectors import BucketVectors
from table_format.lsm.commit_increment import CompactResult
from table_format.lsm.compact import run_compaction
from table_format.lsm.levels import Levels
from table_format.lsm.universal import CompactUnit


@dataclass(frozen=True, slots=True)
class RunningCompaction:
    """A compaction that was started on ``levels``. It owns ``deletion_vectors`` until it is done."""

    bucket: BucketFiles
    levels: Levels
    deletion_vectors: BucketVectors | None
    future: Future[CompactResult]

    @classmethod
    def begin(
        cls,
        executor: Executor,
        bucket: BucketFiles,
        levels: Levels,
        unit: CompactUnit,
        deletion_vectors: BucketVectors | None,
    ) -> RunningCompaction:
        """Submit the work to the executor."""
        return cls(
            bucket, levels, deletion_vectors, executor.submit(run_compaction, bucket, levels, unit, deletion_vectors)
        )

    @property
    def is_done(self) -> bool:
        """Whether ``result`` returns immediately."""
        return self.future.done()

    def result(self) -> CompactResult:
        """Wait for the result and return it. Raises the error of a failed compaction, which leaves no files."""
        return self.future.result()

    def fits(self, levels: Levels, deletion_vectors: BucketVectors | None) -> bool:
        """Return whether the bucket has not changed except for new files on level 0."""
        now = {(file.file_name, file.level) for file in levels.files}
        then = {(file.file_name, file.level) for file in self.levels.files}
        return (
            then <= now
            and all(level == 0 for _, level in now - then)
            and _index_of(deletion_vectors) == _index_of(self.deletion_vectors)
        )

    def discard(self) -> None:
        """Discard the compaction and delete its files."""
        if self.future.cancel() or self.future.exception() is not None:
            return
        result = self.future.result()
        before = {file.file_name for file in result.before}
        self.bucket.delete(*(file for file in result.after if file.file_name not in before), *result.changelog)


def _index_of(deletion_vectors: BucketVectors | None) -> tuple[str, ...]:
    return () if deletion_vectors is None else tuple(file.file_name for file in deletion_vectors.index_files)
