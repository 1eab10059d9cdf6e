"""A compaction beside a writer that goes on (format chapter 07, section 2; Java ``MergeTreeCompactManager``).

It takes in files that were handed over to be committed, so what comes of it belongs to a later commit. Nothing of it is
visible before, and nothing is lost if it never gets there. Where and when it runs is the executor's affair: a pool of
threads, or a simulation that runs it at once.
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
    """A compaction that was begun on ``levels``. Until it is done, ``deletion_vectors`` are its own."""

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
        """Hand the work to the executor."""
        return cls(
            bucket, levels, deletion_vectors, executor.submit(run_compaction, bucket, levels, unit, deletion_vectors)
        )

    @property
    def is_done(self) -> bool:
        """Whether ``result`` returns at once."""
        return self.future.done()

    def result(self) -> CompactResult:
        """What came of it, waiting for it if need be; raises what it failed of, and then it has left no file."""
        return self.future.result()

    def fits(self, levels: Levels, deletion_vectors: BucketVectors | None) -> bool:
        """Whether the bucket is still as it was, but for new files on level 0."""
        now = {(file.file_name, file.level) for file in levels.files}
        then = {(file.file_name, file.level) for file in self.levels.files}
        return (
            then <= now
            and all(level == 0 for _, level in now - then)
            and _index_of(deletion_vectors) == _index_of(self.deletion_vectors)
        )

    def discard(self) -> None:
        """Forget it; the files it has made are deleted."""
        if self.future.cancel() or self.future.exception() is not None:
            return
        result = self.future.result()
        before = {file.file_name for file in result.before}
        self.bucket.delete(*(file for file in result.after if file.file_name not in before), *result.changelog)


def _index_of(deletion_vectors: BucketVectors | None) -> tuple[str, ...]:
    return () if deletion_vectors is None else tuple(file.file_name for file in deletion_vectors.index_files)
