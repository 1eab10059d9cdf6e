"""Rows written and read back, on disk and in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from table_format.errors import (
    BucketCountChanged,
    ColumnNotFound,
    InvalidData,
    InvalidFilter,
    InvalidInputError,
    MissingFile,
    UnsupportedFeature,
)
from table_format.model.predicate import Compare, CompareOp
from table_format.model.schema_change import AddColumn, RenameColumn, SetOption
from table_format.model.snapshot import CommitKind
from table_format.model.types import IntType
from table_format.table.changes.row_changes import RowChanges
from table_format.table.rows.input import batches_of, reader_of
from tests.support.tables import KEYED, Warehouse, disk_warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture(params=["disk", "memory"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    return disk_warehouse(tmp_path) if request.param == "disk" else memory_warehouse()


@pytest.fixture
def memory() -> Warehouse:
    return memory_warehouse()


def test_appended_rows_come_back(warehouse: Warehouse) -> None:
    table = warehouse.table()
    [snapshot] = table.append(keyed([(1, "a", 10), (2, "b", None)]))
    assert (snapshot.id, snapshot.commit_kind, snapshot.total_record_count) == (1, CommitKind.APPEND, 2)
    table.append(keyed([(1, "a", 10)]))
    assert rows_of(table) == [(1, "a", 10), (1, "a", 10), (2, "b", None)]
    assert rows_of(warehouse.reopened(table)) == rows_of(table)


def test_rows_of_a_primary_key_table_replace_older_ones(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1), (2, "b", 1)]))
    table.append(keyed([(1, "a", 2), (3, "c", 2), (3, "c", 3)]))
    assert rows_of(table) == [(1, "a", 2), (2, "b", 1), (3, "c", 3)]


def test_a_table_without_snapshot_has_no_rows_and_a_schema(memory: Warehouse) -> None:
    scan = memory.table().scan(["v", "id"])
    assert scan.to_arrow().schema == pa.schema([("v", pa.int32()), pa.field("id", pa.int64(), nullable=False)])
    assert len(scan.plan()) == 0
    assert "no snapshot" in str(scan.plan())


def test_partitions_lie_in_directories_of_their_values(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "2024-01-01", 1), (2, "2024-01-02", 2), (3, "", 3)]))
    directories = {path.split("/")[0] for path in warehouse.files(table) if path.startswith("dt=")}
    assert directories == {"dt=2024-01-01", "dt=2024-01-02", "dt=__DEFAULT_PARTITION__"}
    assert rows_of(table, filter="dt = '2024-01-02'") == [(2, "2024-01-02", 2)]


@pytest.mark.parametrize(
    "rows",
    [
        keyed([(1, "a", 1)]),
        keyed([(1, "a", 1)]).to_batches()[0],
        keyed([(1, "a", 1)]).to_reader(),
        pd.DataFrame({"id": [1], "dt": ["a"], "v": pd.array([1], "int32")}),
        pl.DataFrame({"id": [1], "dt": ["a"], "v": [1]}),
        duckdb.sql("SELECT 1::BIGINT AS id, 'a' AS dt, 1::INT AS v"),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "duckdb"],
)
def test_rows_come_in_many_forms(memory: Warehouse, rows: pa.Table) -> None:
    table = memory.table(primary_keys=["id"])
    table.append(rows)
    assert rows_of(table) == [(1, "a", 1)]


def test_what_is_no_table_is_refused(memory: Warehouse) -> None:
    with pytest.raises(InvalidData, match="found list"):
        memory.table().append([{"id": 1}])  # type: ignore[arg-type]


def test_rows_are_read_in_many_forms(memory: Warehouse) -> None:
    table = memory.table()
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    scan = table.scan(["id", "v"], "v > 1")
    expected = [{"id": 2, "v": 2}]
    assert scan.to_arrow().to_pylist() == expected
    assert scan.to_reader().read_all().to_pylist() == expected
    assert [row for batch in scan.to_batches() for row in batch.to_pylist()] == expected
    assert scan.to_pandas().to_dict("records") == expected
    assert scan.to_polars().to_dicts() == expected
    assert scan.to_duckdb().fetchall() == [(2, 2)]


def test_a_table_and_its_plan_travel_between_processes(tmp_path: Path) -> None:
    table = disk_warehouse(tmp_path).table(primary_keys=["id"])
    table.append(keyed([(i, "a", i) for i in range(10)]))
    scan = table.scan(filter="v < 5")
    plan = scan.plan()
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301 - our own bytes
    assert rows_of(copy) == rows_of(table)
    far_scan, far_plan = pickle.loads(pickle.dumps((scan, plan)))  # noqa: S301 - our own bytes
    found = [row for split in far_plan for batch in far_scan.read(split) for row in batch.column("id").to_pylist()]
    assert sorted(found) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_splits_come_in_order_however_many_threads_read_them(memory: Warehouse, threads: int) -> None:
    table = memory.table(partition_keys=["dt"], options={"source.split.target-size": "1 b"})
    for i in range(9):
        table.append(keyed([(i, f"p{i % 3}", i)]))
    assert len(table.scan().plan()) == 9
    expected = [row for split in table.scan().plan() for b in table.scan().read(split) for row in b["id"].to_pylist()]
    assert table.scan().to_arrow(threads=threads)["id"].to_pylist() == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_a_scan_may_end_early_and_an_error_reaches_the_caller(memory: Warehouse, threads: int) -> None:
    table = memory.table(options={"source.split.target-size": "1 b"})
    for i in range(6):
        table.append(keyed([(i, "a", i)]))
    batches = table.scan().to_batches(threads=threads)
    next(batches)
    batches.close()
    scan = table.scan()
    victim = scan.plan()[3].files[0].file_name
    [path] = [p for p in memory.files(table) if p.endswith(victim)]
    memory.io.delete(f"{table.store.paths.root}/{path}")
    with pytest.raises(MissingFile, match=victim):
        list(scan.to_batches(threads=threads))


def test_columns_and_filters_must_fit(memory: Warehouse) -> None:
    table = memory.table()
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(ColumnNotFound, match="'w' does not exist; the columns are id, dt, v"):
        table.scan(["w"]).to_arrow()
    with pytest.raises((ColumnNotFound, InvalidFilter), match="w"):
        table.scan(filter="w = 1").to_arrow()
    with pytest.raises(ColumnNotFound, match="'w'"):
        table.scan(filter=Compare("w", CompareOp.EQ, 1)).to_arrow()
    with pytest.raises(InvalidFilter):
        table.scan(filter="id = = 1").to_arrow()


def test_a_filter_may_read_columns_that_are_not_asked_for(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.append(keyed([(2, "c", 3)]))
    assert rows_of(table, columns=["dt"], filter="v >= 2") == [("c",)]
    assert rows_of(table, columns=["dt"], filter="v = 2") == []
    assert rows_of(table, columns=["v"], filter=Compare("id", CompareOp.EQ, 2)) == [(3,)]


def test_nothing_is_left_when_a_row_does_not_fit(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])

    def batches() -> Iterator[pa.RecordBatch]:
        wide = pa.schema([("id", pa.int64()), ("dt", pa.string()), ("v", pa.int64())])
        yield pa.RecordBatch.from_pydict({"id": [1], "dt": ["a"], "v": [1]}, schema=wide)
        yield pa.RecordBatch.from_pydict({"id": [2], "dt": ["a"], "v": [2**40]}, schema=wide)

    before = memory.files(table)
    wide = pa.schema([("id", pa.int64()), ("dt", pa.string()), ("v", pa.int64())])
    with pytest.raises(InvalidData, match="cannot hold 1099511627776 of row 1"):
        table.append(pa.RecordBatchReader.from_batches(wide, batches()))
    assert memory.files(table) == before
    with pytest.raises(InvalidData, match="missing: v"):
        table.append(keyed([(1, "a", 1)]).drop_columns(["v"]))
    assert table.latest_snapshot() is None


def test_rows_without_any_row_make_no_snapshot(memory: Warehouse) -> None:
    table = memory.table()
    assert table.append(keyed([])) == ()
    assert table.latest_snapshot() is None


def test_deletes_and_updates_are_rows_with_a_kind(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1), (2, "b", 2), (3, "c", 3)]))
    kinds = pa.array(["-D", "-U", "+U", "+I"])
    table.append(keyed([(1, "a", 1), (2, "b", 2), (2, "b", 9), (4, "d", 4)], _row_kind=kinds))
    assert rows_of(table) == [(2, "b", 9), (3, "c", 3), (4, "d", 4)]


def test_delete_removes_the_rows_a_filter_selects(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"rowkind.field": "dt"})
    table.append(keyed([(i, "+I", i) for i in range(5)]))
    table.delete("v >= 3 OR id = 0")
    assert [row[0] for row in rows_of(table)] == [1, 2]
    assert table.delete("id = 77") == RowChanges()


@pytest.mark.parametrize(
    ("keys", "options", "call"),
    [
        (("id",), {"ignore-delete": "true"}, lambda t: t.delete("id = 1")),
    ],
)
def test_what_is_not_supported_says_so(memory: Warehouse, keys: tuple[str, ...], options: dict, call) -> None:
    with pytest.raises(UnsupportedFeature):
        call(memory.table(primary_keys=keys, options=options))


def test_a_user_and_an_identifier_land_once(memory: Warehouse) -> None:
    table = memory.table()
    rows = keyed([(1, "a", 1)])
    assert len(table.append(rows, commit_user="job", identifier=1, properties={"run": "r1"})) == 1
    assert table.append(rows, commit_user="job", identifier=1) == ()
    assert len(table.append(rows, commit_user="job", identifier=2)) == 1
    assert len(table.append(rows, commit_user="other", identifier=1)) == 1
    assert table.snapshots()[0].properties == {"run": "r1"}
    assert [s.commit_identifier for s in table.snapshots()] == [1, 2, 1]


def test_a_named_user_needs_an_identifier(memory: Warehouse) -> None:
    table = memory.table()
    with pytest.raises(InvalidInputError, match="'job' needs an identifier"):
        table.append(keyed([(1, "a", 1)]), commit_user="job")
    commit = table.new_commit()
    commit.commit(table.new_write().write(keyed([(1, "a", 1)])))
    with pytest.raises(InvalidInputError, match="needs an identifier"):
        commit.commit(table.new_write().write(keyed([(2, "a", 1)])))


def test_the_two_phases_of_a_commit(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    write = table.new_write(commit_user="engine")
    first = write.write(keyed([(1, "a", 1), (2, "a", 1)]))
    second = write.write(keyed([(1, "a", 2)]))
    assert rows_of(table) == []
    commit = table.new_commit("engine")
    assert not commit.is_committed(7)
    assert len(commit.commit((*first, *second), identifier=7)) == 1
    assert commit.commit((*first, *second), identifier=7) == ()
    assert commit.filter_committed([6, 7, 8]) == (8,)
    assert rows_of(table) == [(1, "a", 2), (2, "a", 1)]


def test_aborted_messages_leave_no_file(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    before = memory.files(table)
    messages = table.new_write().write(keyed([(1, "a", 1), (2, "b", 1)]))
    assert len(memory.files(table)) > len(before)
    table.new_commit().abort(messages)
    assert memory.files(table) == before


def test_a_long_lived_writer_follows_what_others_commit(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"})
    write, commit = table.new_write("engine"), table.new_commit("engine")
    for i in range(12):
        commit.commit(write.write(keyed([(1, "mine", i), (100 + i, "mine", i)])), identifier=i)
        table.append(keyed([(1, "other", i)]))
        assert rows_of(table, filter="id = 1") == [(1, "other", i)]
    commit.commit(write.write(keyed([(1, "mine", 99)])), identifier=99)
    assert rows_of(table, filter="id = 1") == [(1, "mine", 99)]
    assert len(rows_of(table)) == 13


def test_several_writes_with_compactions_are_committed_together(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1", "num-sorted-run.compaction-trigger": "2"})
    write = table.new_write("engine")
    messages = [m for i in range(7) for m in write.write(keyed([(1, "a", i), (10 + i, "b", i)]))]
    snapshots = table.new_commit("engine").commit(messages, identifier=1)
    assert [s.commit_kind for s in snapshots] == [CommitKind.APPEND, CommitKind.COMPACT]
    assert rows_of(table, filter="id = 1") == [(1, "a", 6)]
    assert len(rows_of(table)) == 8
    live = {file.file_name for split in table.scan().plan() for file in split.files}
    named = {f.file_name for m in messages for f in m.new_files} | live
    on_disk = {path.rsplit("/", 1)[1] for path in memory.files(table) if "bucket-" in path}
    assert on_disk == named


def test_a_failed_write_does_not_go_on_with_forgotten_sequence_numbers(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1"})
    write = table.new_write("engine")
    write.write(keyed([(1, "a", 1)]))
    with pytest.raises(InvalidData):
        write.write(keyed([(1, "a", 1)]).drop_columns(["v"]))
    wide = pa.table({"id": [1] * 300_000, "dt": ["a"] * 300_000, "v": [1] * 299_999 + [2**40]})
    with pytest.raises(InvalidData):
        write.write(wide)
    with pytest.raises(InvalidInputError, match="an earlier write failed halfway"):
        write.write(keyed([(1, "a", 2)]))


def test_many_partitions_in_one_batch(memory: Warehouse) -> None:
    table = memory.table(partition_keys=["dt"])
    table.append(keyed([(i, f"p{i}", i) for i in range(300)]))
    table.append(keyed([(i, f"p{i % 200}", i) for i in range(400)]))
    assert len(rows_of(table)) == 700
    assert len(rows_of(table, filter="dt = 'p7'")) == 3


def test_a_small_buffer_makes_more_files_and_the_same_rows(memory: Warehouse) -> None:
    table = memory.table(
        primary_keys=["id"], options={"write-buffer-size": "1 kb", "page-size": "128 b", "bucket": "3"}
    )
    table.append(keyed([(i % 500, "a", i) for i in range(2_000)]))
    assert [row[2] for row in rows_of(table)] == sorted(range(1_500, 2_000), key=lambda v: repr((v % 500,)))


def test_the_number_of_buckets_is_kept_until_a_partition_is_overwritten(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id", "dt"], partition_keys=["dt"])
    table.append(keyed([(i, "a", i) for i in range(10)]))
    table = memory.catalog.alter_table("db.t", SetOption("bucket", "5"))
    with pytest.raises(BucketCountChanged, match=r"was written with 2 buckets, and the table now has 5"):
        table.append(keyed([(99, "a", 1)]))
    table.append(keyed([(i, "b", i) for i in range(10)]))
    assert len(rows_of(table)) == 20
    table.overwrite(table.scan(filter="dt = 'a'").to_arrow(), partition={"dt": "a"})
    table.append(keyed([(99, "a", 1)]))
    assert len(rows_of(table)) == 21
    assert rows_of(table, filter="id = 3 AND dt = 'a'") == [(3, "a", 3)]


def test_a_bucketed_append_table(memory: Warehouse) -> None:
    table = memory.table(options={"bucket": "4", "bucket-key": "id"})
    table.append(keyed([(i, "a", i) for i in range(40)]))
    table.append(keyed([(i, "a", i) for i in range(40)]))
    scan = table.scan(filter="id IN (3, 5)")
    assert len(scan.to_arrow()) == 4
    assert scan.plan().counts.files_dropped_by_bucket > 0
    sequences = [f.max_sequence_number for s in table.scan().plan() for f in s.files if s.bucket == 0]
    assert len(set(sequences)) == len(sequences)


def test_a_row_is_shown_in_the_latest_schema(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    table = memory.catalog.alter_table("db.t", [RenameColumn("v", "w"), AddColumn("n", IntType())])
    new = keyed([(2, "b", 2)]).rename_columns(["id", "dt", "w"]).append_column("n", pa.array([5], pa.int32()))
    table.append(new)
    assert table.scan().to_arrow().column_names == ["id", "dt", "w", "n"]
    assert rows_of(table) == [(1, "a", 1, None), (2, "b", 2, 5)]
    assert rows_of(table, filter="n IS NULL") == [(1, "a", 1, None)]


def test_all_partition_types_with_values_are_found_again(memory: Warehouse) -> None:
    schema = pa.schema([("v", pa.int32()), ("d", pa.date32()), ("b", pa.bool_()), ("n", pa.decimal128(6, 2))])
    table = memory.table(schema=schema, partition_keys=["d", "b", "n"])
    rows = pa.Table.from_pylist(
        [{"v": i, "d": date(2024, 1, 1 + i % 3), "b": bool(i % 2), "n": i % 2} for i in range(12)], schema=schema
    )
    table.append(rows)
    assert len(table.scan().plan()) == 6
    found = table.scan(["v"], "d = DATE '2024-01-02' AND b = true").to_arrow()
    assert sorted(found["v"].to_pylist()) == [1, 7]


def test_data_may_lie_in_a_sub_directory(warehouse: Warehouse) -> None:
    table = warehouse.table(options={"data-file.path-directory": "data"}, partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    assert any(path.startswith("data/dt=a/bucket-0/") for path in warehouse.files(table))
    assert rows_of(warehouse.reopened(table)) == [(1, "a", 1)]


def test_key_columns_are_not_null(memory: Warehouse) -> None:
    table = memory.table(schema=pa.schema([("id", pa.int64()), ("v", pa.int32())]), primary_keys=["id"])
    with pytest.raises(InvalidData, match="'id' is BIGINT NOT NULL; found 1 null"):
        table.append(pa.table({"id": [1, None], "v": [1, 2]}))


def test_a_sequence_column_decides_which_row_is_last(memory: Warehouse) -> None:
    schema = pa.schema([("id", pa.int64()), ("ts", pa.int32()), ("v", pa.string())])
    table = memory.table(schema=schema, primary_keys=["id"], options={"sequence.field": "ts"})
    table.append(pa.table({"id": [1, 2], "ts": [5, 5], "v": ["new", "old"]}))
    table.append(pa.table({"id": [1, 2], "ts": [3, 7], "v": ["late", "new"]}))
    assert rows_of(table, columns=["id", "v"]) == [(1, "new"), (2, "new")]


def test_a_large_batch_is_cut_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"a": range(600_000)})
    assert [b.num_rows for _, b in batches_of(reader_of(rows))] == [262_144, 262_144, 75_712]
    monkeypatch.setattr("table_format.table.rows.input.MAX_INPUT_BYTES", 1_000)
    wide = pa.table({"a": ["x" * 300] * 9})
    assert [(before, b.num_rows) for before, b in batches_of(reader_of(wide))] == [(0, 3), (3, 3), (6, 3)]


def test_the_schema_of_the_shared_rows_is_the_one_of_the_tables() -> None:
    assert keyed([]).schema.names == KEYED.names


def test_an_abort_by_another_committer_keeps_what_the_table_names(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"])
    committed = table.new_write().write(keyed([(1, "a", 1)]))
    table.new_commit("job").commit(committed, identifier=1)
    left = table.new_write().write(keyed([(2, "b", 2)]))
    table.new_commit("job").abort([*committed, *left])
    assert rows_of(table) == [(1, "a", 1)]
    assert not [f for m in left for f in m.new_files if any(f.file_name in path for path in memory.files(table))]


def test_the_watermark_of_an_append_and_of_an_overwrite_is_that_of_the_snapshot_and_never_falls() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table()
    table.append(keyed([(0, "a", 0)]))
    assert table.latest_snapshot().watermark is None
    table.append(keyed([(1, "a", 1)]), watermark=1_666_755_855_600)
    assert table.latest_snapshot().watermark == 1_666_755_855_600
    table.overwrite(keyed([(2, "a", 2)]), watermark=1_666_755_855_500)
    assert table.latest_snapshot().watermark == 1_666_755_855_600
    table.overwrite(keyed([(3, "a", 3)]), watermark=1_666_755_999_000)
    shown = warehouse.catalog.load_table("db.t$snapshots").scan().to_arrow()["watermark"].to_pylist()
    assert shown == [None, 1_666_755_855_600, 1_666_755_855_600, 1_666_755_999_000]
    assert rows_of(table, options={"scan.watermark": "1666755855600"}) == [(0, "a", 0), (1, "a", 1)]
    with pytest.raises(InvalidInputError, match="watermark"):
        table.append(keyed([(4, "a", 4)]), watermark="now")  # type: ignore[arg-type]
