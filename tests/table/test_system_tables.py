"""System tables: reading them, and the examples of the documents."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import ColumnNotFound, InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn, SetOption
from table_format.model.types import BigIntType, DataField, IntType
from table_format.runtime import Runtime
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from tests.support.metastore_table import ManualClock
from tests.support.system_tables import OF_EVERY_TABLE
from tests.support.tables import Warehouse, disk_warehouse, keyed, memory_warehouse

WORDS = pa.schema([pa.field("word", pa.string(), nullable=False), ("cnt", pa.int32()), ("val", pa.int32())])
HOUR = 3_600_000


@pytest.fixture
def warehouse() -> Warehouse:
    made = memory_warehouse()
    table = made.table(primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1"})
    table.append(keyed([(1, "a", 5), (2, "a", None)]))
    made.catalog.alter_table("db.t", SetOption("write-only", "true"))
    table.append(keyed([(3, "b", 7)]))
    return made


@pytest.fixture
def words() -> Warehouse:
    """Three files of the first snapshot and three of the second, one for each row, in partitions by ``cnt``."""
    made = memory_warehouse()
    table = made.table(
        schema=WORDS,
        primary_keys=["word", "cnt"],
        partition_keys=["cnt"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "9"},
    )
    for rows in ([("c", 3, 33), ("b", 2, 22), ("a", 1, 11)], [("d", 2, 32), ("c", 5, 51), ("a", 4, 12)]):
        names, counts, values = zip(*rows, strict=True)
        table.append(pa.table([names, pa.array(counts, pa.int32()), pa.array(values, pa.int32())], WORDS.names))
    return made


def opened(warehouse: Warehouse, name: str) -> SystemTable:
    table = warehouse.catalog.load_table(name if "$" in name or "." in name else f"db.t${name}")
    assert isinstance(table, SystemTable)
    return table


def data_table(warehouse: Warehouse, name: str = "db.t") -> Table:
    table = warehouse.catalog.load_table(name)
    assert isinstance(table, Table)
    return table


def rows_of(warehouse: Warehouse, name: str, *columns: str, **arguments: Any) -> list[tuple[Any, ...]]:
    found = opened(warehouse, name).scan(columns or None, **arguments).to_arrow()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", OF_EVERY_TABLE)
def test_every_system_table_has_rows_of_its_schema_in_every_shape(warehouse: Warehouse, title: str) -> None:
    table = opened(warehouse, title)
    assert table.name == f"db.t${title}"
    arrow = table.scan().to_arrow()
    assert arrow.schema == table.schema
    assert [f.name for f in table.fields] == arrow.schema.names
    assert table.scan().to_reader().read_all() == arrow
    assert pa.Table.from_batches(table.scan().to_batches(), arrow.schema) == arrow
    assert len(table.scan().to_pandas()) == len(table.scan().to_polars()) == len(arrow)
    assert len(table.scan().to_duckdb().fetchall()) == len(arrow)


def test_columns_and_rows_are_chosen(warehouse: Warehouse) -> None:
    assert rows_of(warehouse, "snapshots", "schema_id", filter="snapshot_id = 2") == [(1,)]
    scan = opened(warehouse, "snapshots").scan(["commit_kind", "snapshot_id"], "total_record_count > 2")
    assert scan.schema == pa.schema(
        [pa.field("commit_kind", pa.string(), nullable=False), pa.field("snapshot_id", pa.int64(), nullable=False)]
    )
    assert scan.to_arrow().to_pylist() == [{"commit_kind": "APPEND", "snapshot_id": 2}]


def test_columns_of_a_system_table_must_exist(warehouse: Warehouse) -> None:
    with pytest.raises(ColumnNotFound, match="'nope' does not exist; the columns are key, value"):
        opened(warehouse, "options").scan(["nope"]).to_arrow()


def test_a_system_table_that_is_not_known_is_refused_with_those_there_are(warehouse: Warehouse) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'db\.t\$nope' is not supported.* \$snapshots, .*\$files"):
        warehouse.catalog.load_table("db.t$nope")


def test_names_of_system_tables_are_known_in_upper_case_too(warehouse: Warehouse) -> None:
    assert rows_of(warehouse, "db.t$SNAPSHOTS", "snapshot_id") == [(1,), (2,)]


def test_system_tables_show_the_table_of_the_moment_of_reading(warehouse: Warehouse) -> None:
    scan = opened(warehouse, "snapshots").scan(["snapshot_id"])
    data_table(warehouse).append(keyed([(4, "a", 4)]))
    assert scan.to_arrow()["snapshot_id"].to_pylist() == [1, 2, 3]


def test_options_of_a_scan_are_checked(warehouse: Warehouse) -> None:
    with pytest.raises(InvalidOption, match=r"scan\.snapshot"):
        opened(warehouse, "files").scan(options={"scan.snapshot": "1"})


def test_an_empty_table_has_empty_system_tables() -> None:
    made = memory_warehouse()
    made.table()
    shown = {title: len(rows_of(made, f"db.t${title}")) for title in OF_EVERY_TABLE}
    assert {title for title, count in shown.items() if count} == {"schemas", "aggregation_fields"}


def test_metadata_tables_travel_between_processes(tmp_path: Any) -> None:
    made = disk_warehouse(tmp_path)
    made.table().append(keyed([(1, "a", 1)]))
    table = pickle.loads(pickle.dumps(opened(made, "files")))  # noqa: S301
    assert table.scan(["record_count"]).to_arrow().to_pylist() == [{"record_count": 1}]


# --- the examples of the documents ------------------------------------------------------------------------------------


def test_snapshots_of_two_inserts(warehouse: Warehouse) -> None:
    columns = ("snapshot_id", "schema_id", "commit_kind", "total_record_count", "delta_record_count")
    assert rows_of(warehouse, "snapshots", *columns) == [(1, 0, "APPEND", 2, 2), (2, 1, "APPEND", 3, 1)]
    assert len(opened(warehouse, "snapshots").fields) == 13 + len(("next_row_id", "operation", "writer_version"))


def test_schemas_of_three_versions_join_the_snapshots_made_with_them(warehouse: Warehouse) -> None:
    warehouse.catalog.alter_table("db.t", AddColumn("w", IntType(), comment="new"))
    rows = rows_of(warehouse, "schemas")
    assert [row[0] for row in rows] == [0, 1, 2]
    assert json.loads(rows[1][4]) == {"bucket": "1", "write-only": "true"}
    assert rows[0][2:4] == ('["dt"]', '["id","dt"]')
    assert [field["name"] for field in json.loads(rows[2][1])] == ["id", "dt", "v", "w"]
    s = opened(warehouse, "snapshots").scan().to_arrow()
    t = opened(warehouse, "schemas").scan().to_arrow()
    joined = s.join(t, "schema_id").filter(pa.compute.field("snapshot_id") == 2)
    assert joined.select(["snapshot_id", "schema_id"]).to_pylist() == [{"snapshot_id": 2, "schema_id": 1}]


def test_options_are_only_those_that_were_given() -> None:
    made = memory_warehouse()
    made.table(options={"snapshot.time-retained": "5 h"})
    assert rows_of(made, "options") == [("snapshot.time-retained", "5 h")]


def test_files_of_the_latest_snapshot_and_of_an_earlier_one(words: Warehouse) -> None:
    columns = ("partition", "bucket", "level", "record_count", "min_key", "max_key", "null_value_counts")
    nulls = "{cnt=0, val=0, word=0}"
    expected = [
        (f"[{cnt}]", 0, 0, 1, f"[{word}]", f"[{word}]", nulls)
        for cnt, word in ((1, "a"), (2, "b"), (2, "d"), (3, "c"), (4, "a"), (5, "c"))
    ]
    assert sorted(rows_of(words, "files", *columns)) == expected
    shown = sorted(rows_of(words, "files", "min_value_stats", "max_value_stats", filter="partition = '[2]'"))
    assert shown == [("{cnt=2, val=22, word=b}",) * 2, ("{cnt=2, val=32, word=d}",) * 2]
    first = rows_of(words, "files", "partition", options={"scan.snapshot-id": "1"})
    assert sorted(first) == [("[1]",), ("[2]",), ("[3]",)]
    path, source, deletes = rows_of(words, "files", "file_path", "file_source", "deleteRowCount")[0]
    assert path.startswith("/warehouse/db.db/t/cnt=1/bucket-0/data-")
    assert (source, deletes) == ("APPEND", 0)


def test_statistics_of_files_follow_renamed_added_and_widened_columns(words: Warehouse) -> None:
    changes = [RenameColumn("val", "amount"), AlterColumnType("amount", BigIntType()), AddColumn("a", IntType())]
    words.catalog.alter_table("db.t", changes)
    row = rows_of(words, "files", "null_value_counts", "min_value_stats", filter="partition = '[5]'")
    assert row == [("{a=1, amount=0, cnt=0, word=0}", "{a=null, amount=51, cnt=5, word=c}")]


def test_tags_with_the_snapshots_they_keep() -> None:
    made = memory_warehouse()
    table = made.table()
    for count in (3, 3, 1):
        table.append(keyed([(i, "a", i) for i in range(count)]))
    table.create_tag("tag3", 3)
    table.create_tag("tag1", 1, time_retained_ms=120 * HOUR)
    columns = ("tag_name", "snapshot_id", "schema_id", "record_count", "time_retained")
    assert rows_of(made, "tags", *columns) == [("tag1", 1, 0, 3, "PT120H"), ("tag3", 3, 0, 7, None)]
    (_, created), (_, none) = rows_of(made, "tags", "tag_name", "create_time")
    assert (created is not None, none) == (True, None)


def test_branches_and_system_tables_of_a_branch() -> None:
    made = memory_warehouse()
    table = made.table()
    table.append(keyed([(1, "a", 1)]))
    table.create_tag("one")
    table.append(keyed([(2, "a", 2)]))
    table.create_branch("branch1")
    table.create_branch("branch2", tag="one")
    assert rows_of(made, "branches", "branch_name") == [("branch1",), ("branch2",)]
    assert rows_of(made, "db.t$branch_branch2$branches", "branch_name") == [("branch1",), ("branch2",)]
    assert rows_of(made, "db.t$branch_branch1$files") == []
    assert rows_of(made, "db.t$branch_branch2$files", "record_count", "max_value_stats") == [(1, "{dt=a, id=1, v=1}")]
    assert rows_of(made, "db.t$branch_branch2$snapshots", "snapshot_id") == [(1,)]
    assert opened(made, "db.t$branch_branch2$files").name == "db.t$branch_branch2$files"


def test_consumers_with_the_snapshot_each_reads_next() -> None:
    made = memory_warehouse()
    table = made.table()
    table.reset_consumer("id1", 1)
    table.reset_consumer("id2", 3)
    assert rows_of(made, "consumers") == [("id1", 1), ("id2", 3)]


def test_manifests_of_the_latest_and_of_a_named_snapshot() -> None:
    made = memory_warehouse()
    table = made.table(partition_keys=["dt"])
    table.append(keyed([(i, f"p{i:02}", i) for i in range(40)]))
    table.create_tag("tag1")
    table.append(keyed([(1, "p00", 1)]))
    columns = ("num_added_files", "num_deleted_files", "schema_id", "min_partition_stats", "max_partition_stats")
    first, second = (40, 0, 0, "[p00]", "[p39]"), (1, 0, 0, "[p00]", "[p00]")
    assert rows_of(made, "manifests", *columns) == [first, second]
    for option in ({"scan.snapshot-id": "1"}, {"scan.tag-name": "tag1"}):
        assert rows_of(made, "manifests", *columns, options=option) == [first]


def test_manifests_at_a_time_between_two_snapshots() -> None:
    made = memory_warehouse()
    clock = ManualClock()
    catalog = type(made.catalog)(made.catalog.warehouse, made.io, Runtime(clock=clock))
    at = Warehouse(catalog, made.io)
    table = at.table()
    table.append(keyed([(1, "a", 1)]))
    clock.ms += HOUR
    table.append(keyed([(2, "a", 2)]))
    between = {"scan.timestamp-millis": str(clock.ms - 1)}
    assert len(rows_of(at, "manifests")) == 2
    assert len(rows_of(at, "manifests", options=between)) == 1


def test_aggregation_fields_show_the_options_of_each_column() -> None:
    made = memory_warehouse()
    table = made.table("other")
    fields = (
        DataField(0, "product_id", BigIntType(nullable=False)),
        DataField(1, "price", IntType()),
        DataField(2, "sales", BigIntType(), "sold pieces"),
    )
    options = {
        "merge-engine": "aggregation",
        "fields.price.ignore-retract": "true",
        "fields.price.aggregate-function": "count",
        "fields.sales.aggregate-function": "sum",
    }
    schema = TableSchema(
        id=1, fields=fields, highest_field_id=2, partition_keys=(), primary_keys=("product_id",), options=options
    )
    table.facts.schema_store.create(schema)
    assert rows_of(made, "db.other$aggregation_fields") == [
        ("product_id", "BIGINT NOT NULL", "[]", "[]", None),
        ("price", "INT", "[true, count]", "[fields.price.ignore-retract, fields.price.aggregate-function]", None),
        ("sales", "BIGINT", "[sum]", "[fields.sales.aggregate-function]", "sold pieces"),
    ]


def test_partitions_and_buckets_add_up_their_files(words: Warehouse) -> None:
    sizes = dict.fromkeys("12345", 0)
    for partition, size in rows_of(words, "files", "partition", "file_size_in_bytes"):
        sizes[partition[1]] += size
    counts = {"1": 1, "2": 2, "3": 1, "4": 1, "5": 1}
    columns = ("partition", "record_count", "file_size_in_bytes", "file_count")
    expected = [(f"[{p}]", counts[p], sizes[p], counts[p]) for p in "12345"]
    assert rows_of(words, "partitions", *columns) == expected
    assert rows_of(words, "buckets", *columns) == expected
    assert rows_of(words, "buckets", "bucket") == [(0,)] * 5
    rest = ("total_buckets", "done", "deleted_record_count", "created_by")
    assert set(rows_of(words, "partitions", *rest)) == {(1, False, 0, None)}
    last = max(rows_of(words, "files", "creation_time"))
    assert max(rows_of(words, "partitions", "last_update_time")) == last


def test_partitions_of_an_unpartitioned_table_are_one() -> None:
    made = memory_warehouse()
    made.table().append(keyed([(1, "a", 1), (2, None, 2)]))
    assert rows_of(made, "partitions", "partition", "record_count", "total_buckets") == [("[]", 2, -1)]


def test_null_partitions_are_shown_as_null() -> None:
    made = memory_warehouse()
    made.table(partition_keys=["dt"]).append(keyed([(1, None, 1)]))
    assert rows_of(made, "buckets", "partition", "bucket") == [("[null]", 0)]
