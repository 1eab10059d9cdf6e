"""Files are skipped by their indexes, and no row is ever missed for it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import InvalidSchemaChange
from table_format.indexes.file_index import FileIndex, FileIndexes
from table_format.io.paths import sibling
from table_format.kernels.values import values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.file_index import has_fast_hash
from table_format.model.predicate import Compare, CompareOp
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
)
from table_format.model.types import BigIntType, DataField, DataType, DoubleType, VarCharType
from tests.formats.files import Bucket
from tests.support.deletion_marks import live
from tests.support.matrix import combinations, tries
from tests.support.reachable import check_files, files_below
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of
from tests.support.typed_values import SCALARS, values_of_type
from tests.table.test_life_cycle_laws import MODES, do_something, new_table

COLUMNS = "file-index.bloom-filter.columns"
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
NO_STATISTICS = {"metadata.stats-mode": "none"}
UNREAD = {"file-index.read.enabled": "false"}
MARKS = {"deletion-vectors.enabled": "true"}
TEXT = pa.schema([("id", pa.int64()), ("s", pa.string())])


def small(*columns: str, items: int = 100) -> dict[str, str]:
    """A filter for each column that fits a few rows and is nearly always right."""
    settings = {f"file-index.bloom-filter.{c}.items": str(items) for c in columns}
    return {COLUMNS: ",".join(columns), **settings, **{k.replace("items", "fpp"): "0.0001" for k in settings}}


def texts(*rows: tuple[int, str | None]) -> pa.Table:
    ids, values = zip(*rows, strict=True)
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array(values, pa.string())}, schema=TEXT)


def text_table(options: Mapping[str, str] | None = None, warehouse: Warehouse | None = None) -> Table:
    """Five files: ids 0 to 4, and s from 's0' to 's4' between 'a' and 'z'."""
    table = (warehouse or memory_warehouse()).table(
        schema=TEXT, options={**NO_STATISTICS, **small("id", "s"), **(options or {})}
    )
    for n in range(5):
        table.append(texts((n, f"s{n}"), (n + 100, "z"), (n + 200, None)))
    return table


def kept(table: Table, filter: str, options: Mapping[str, str] | None = None) -> tuple[int, int]:
    """How many files a scan reads, and how many it left out by their indexes."""
    plan = table.scan(filter=filter, options=options).plan()
    return plan.counts.files, plan.counts.files_dropped_by_index


def altered(warehouse: Warehouse, table: Table, *changes: SchemaChange) -> Table:
    return warehouse.catalog.alter_table(str(table.identifier), changes)


def files_of(table: Table) -> list[str]:
    return list(files_below(table.store.io, table.store.paths.root))


def same_without_index(table: Table, filter: str) -> list[tuple[Any, ...]]:
    found = rows_of(table, filter=filter)
    assert found == rows_of(table, filter=filter, options=UNREAD)
    return found


@pytest.mark.parametrize("place", [{}, BESIDE, {"file-index.in-manifest-threshold": "1 mb"}])
def test_a_file_is_read_only_if_it_may_have_the_value(place: dict[str, str]) -> None:
    table = text_table(place)
    for condition, files in (
        ("s = 's3'", 1),
        ("s = 'no'", 0),
        ("s = 'z'", 5),
        ("s IN ('s1', 's2', 'no')", 2),
        ("s = 's1' AND id = 2", 0),
        ("s = 's1' AND id = 1", 1),
        ("s = 's1' OR id = 104", 2),
        ("s = 's1' OR id > 0", 5),
        ("s = 's1' AND id > 0", 1),
        ("NOT (s <> 's4')", 1),
        ("NOT (s = 's4')", 5),
        ("s <> 's1'", 5),
        ("s IS NULL", 5),
        ("s LIKE 's1%'", 5),
    ):
        assert (condition, *kept(table, condition)) == (condition, files, 5 - files)
        same_without_index(table, condition)
    assert "dropped 4 by file index, kept 1" in str(table.scan(filter="s = 's3'").plan())


INDEX_PAIRS = combinations(("bitmap", "range-bitmap"), ("bitmap", "bsi", "range-bitmap"), ({}, BESIDE))
"""Each pair of indexes in the manifest or beside the file, or in both places."""


@pytest.mark.parametrize(("s_index", "id_index", "place"), INDEX_PAIRS)
def test_indexes_that_find_rows_leave_out_files_for_each_comparison(
    place: dict[str, str], s_index: str, id_index: str
) -> None:
    options = {f"file-index.{s_index}.columns": "s", "write-only": "true", **NO_STATISTICS, **place}
    options[f"file-index.{id_index}.columns"] = "id" if id_index != s_index else "s,id"
    table = memory_warehouse().table(schema=TEXT, options=options)
    for n in range(5):
        table.append(texts((n, f"s{n}"), (n + 100, "z"), (n + 200, None if n else "y")))
    for condition, files in (
        ("s = 's3'", 1),
        ("s < 's2'", 2),
        ("s >= 'z'", 5),
        ("s > 'z'", 0),
        ("s IS NULL", 4),
        ("s IN ('s1', 's2', 'no')", 2),
        ("id BETWEEN 5 AND 99", 0),
        ("id BETWEEN 2 AND 3", 2),
        ("id > 203", 1),
        ("id > 203 AND s = 's3'", 0),
        ("s = 's1' AND id > 2", 0),
        ("s = 's1' AND id >= 1", 1),
        ("s = 's1' AND id BETWEEN 2 AND 99", 0),
        ("s = 's1' OR id = 104", 2),
        ("NOT (id < 4) AND id < 100", 1),
        ("s NOT IN ('z', 's0', 'y')", 4),
        ("s LIKE 's1%'", 5),
    ):
        assert (condition, *kept(table, condition)) == (condition, files, 5 - files)
        same_without_index(table, condition)
    table.compact(full=True)
    assert [kept(table, condition)[0] for condition in ("s > 'z'", "s = 's3'", "id BETWEEN 5 AND 99")] == [0, 1, 0]


def test_indexes_are_not_read_when_they_may_not_be() -> None:
    warehouse = memory_warehouse()
    table = text_table(warehouse=warehouse)
    assert kept(table, "s = 'no'", UNREAD) == (5, 0)
    table = altered(warehouse, table, SetOption("file-index.read.enabled", "false"))
    assert kept(table, "s = 'no'") == (5, 0)


def test_partitions_statistics_and_indexes_go_together() -> None:
    table = memory_warehouse().table(partition_keys=["dt"], options=small("id"))
    for n in range(4):
        table.append(keyed([(n, "a", n), (n + 10, "b", n)]))
    assert kept(table, "id = 12 AND dt = 'b'") == (1, 0)
    assert rows_of(table, filter="id = 12") == [(12, "b", 2)]
    plan = table.scan(filter="id = 5 AND dt = 'a'").plan()
    assert (plan.counts.files, plan.counts.entries_dropped_by_partition) == (0, 4)


# --- primary keys ----------------------------------------------------------------------------------------------------


def test_of_rows_that_are_merged_only_keys_leave_out_files() -> None:
    options = {"bucket": "1", "write-only": "true", **NO_STATISTICS, **small("id", "v")}
    table = memory_warehouse().table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 10), (2, "a", 20), (9, "a", 90)]))
    table.append(keyed([(1, "a", 11), (7, "a", 70), (9, "a", 91)]))
    # The file with 10 must be merged with the other one, which has a newer row.
    assert same_without_index(table, "v = 10") == []
    assert kept(table, "v = 10") == (2, 0)
    assert same_without_index(table, "v = 11") == [(1, "a", 11)]
    # No version of key 7 is in the first file, and none of key 2 in the second.
    assert kept(table, "id = 7") == (1, 1)
    assert kept(table, "id = 2") == (1, 1)
    assert kept(table, "id = 9") == (2, 0)
    assert same_without_index(table, "id = 7 AND v = 70") == [(7, "a", 70)]
    # No merged row has this value.
    assert kept(table, "v = 12") == (0, 2)
    table.append(keyed([(7, "a", None)], _row_kind=pa.array(["-D"])))
    assert same_without_index(table, "id = 7") == []


def test_values_that_a_merge_computes_leave_out_no_file() -> None:
    options = {"bucket": "1", "write-only": "true", "merge-engine": "aggregation", **small("id", "v")}
    table = memory_warehouse().table(
        primary_keys=["id"], options={**options, "fields.v.aggregate-function": "sum", **NO_STATISTICS}
    )
    table.append(keyed([(1, "a", 10), (3, "a", 1)]))
    table.append(keyed([(1, "a", 5), (2, "a", 1)]))
    assert same_without_index(table, "v = 15") == [(1, "a", 15)]
    assert kept(table, "id = 2") == (1, 1)


def test_skipping_never_returns_a_deleted_row() -> None:
    options = {"bucket": "1", **NO_STATISTICS, **small("id", "v"), **MARKS, "target-file-size": "1 b"}
    table = memory_warehouse().table(primary_keys=["id"], options=options)
    table.append(keyed([(n, "a", n) for n in range(4)]))
    table.append(keyed([(1, "a", 50), (9, "a", 9)]))
    table.append(keyed([(2, "a", None)], _row_kind=pa.array(["-D"])))
    table.compact()
    table.append(keyed([(3, "a", 3)]))
    table.compact()
    assert table.scan().plan().deletion_files
    for n in (-1, 0, 1, 2, 3, 9, 50, 59):
        expected = [row for row in rows_of(table) if row[2] == n]
        assert same_without_index(table, f"v = {n}") == expected
        assert len(same_without_index(table, f"id = {n}")) == (n in (0, 1, 3, 9))
    total = len(live(table))
    assert kept(table, "v = 50") == (1, total - 1)
    assert kept(table, "v = 77") == (0, total)


INDEXED = {"file-index.bloom-filter.columns": "id,v,dt", "file-index.bloom-filter.v.items": "3"}
"""Filters so small that they are wrong now and then."""


@pytest.mark.parametrize("mode", [mode for mode in MODES if "indexes" not in mode])
def test_reading_with_indexes_is_reading_without(mode: str) -> None:
    chance = random.Random(mode)
    table = new_table(mode, {**INDEXED, **NO_STATISTICS})
    for _ in range(tries(3, many=5)):
        do_something(table, chance)
        if chance.random() < 0.3:
            table.compact(full=chance.random() < 0.5)
        number, other = chance.randrange(10), chance.randrange(5)
        for condition in (
            f"id = {number}",
            f"v = {other}",
            f"v = {other} AND id = {number}",
            f"v = {other} OR id = {number}",
            f"id IN ({number}, 3) AND dt = 'a' AND v <> {other}",
            f"NOT (v <> {other} OR dt = 'b')",
        ):
            same_without_index(table, condition)


# --- types and schemas -----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=tries(25, many=60), suppress_health_check=[HealthCheck.too_slow])
@given(
    SCALARS.flatmap(lambda t: st.tuples(st.just(t), st.lists(values_of_type(t), min_size=2, max_size=12))),
    st.sampled_from(["parquet", "orc", "avro"]),
)
def test_each_value_of_each_type_is_found_again(column: tuple[DataType, list[Any]], file_format: str) -> None:
    data_type, values = column
    if not has_fast_hash(data_type):
        return
    schema = TableSchema(id=0, fields=(DataField(0, "c", data_type),), highest_field_id=0)
    bucket = Bucket([schema], {COLUMNS: "c", "file-index.bloom-filter.c.items": "2", "file.format": file_format})
    (file,) = bucket.write(pa.record_batch({"c": pa.array(values, arrow_type(data_type))}))
    read = bucket.read([file]).column("c").combine_chunks()
    indexes = FileIndexes(bucket.store, {0: schema}, schema)
    for value in values_of(read, data_type):
        if value is not None:
            condition = Compare("c", CompareOp.EQ, value)
            assert indexes.evaluated("", 0, file, partial(FileIndex.may_match, predicate=condition), None) is True


def test_both_zeros_and_every_nan_are_found() -> None:
    schema = pa.schema([("id", pa.int64()), ("f", pa.float32()), ("d", pa.float64())])
    table = memory_warehouse().table(schema=schema, options=small("f", "d"))
    table.append(pa.table({"id": [1], "f": pa.array([-0.0], pa.float32()), "d": [-0.0]}, schema=schema))
    table.append(pa.table({"id": [2], "f": pa.array([0.0], pa.float32()), "d": [0.0]}, schema=schema))
    assert [row[0] for row in same_without_index(table, "f = 0")] == [1, 2]
    assert [row[0] for row in same_without_index(table, "d IN (0.0, 5)")] == [1, 2]
    assert same_without_index(table, "d = 5") == []


def test_columns_are_found_by_their_id() -> None:
    warehouse = memory_warehouse()
    table = text_table(warehouse=warehouse)
    table = altered(warehouse, table, RenameColumn("s", "t"), RenameColumn("id", "s"))
    assert table.options.file_index.columns == {"bloom-filter": ("s", "t")}
    assert (kept(table, "t = 's3'"), kept(table, "s = 3")) == ((1, 4), (1, 4))
    settings = [RemoveOption(f"file-index.bloom-filter.t.{name}") for name in ("items", "fpp")]
    table = altered(warehouse, table, SetOption(COLUMNS, "s"), *settings)
    table = altered(warehouse, table, DropColumn("t"), AddColumn("t", VarCharType()))
    assert kept(table, "t = 's3'") == (0, 0)
    table.append(pa.table({"s": [7], "t": ["s3"]}))
    assert same_without_index(table, "t = 's3'") == [(7, "s3")]


def test_a_changed_type_is_looked_up_only_where_its_values_have_the_same_hash() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
    warehouse = memory_warehouse()
    table = warehouse.table(schema=schema, options={**small("a", "b"), **NO_STATISTICS})
    table.append(pa.table({"a": [1, 9], "b": [1, 9]}, schema=schema))
    table = altered(warehouse, table, AlterColumnType("a", BigIntType()), AlterColumnType("b", DoubleType()))
    assert (kept(table, "a = 5"), kept(table, "b = 5")) == ((0, 1), (1, 0))
    for condition in ("a = 1", "b = 9", "a = 5000000000", "b = 1.5"):
        same_without_index(table, condition)
    table.append(pa.table({"a": [5_000_000_000], "b": [1.5]}))
    assert same_without_index(table, "a = 5000000000 OR b = 1.5") == [(5_000_000_000, 1.5)]


def test_a_column_with_an_index_is_not_dropped_silently() -> None:
    warehouse = memory_warehouse()
    table = text_table(warehouse=warehouse)
    with pytest.raises(InvalidSchemaChange, match=r"'s'.*bloom-filter\.columns"):
        altered(warehouse, table, DropColumn("s"))


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_lost_or_damaged_index_file_is_not_used_and_told_by_its_path(caplog: pytest.LogCaptureFixture) -> None:
    warehouse = memory_warehouse()
    table = text_table(BESIDE, warehouse)
    io = table.store.io
    entry = live(table)[0]
    (path,) = table.store.paths.extra_files("", entry.bucket, entry.file)
    data = io.read(path)
    (other,) = table.store.paths.extra_files("", entry.bucket, live(table)[1].file)
    expected = rows_of(table, filter="s = 's0' AND id = 0", options=UNREAD)
    assert expected
    for damaged in (b"x" * len(data), data[:-9], data[:20], b"", io.read(other), data[:-1] + bytes([data[-1] ^ 1])):
        io.overwrite(path, damaged)
        caplog.clear()
        assert rows_of(table, filter="s = 's0' AND id = 0") == expected
        assert path in caplog.text
    io.delete(path)
    caplog.clear()
    assert rows_of(table, filter="s = 's0' AND id = 0") == expected
    assert path in caplog.text


@pytest.mark.parametrize("damage", [b"", b"x" * 40, None], ids=["empty", "no index", "cut short"])
def test_a_damaged_index_of_another_writer_is_not_used(damage: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    warehouse = memory_warehouse()
    table = text_table(BESIDE, warehouse)
    io, entry = table.store.io, live(table)[0]
    (path,) = table.store.paths.extra_files("", entry.bucket, entry.file)
    foreign = f"{entry.file.file_name}.index"
    io.create(sibling(path, foreign), io.read(path)[:-9] if damage is None else damage)
    indexes = FileIndexes(table.store, table.facts.schemas, table.schema)
    file = replace(entry.file, extra_files=(foreign,))
    condition = Compare("s", CompareOp.EQ, "never written")
    assert (
        indexes.evaluated("", entry.bucket, entry.file, partial(FileIndex.may_match, predicate=condition), None)
        is False
    )
    assert indexes.evaluated("", entry.bucket, file, partial(FileIndex.may_match, predicate=condition), None) is None
    assert foreign in caplog.text


def test_a_rollback_takes_index_files_with_their_data_files() -> None:
    table = text_table(BESIDE)
    assert sum(name.endswith(".index") for name in files_of(table)) == 5
    table.rollback_to(2)
    assert sum(name.endswith(".index") for name in files_of(table)) == 2
    check_files(table)
    assert kept(table, "s = 's1'") == (1, 1)


def test_index_files_nobody_names_are_orphans() -> None:
    table = text_table(BESIDE)
    entry = live(table)[0]
    path = table.store.paths.data_file("", entry.bucket, entry.file)
    stray = path.replace("data-", "data-0")
    table.store.io.create(stray + ".index", b"x")
    found = table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    assert list(found.paths) == [stray + ".index"]
    check_files(table)
