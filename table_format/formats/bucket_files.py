"""The data files of one bucket: reads, writes and deletes them, and builds commit messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import DeletingOnFailure, delete_uncommitted
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.schema import TableSchema
from table_format.options.bucket_mode import BucketMode, bucket_mode
from table_format.options.stream import ChangelogProducer
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFiles:
    """The file access of one bucket, for code that reads, writes or deletes its files.

    Rows are written and read with ``schema``. ``schemas`` holds, by id, every schema with which a file may have been
    written. ``partition`` is a serialised BinaryRow, and ``partition_text`` is its directory. Without
    ``with_changelog`` the table's ``changelog-producer`` has no effect; overwrites use this, because they have no
    changelog.
    """

    store: TableStore
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    options: TableOptions
    partition: bytes
    partition_text: str
    bucket: int
    total_buckets: int
    with_changelog: bool = True

    @property
    def bucket_mode(self) -> BucketMode:
        """How the table assigns rows to buckets."""
        return bucket_mode(self.schema, self.options.bucket)

    @property
    def changelog_producer(self) -> ChangelogProducer:
        """How changelog files of the bucket are produced."""
        return self.options.stream.changelog_producer if self.with_changelog else ChangelogProducer.NONE

    @property
    def target_file_bytes(self) -> int:
        """The size at which a file is closed and the next one is started, in bytes."""
        return self.options.files.target_file_size_of(has_primary_key=self.schema.is_primary_key_table)

    @property
    def small_file_bytes(self) -> int:
        """The size below which a compaction rewrites a file, in bytes."""
        return int(self.target_file_bytes * self.options.compaction.small_file_ratio)

    def index_path(self, name: str) -> str:
        """Return the path of an index file of the bucket."""
        beside = self.options.bucket.index_in_data_file_dir
        return self.store.paths.index_file(self.partition_text, self.bucket, name, beside_data=beside)

    def reader(self) -> DataFileReader:
        """Return a reader that returns rows of ``schema``, for operations that write to the bucket.

        The reader raises ``SchemaChanged`` if values of a file with a newer schema would be lost.
        """
        return DataFileReader(self.store, self.schemas, self.schema, self.options, rewriting=True)

    @contextmanager
    def writing(
        self, *, level: int, source: FileSource, changelog: bool = False, first_sequence_number: int = 0
    ) -> Iterator[RollingDataFileWriter]:
        """Open a writer for a ``with`` block, which closes it. If the block fails, all written files are deleted.

        The writer writes data files or changelog files at a level; ``first_sequence_number`` is for append tables.
        """
        writer = RollingDataFileWriter(
            self, level=level, source=source, changelog=changelog, first_sequence_number=first_sequence_number
        )
        with DeletingOnFailure(writer.abort):
            yield writer

    def deleting_on_failure(self, files: Iterable[DataFileMeta]) -> DeletingOnFailure:
        """Delete ``files`` if the ``with`` block fails; no snapshot names them then."""
        return DeletingOnFailure(lambda: self.delete(*files))

    def delete(self, *files: DataFileMeta) -> None:
        """Delete files that no snapshot names."""
        for file in files:
            delete_uncommitted(self.store.io, self.store.paths.files_of(self.partition_text, self.bucket, file))

    def message(
        self,
        *,
        new_files: tuple[DataFileMeta, ...] = (),
        compact_before: tuple[DataFileMeta, ...] = (),
        compact_after: tuple[DataFileMeta, ...] = (),
        changelog: tuple[DataFileMeta, ...] = (),
        compact_changelog: tuple[DataFileMeta, ...] = (),
    ) -> CommitMessage:
        """Return the commit message of this bucket."""
        return CommitMessage(
            partition=self.partition,
            bucket=self.bucket,
            total_buckets=self.total_buckets,
            new_files=new_files,
            changelog_files=changelog,
            compact_before=compact_before,
            compact_after=compact_after,
            compact_changelog_files=compact_changelog,
            schema_id=self.schema.id,
            schemas=(self.schema.identity,),
            made_ms=self.store.runtime.clock.now_ms(),
        )
