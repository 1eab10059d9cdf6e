"""Checks that the files of messages still exist when they are committed for the first time in a process.

A driver that was started again may have messages from before a rollback, or from so long ago that their files were
removed as orphans. A snapshot that names deleted files cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from table_format.errors import ConflictError
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.table.facts import TableFacts


def require_written(facts: TableFacts, messages: Iterable[CommitMessage]) -> None:
    """Refuse messages whose oldest new file does not exist.

    One request is enough: a rollback deletes all files of a commit, and orphan files are removed by their age.

    Raises:
        ConflictError: names the file; nothing was committed.
        TableNotFound, TableReplaced: the table was dropped, and its files with it.
    """
    written = [(message.bucket_id, file) for message in messages for file in _new_files(message)]
    if not written:
        return
    bucket_id, file = min(written, key=lambda found: found[1].creation_time or 0)
    if is_deleted(facts, bucket_id, file):
        require_same_table(facts.store)
        message = (
            f"{_path(facts, bucket_id, file)}: this file of the messages no longer exists. Their commit was rolled "
            "back, or their files were removed as orphans. Nothing was committed; write the rows again"
        )
        raise ConflictError(message)


def _new_files(message: CommitMessage) -> Iterator[DataFileMeta]:
    yield from message.new_files
    # A compaction can move a file to another level, and leave it unchanged.
    replaced = {file.file_name for file in message.compact_before}
    yield from (file for file in message.compact_after if file.file_name not in replaced)


def is_deleted(facts: TableFacts, bucket_id: BucketId, file: DataFileMeta) -> bool:
    """Return whether a file that was written no longer exists."""
    return facts.store.io.status(_path(facts, bucket_id, file)) is None


def _path(facts: TableFacts, bucket_id: BucketId, file: DataFileMeta) -> str:
    return facts.store.paths.data_file(facts.partitions.text(bucket_id.partition), bucket_id.bucket, file)
