"""Files that were handed over and wait for their commit."""

from __future__ import annotations

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from table_format.table.write.uncommitted_files import UncommittedFiles


def a_file(name: str) -> DataFileMeta:
    return DataFileMeta(
        file_name=name,
        file_size=4,
        row_count=1,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=0,
    )


def message(partition: bytes, *new: str, compacted: tuple[str, ...] = ()) -> CommitMessage:
    return CommitMessage(
        partition=partition,
        bucket=0,
        total_buckets=1,
        new_files=tuple(a_file(name) for name in new),
        compact_after=tuple(a_file(name) for name in compacted),
    )


def test_files_wait_until_their_commit_is_seen() -> None:
    files, bucket = UncommittedFiles(), BucketId(b"p", 0)
    assert not files
    files.add([message(b"p", "a", "b"), message(b"q", "c")])
    assert files
    assert files.partitions == {b"p", b"q"}
    files.add([message(b"p", "d")])
    assert [file.file_name for _, file in files.waiting()] == ["a", "b", "c", "d"]
    assert files.settle(bucket, {"a", "of another writer"}) == {"a"}
    assert files.waits(bucket)
    assert files.settle(bucket, {"a", "b", "d"}) == {"b", "d"}
    assert not files.waits(bucket)
    assert files.partitions == {b"q"}
    assert [(b.partition, file.file_name) for b, file in files.waiting()] == [(b"q", "c")]


def test_results_of_compaction_are_held_without_waiting() -> None:
    files, bucket = UncommittedFiles(), BucketId(b"p", 0)
    files.add([message(b"p", "a", compacted=("b",))])
    assert files.holds("a")
    assert files.holds("b")
    assert not files.holds("c")
    assert files.settle(bucket, {"a", "b"}) == {"a"}
    assert not files
    assert files.holds("b")
    files.forget_compacted(bucket)
    assert not files.holds("b")
