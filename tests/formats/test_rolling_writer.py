"""New data files carry exact metadata, roll at their target size, and leave nothing behind after an abort."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_format.codecs.binary_row import deserialize_row, serialize_row
from table_format.errors import InvalidData
from table_format.io.memory import MemoryFileIO
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource, SimpleStats
from table_format.model.types import (
    ArrayType,
    BigIntType,
    DataField,
    DoubleType,
    IntType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)
from tests.formats.files import BUCKET, Bucket, a_batch, a_schema

KEYED = a_schema(
    DataField(0, "v", VarCharType()),
    DataField(1, "k", IntType(nullable=False)),
    DataField(2, "a", ArrayType(element=IntType())),
    DataField(3, "b", VarBinaryType()),
    keys=["k"],
)
PLAIN = a_schema(DataField(0, "i", BigIntType()), DataField(1, "s", VarCharType()))


def keyed_rows(*rows: tuple[int, int, int, str | None]) -> pa.RecordBatch:
    """Rows of key, sequence number, kind and value."""
    return a_batch(
        KEYED.physical_fields,
        [
            {"_KEY_k": k, "_SEQUENCE_NUMBER": s, "_VALUE_KIND": kind, "v": v, "k": k, "a": [1], "b": b"x"}
            for k, s, kind, v in rows
        ],
    )


def plain_rows(count: int, *, first: int = 0, width: int = 30) -> pa.RecordBatch:
    chance = random.Random(first)
    return a_batch(PLAIN.fields, [{"i": first + i, "s": f"{chance.getrandbits(width * 4):x}"} for i in range(count)])


def test_a_primary_key_file_is_described_exactly() -> None:
    bucket = Bucket([KEYED])
    first = keyed_rows((1, 7, 0, "b"), (3, 5, 3, None))
    second = keyed_rows((4, 9, 1, "a" * 20), (9, 6, 2, "a"))
    (file,) = bucket.write(first, second)
    types = [f.type for f in KEYED.fields]
    key = [IntType(nullable=False)]
    assert file == DataFileMeta(
        file_name="data-00000000-0000-4000-8000-000000000001-0.parquet",
        file_size=len(bucket.io.read(f"{BUCKET}/{file.file_name}")),
        row_count=4,
        min_key=serialize_row(key, [1]),
        max_key=serialize_row(key, [9]),
        key_stats=SimpleStats(serialize_row(key, [1]), serialize_row(key, [9]), (0,)),
        value_stats=SimpleStats(
            serialize_row(types, ["a", 1, None, None]), serialize_row(types, ["b", 9, None, None]), (1, 0, None, 0)
        ),
        min_sequence_number=5,
        max_sequence_number=9,
        schema_id=0,
        level=0,
        creation_time=1_700_000_000_000 + 7_200_000,
        delete_row_count=2,
        file_source=FileSource.APPEND,
    )
    assert bucket.read([file]).equals(pa.Table.from_batches([first, second]))


def test_level_source_schema_and_prefix_are_taken_over() -> None:
    bucket = Bucket([KEYED])
    writer = bucket.writer(level=5, source=FileSource.COMPACT, changelog=True)
    writer.write(keyed_rows((1, 0, 0, "")))
    (file,) = writer.close()
    assert (file.level, file.file_source, file.schema_id) == (5, FileSource.COMPACT, 0)
    assert file.file_name.startswith("changelog-")
    assert bucket.names == [file.file_name]


def test_an_append_file_has_no_key_and_counts_its_rows() -> None:
    bucket = Bucket([PLAIN])
    (file,) = bucket.write(plain_rows(3), plain_rows(2))
    assert (file.min_key, file.max_key, file.key_stats) == (EMPTY_ROW, EMPTY_ROW, EMPTY_STATS)
    assert (file.min_sequence_number, file.max_sequence_number, file.delete_row_count) == (0, 4, 0)


def test_files_are_closed_near_their_target_size_and_continue_the_sequence() -> None:
    target = 100_000
    bucket = Bucket([PLAIN], {"target-file-size": f"{target} b"})
    writer = bucket.writer(first_sequence_number=1000)
    batches = [plain_rows(3000, first=3000 * i) for i in range(10)]
    for batch in batches:
        writer.write(batch)
    files = writer.close()
    assert len(files) == 5
    for file in files[:-1]:
        assert 0.9 * target < file.file_size < 1.5 * target
    assert sum(f.row_count for f in files) == 30_000
    expected = 1000
    for file in files:
        assert file.min_sequence_number == expected
        expected = file.max_sequence_number + 1
        assert file.row_count == expected - file.min_sequence_number
    assert bucket.names == sorted(f.file_name for f in files)
    assert bucket.read(files).equals(pa.Table.from_batches(batches))


def test_one_batch_may_fill_many_files() -> None:
    bucket = Bucket([PLAIN], {"target-file-size": "50 kb"})
    files = bucket.write(plain_rows(20_000))
    assert len(files) > 3
    assert bucket.read(files).equals(pa.table(plain_rows(20_000)))


def test_row_groups_are_bounded_by_the_block_size() -> None:
    bucket = Bucket([PLAIN], {"file.block-size": "64 kb"})
    (file,) = bucket.write(plain_rows(20_000))
    metadata = pq.read_metadata(pa.BufferReader(bucket.io.read(f"{BUCKET}/{file.file_name}")))
    assert metadata.num_row_groups > 5
    assert max(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)) < 4000


@pytest.mark.parametrize("batches", [[], [plain_rows(0)]], ids=["no batch", "an empty batch"])
def test_without_rows_there_is_no_file(batches: list[pa.RecordBatch]) -> None:
    bucket = Bucket([PLAIN])
    assert bucket.write(*batches) == ()
    assert bucket.names == []


def test_an_abort_deletes_finished_and_unfinished_files() -> None:
    bucket = Bucket([PLAIN], {"target-file-size": "50 kb"})
    writer = bucket.writer()
    writer.write(plain_rows(10_000))
    assert bucket.names
    writer.abort()
    assert bucket.names == []
    assert writer.close() == ()


def test_an_abort_after_a_refused_row_deletes_the_file() -> None:
    bucket = Bucket([KEYED], {"target-file-size": "1 b"})
    writer = bucket.writer()
    with pytest.raises(InvalidData):
        writer.write(keyed_rows((1, 0, 0, "")).set_column(4, KEYED.physical_fields[4].name, pa.nulls(1, pa.int32())))
    writer.abort()
    assert bucket.names == []


class FullDisk(MemoryFileIO):
    """A store that refuses every byte."""

    def open_output(self, path: str) -> pa.NativeFile:
        class Sink:
            closed = False

            def write(self, data: bytes) -> int:
                raise OSError(28, "No space left on device")

            def flush(self) -> None: ...

            def close(self) -> None: ...

        super().open_output(path).close()
        return pa.PythonFile(Sink(), mode="w")


def test_an_error_of_the_store_is_raised_and_the_file_can_be_aborted() -> None:
    bucket = Bucket([PLAIN], io=FullDisk())
    writer = bucket.writer()
    writer.write(plain_rows(10))
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    writer.abort()
    assert bucket.names == []


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({}, ("a" * 16, "a" * 15 + "b", 1)),
        ({"metadata.stats-mode": "full"}, ("a" * 20, "a" * 20, 1)),
        ({"metadata.stats-mode": "truncate(3)"}, ("aaa", "aab", 1)),
        ({"metadata.stats-mode": "counts"}, (None, None, 1)),
        ({"metadata.stats-mode": "none"}, (None, None, None)),
        ({"metadata.stats-mode": "none", "fields.v.stats-mode": "truncate(2)"}, ("aa", "ab", 1)),
    ],
)
def test_the_statistics_mode_applies_only_to_value_columns(options: dict[str, str], bounds: tuple[Any, ...]) -> None:
    (file,) = Bucket([KEYED], options).write(keyed_rows((1, 0, 0, None), (2, 1, 0, "a" * 20)))
    types = [f.type for f in KEYED.fields]
    low, high = (deserialize_row(types, row)[0] for row in (file.value_stats.min_values, file.value_stats.max_values))
    assert (low, high, file.value_stats.null_counts[0]) == bounds
    assert file.value_stats_cols is None
    assert deserialize_row([IntType()], file.key_stats.max_values) == (2,)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({}, ("v", "k", "b")),
        ({"metadata.stats-mode": "none"}, ()),
        ({"metadata.stats-mode": "none", "fields.v.stats-mode": "full"}, ("v",)),
        ({"metadata.stats-keep-first-n-columns": "1"}, ("v",)),
        ({"metadata.stats-keep-first-n-columns": "0", "fields.k.stats-mode": "counts"}, ("k",)),
        ({"metadata.stats-mode.per.level": "0:none,5:full"}, ()),
        ({"metadata.stats-mode.per.level": "5:none"}, ("v", "k", "b")),
    ],
)
def test_dense_statistics_leave_columns_without_any_out(options: dict[str, str], columns: tuple[str, ...]) -> None:
    rows = keyed_rows((1, 0, 0, None), (2, 1, 0, "a"))
    (dense,) = Bucket([KEYED], {**options, "metadata.stats-dense-store": "true"}).write(rows)
    (wide,) = Bucket([KEYED], options).write(rows)
    assert (dense.value_stats_cols, wide.value_stats_cols) == (columns, None)
    fields = {f.name: f.type for f in KEYED.fields}
    full = dict(zip(fields, deserialize_row(list(fields.values()), wide.value_stats.max_values), strict=True))
    counts = dict(zip(fields, wide.value_stats.null_counts, strict=True))
    found = deserialize_row([fields[name] for name in columns], dense.value_stats.max_values)
    assert found == tuple(full[name] for name in columns)
    assert dense.value_stats.null_counts == tuple(counts[name] for name in columns)
    assert all(counts[name] is None for name in fields if name not in columns)
    assert dense.key_stats == wide.key_stats


def test_zeros_and_nanoseconds_are_bounded_as_parquet_does() -> None:
    schema = a_schema(DataField(0, "x", DoubleType()), DataField(1, "t", TimestampType(precision=9)))
    batch = a_batch(schema.fields, [{"x": -0.0, "t": 5}, {"x": 0.0, "t": None}])
    (file,) = Bucket([schema]).write(batch)
    types = [f.type for f in schema.fields]
    # Parquet widens zeros: a minimum is -0.0, a maximum 0.0.
    assert repr(deserialize_row(types, file.value_stats.min_values)) == "(-0.0, 5)"
    assert repr(deserialize_row(types, file.value_stats.max_values)) == "(0.0, 5)"
