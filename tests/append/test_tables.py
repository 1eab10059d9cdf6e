"""Append tables: rows in order of arrival, small files put together without changing it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.append.compact import compact_append_files
from table_format.append.writer import AppendWriter
from table_format.errors import MissingFile
from table_format.formats.bucket_files import BucketFiles
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import EMPTY_ROW, DataFileMeta, FileSource
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, VarCharType
from table_format.options.table_options import TableOptions

SCHEMA = TableSchema(
    id=0, fields=(DataField(0, "n", BigIntType()), DataField(1, "s", VarCharType())), highest_field_id=1
)


def a_batch(numbers) -> pa.RecordBatch:
    values = list(numbers)
    return pa.record_batch(
        [pa.array(values, pa.int64()), pa.array([f"text {n}" for n in values])], schema=arrow_schema(SCHEMA.fields)
    )


class Bucket:
    """An append table's only bucket, in memory."""

    def __init__(self, options: dict[str, str]) -> None:
        self.files_of = BucketFiles(
            store=TableStore(MemoryFileIO(), TablePaths("/w/db.db/t")),
            schema=SCHEMA,
            schemas={0: SCHEMA},
            options=TableOptions.parse(options),
            partition=EMPTY_ROW,
            partition_text="",
            bucket=0,
            total_buckets=1,
        )
        self.live: tuple[DataFileMeta, ...] = ()

    def writer(self) -> AppendWriter:
        is_ordered = self.files_of.options.bucket.count > 0
        return AppendWriter(
            self.files_of,
            existing_max_sequence=max((f.max_sequence_number for f in self.live), default=-1) if is_ordered else -1,
        )

    def append(self, *numbers: int) -> tuple[DataFileMeta, ...]:
        writer = self.writer()
        writer.write(a_batch(numbers))
        files = writer.prepare().new_files
        self.live += files
        return files

    def compact(self, *, full: bool):
        message = compact_append_files(self.files_of, self.live, full=full)
        where = min((self.live.index(f) for f in message.compact_before), default=0)
        kept = [f for f in self.live if f not in message.compact_before]
        self.live = (*kept[:where], *message.compact_after, *kept[where:])
        return message

    def read(self) -> list[int]:
        reader = self.files_of.reader()
        return [
            n for f in self.live for b in reader.read(EMPTY_ROW, 0, f, SCHEMA.fields) for n in b.column(0).to_pylist()
        ]

    @property
    def data_files(self) -> list[str]:
        store = self.files_of.store
        return [f.name for f in store.io.list(store.paths.bucket_directory("", 0))]


UNAWARE = {"bucket": "-1"}
BUCKETED = {"bucket": "1", "bucket-key": "n"}


def numbers(files) -> list[tuple[int, int]]:
    return [(f.min_sequence_number, f.max_sequence_number) for f in files]


def test_sequence_numbers_count_the_rows_of_a_file_without_buckets():
    bucket = Bucket(UNAWARE)
    assert numbers(bucket.append(5, 6, 7)) == [(0, 2)]
    assert numbers(bucket.append(8)) == [(0, 0)]


def test_sequence_numbers_go_on_within_a_bucket():
    bucket = Bucket(BUCKETED)
    assert numbers(bucket.append(5, 6, 7)) == [(0, 2)]
    assert numbers(bucket.append(8)) == [(3, 3)]


def test_a_file_says_what_an_append_file_says():
    (file,) = Bucket(UNAWARE).append(1, 2)
    assert (file.level, file.row_count, file.delete_row_count) == (0, 2, 0)
    assert (file.min_key, file.max_key) == (EMPTY_ROW, EMPTY_ROW)
    assert file.file_source is FileSource.APPEND


def test_nothing_written_is_an_empty_message():
    bucket = Bucket(UNAWARE)
    writer = bucket.writer()
    writer.write(a_batch([]))
    assert writer.prepare().is_empty
    assert bucket.data_files == []


def test_a_writer_serves_many_commits_and_goes_on_counting():
    bucket = Bucket(BUCKETED)
    writer = bucket.writer()
    writer.write(a_batch([1, 2]))
    assert numbers(writer.prepare().new_files) == [(0, 1)]
    writer.write(a_batch([3]))
    assert numbers(writer.prepare().new_files) == [(2, 2)]


def test_large_input_is_rolled_and_stays_in_order():
    bucket = Bucket({**UNAWARE, "target-file-size": "20 kb"})
    writer = bucket.writer()
    for start in range(0, 50_000, 5_000):
        writer.write(a_batch(range(start, start + 5_000)))
    bucket.live = writer.prepare().new_files
    assert len(bucket.live) > 1
    assert bucket.read() == list(range(50_000))
    assert numbers(bucket.live)[0][0] == 0
    assert all(left[1] + 1 == right[0] for left, right in pairwise(numbers(bucket.live)))


def test_an_aborted_writer_leaves_nothing():
    bucket = Bucket(UNAWARE)
    writer = bucket.writer()
    writer.write(a_batch([1]))
    writer.abort()
    assert bucket.data_files == []


@pytest.mark.parametrize("options", [UNAWARE, BUCKETED])
def test_small_files_become_one_in_order(options):
    bucket = Bucket({**options, "compaction.min.file-num": "3"})
    for n in range(5):
        bucket.append(n * 2, n * 2 + 1)
    message = bucket.compact(full=True)
    (file,) = message.compact_after
    assert len(message.compact_before) == 5
    assert (file.row_count, file.level, file.file_source) == (10, 0, FileSource.COMPACT)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 9)
    assert bucket.read() == list(range(10))


def test_too_few_small_files_are_left_alone():
    bucket = Bucket(UNAWARE)
    for n in range(4):
        bucket.append(n)
    assert bucket.compact(full=False).is_empty


def test_a_compaction_that_fails_leaves_no_file_behind():
    bucket = Bucket({**BUCKETED, "compaction.min.file-num": "2"})
    for n in range(4):
        bucket.append(n)
    lost = bucket.live[-1]
    bucket.files_of.delete(lost)
    before = bucket.data_files
    with pytest.raises(MissingFile, match=lost.file_name):
        bucket.compact(full=False)
    assert bucket.data_files == before


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.integers(1, 4), st.sampled_from(["minor", "full"])), max_size=12),
    st.integers(2, 4),
    st.sampled_from(["1 b", "1 mb"]),
)
def test_a_compaction_of_a_bucket_never_changes_a_read(steps, min_files, target):
    bucket = Bucket({**BUCKETED, "compaction.min.file-num": str(min_files), "target-file-size": target})
    written = 0
    for step in steps:
        if isinstance(step, int):
            bucket.append(*range(written, written + step))
            written += step
        else:
            bucket.compact(full=step == "full")
        bucket.live = tuple(sorted(bucket.live, key=lambda f: f.min_sequence_number))
        assert bucket.read() == list(range(written))
        assert sum(f.row_count for f in bucket.live) == written


def test_rows_of_an_older_schema_are_brought_to_the_newest():
    bucket = Bucket({**UNAWARE, "compaction.min.file-num": "2"})
    bucket.append(1)
    bucket.append(2)
    newer = replace(SCHEMA, id=1, fields=(*SCHEMA.fields, DataField(2, "x", BigIntType())), highest_field_id=2)
    files_of = replace(bucket.files_of, schema=newer, schemas={0: SCHEMA, 1: newer})
    (file,) = compact_append_files(files_of, bucket.live, full=True).compact_after
    assert file.schema_id == 1
    rows = pa.Table.from_batches(files_of.reader().read(EMPTY_ROW, 0, file, newer.fields))
    assert rows.to_pydict() == {"n": [1, 2], "s": ["text 1", "text 2"], "x": [None, None]}
