"""The writer of a bucket: sequence numbers, flushes, and compaction in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.model.data_file import FileSource
from tests.lsm.tables import UA, A, Bucket, D, WatchedFileIO, batch_of

WRITE_ONLY = {"write-only": "true"}


def shape(files) -> list[tuple[int, int, int, int]]:
    """Level, rows, and the sequence numbers of each file."""
    return [(f.level, f.row_count, f.min_sequence_number, f.max_sequence_number) for f in files]


def test_an_empty_bucket_starts_with_sequence_number_0():
    bucket = Bucket()
    message = bucket.write((A, 2, "b", 0), (A, 1, "a", 0))
    assert shape(message.new_files) == [(0, 2, 0, 1)]
    assert bucket.read("k", "_SEQUENCE_NUMBER") == [(1, 1), (2, 0)]


def test_sequence_numbers_continue_from_the_files_of_the_bucket():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0), (A, 2, "b", 0))
    assert shape(bucket.write((A, 3, "c", 0)).new_files) == [(0, 1, 2, 2)]
    assert bucket.writer().max_sequence_number == 2


def test_every_row_takes_a_number_but_only_the_last_of_a_key_is_written():
    bucket = Bucket(WRITE_ONLY)
    message = bucket.write((A, 1, "a", 0), (UA, 1, "b", 0), (D, 2, None, 0), (UA, 1, "c", 0))
    assert shape(message.new_files) == [(0, 2, 2, 3)]
    assert message.new_files[0].delete_row_count == 1
    assert message.new_files[0].file_source is FileSource.APPEND
    assert bucket.writer().max_sequence_number == 3
    assert bucket.read("k", "v", "_VALUE_KIND", drop_retracts=False) == [(1, "c", UA), (2, None, D)]


def test_a_row_that_ignore_delete_drops_takes_no_number():
    bucket = Bucket({**WRITE_ONLY, "ignore-delete": "true"})
    message = bucket.write((D, 1, None, 0), (A, 2, "a", 0))
    assert shape(message.new_files) == [(0, 1, 0, 0)]


def test_a_full_write_buffer_becomes_a_file_of_its_own():
    bucket = Bucket({**WRITE_ONLY, "write-buffer-size": "1 b"})
    message = bucket.write((A, 1, "a", 0), (A, 2, "b", 0), (A, 1, "c", 0))
    assert shape(message.new_files) == [(0, 1, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2)]
    assert bucket.read("k", "v") == [(1, "c"), (2, "b")]


def test_nothing_written_is_an_empty_message():
    bucket = Bucket()
    assert bucket.write().is_empty
    assert bucket.data_files == []


def test_the_third_flush_is_followed_by_a_compaction():
    bucket = Bucket({"num-sorted-run.compaction-trigger": "3"})
    for i in range(2):
        assert bucket.write((A, 1, f"{i}", 0), compact=True).compact_after == ()
    message = bucket.write((A, 1, "2", 0), compact=True)
    assert shape(message.new_files) == [(0, 1, 2, 2)]
    assert shape(message.compact_before) == [(0, 1, 2, 2), (0, 1, 1, 1), (0, 1, 0, 0)]
    assert shape(message.compact_after) == [(3, 1, 2, 2)]
    assert message.compact_after[0].file_source is FileSource.COMPACT


def test_a_write_only_table_is_not_compacted_by_its_writers():
    bucket = Bucket({**WRITE_ONLY, "write-buffer-size": "1 b", "num-sorted-run.compaction-trigger": "2"})
    message = bucket.write(*((A, 1, f"{i}", 0) for i in range(9)))
    assert message.compact_before == ()
    assert len(bucket.live) == 9


def test_a_writer_compacts_fully_on_request():
    bucket = Bucket()
    bucket.write((A, 1, "a", 0), (A, 2, "a", 0))
    message = bucket.write((D, 1, None, 0), compact="full")
    assert shape(message.compact_after) == [(5, 1, 1, 1)]
    assert bucket.read("k") == [(2,)]


def test_files_created_and_consumed_within_one_commit_are_deleted_and_not_named():
    bucket = Bucket({"write-buffer-size": "1 b", "num-sorted-run.compaction-trigger": "2"})
    message = bucket.write(*((A, 1, f"{i}", 0) for i in range(6)), compact=True)
    assert len(message.new_files) == 6
    assert set(message.compact_before) == set(message.new_files)
    assert len(message.compact_after) == 1
    assert sorted(bucket.data_files) == sorted(f.file_name for f in (*message.new_files, *message.compact_after))


def test_an_upgraded_file_stays_when_the_next_compaction_consumes_it():
    bucket = Bucket({"target-file-size": "1 b"})
    bucket.write((A, 1, "a", 0))
    (old,) = bucket.live
    writer = bucket.writer()
    upgraded = writer.prepare(compact="full")
    assert [(f.file_name, f.level) for f in upgraded.compact_after] == [(old.file_name, 5)]
    bucket.commit(upgraded)
    assert bucket.data_files == [old.file_name]
    writer = bucket.writer()
    writer.write(batch_of([(A, 1, "b", 0)]))
    message = bucket.commit(writer.prepare(compact="full"))
    assert old.file_name in bucket.data_files
    assert [f.level for f in message.compact_before] == [0, 5]


def test_an_aborted_writer_leaves_the_files_of_the_table_only():
    bucket = Bucket({"write-buffer-size": "1 b", "num-sorted-run.compaction-trigger": "2"})
    bucket.write((A, 1, "a", 0))
    before = bucket.data_files
    writer = bucket.writer()
    writer.write(batch_of([(A, 1, "b", 0), (A, 2, "c", 0), (A, 3, "c", 0)]))
    assert len(bucket.data_files) > len(before)
    writer.abort()
    assert bucket.data_files == before


def test_one_writer_can_serve_many_commits():
    bucket = Bucket()
    writer = bucket.writer()
    for i in range(12):
        writer.write(batch_of([(A, i % 3, f"{i}", 0)]))
        bucket.commit(writer.prepare(compact=True))
    assert bucket.read("k", "v") == [(0, "9"), (1, "10"), (2, "11")]
    assert len(bucket.levels.runs) <= 5


@pytest.mark.parametrize(
    ("options", "reads_back"),
    [
        ({}, False),
        ({"changelog-producer": "lookup"}, False),
        ({"changelog-producer": "full-compaction"}, False),
        ({"merge-engine": "partial-update"}, False),
        ({"file.format": "avro"}, True),
        ({"file.format": "orc"}, True),
        ({"write-buffer-size": "1 b"}, True),
    ],
)
def test_rows_that_were_just_flushed_are_read_back_only_where_they_may_differ(
    options: dict[str, str], reads_back: bool
) -> None:
    io = WatchedFileIO()
    bucket = Bucket(options)
    bucket.store = replace(bucket.store, io=io)
    bucket.write((A, 1, "a", 0), (A, 2, "b", 0), compact="full")
    (old,) = bucket.live
    writer = bucket.writer()
    writer.write(batch_of([(A, 2, "c", 1), (A, 3, "d", 1)]))
    io.opened.clear()
    message = writer.prepare(compact="full")
    assert old.file_name in io.opened
    assert any(file.file_name in io.opened for file in message.new_files) == reads_back
    bucket.commit(message)
    assert bucket.read("k", "v") == [(1, "a"), (2, "c"), (3, "d")]
