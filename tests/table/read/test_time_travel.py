"""Reading earlier snapshots."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import (
    AlreadyExistsError,
    InvalidIdentifier,
    InvalidOption,
    SnapshotExpired,
    SnapshotNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.model.schema_change import AddColumn, DropColumn, RenameColumn
from table_format.model.types import BigIntType
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    made = warehouse.table(primary_keys=["id"])
    for i in (1, 2, 3):
        made.append(keyed([(i, "a", i)]))
    return made


@pytest.mark.parametrize(
    "options",
    [
        {"scan.snapshot-id": "2"},
        {"scan.tag-name": "second"},
        {"scan.version": "second"},
        {"scan.version": "2"},
        {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"},
    ],
)
def test_a_snapshot_is_named_by_id_or_tag(table: Table, options: dict[str, str]) -> None:
    table.create_tag("second", 2)
    assert [row[0] for row in rows_of(table, options=options)] == [1, 2]
    assert [row[0] for row in rows_of(table.copy(options))] == [1, 2]
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]


def test_a_snapshot_is_found_by_its_time(table: Table) -> None:
    last = table.snapshots()[-1]
    for options in (
        {"scan.timestamp-millis": str(last.time_millis)},
        {"scan.timestamp": datetime.fromtimestamp((last.time_millis + 1) / 1000).isoformat(" ")},
        {"scan.mode": "from-timestamp", "scan.timestamp-millis": str(last.time_millis + 5)},
    ):
        assert len(rows_of(table, options=options)) == 3


def test_before_the_first_snapshot_there_is_none(table: Table) -> None:
    with pytest.raises(SnapshotNotFound):
        rows_of(table, options={"scan.timestamp-millis": "5"})
    with pytest.raises(InvalidOption, match="not a date and time"):
        rows_of(table, options={"scan.timestamp": "yesterday"})


def test_an_unknown_snapshot_or_tag_is_answered_with_those_there_are(table: Table) -> None:
    with pytest.raises(SnapshotNotFound, match="the retained snapshots are 1 to 3"):
        rows_of(table, options={"scan.snapshot-id": "9"})
    table.create_tag("here")
    with pytest.raises(TagNotFound, match="the tags are here"):
        rows_of(table, options={"scan.tag-name": "there"})
    with pytest.raises(SnapshotNotFound, match="neither a tag nor the id"):
        rows_of(table, options={"scan.version": "there"})


def test_an_expired_snapshot_says_so_and_its_tag_keeps_it(table: Table) -> None:
    table.create_tag("first", 1)
    dry = table.expire_snapshots(dry_run=True, retain_max=1, retain_min=1, retain_floor_ms=0)
    assert dry.snapshot_ids == (1, 2)
    assert len(table.snapshots()) == 3
    report = table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert report.snapshot_ids == (1, 2)
    with pytest.raises(SnapshotExpired, match="2 has been expired; the only retained snapshot is 3"):
        rows_of(table, options={"scan.snapshot-id": "2"})
    assert [row[0] for row in rows_of(table, options={"scan.tag-name": "first"})] == [1]
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]


def test_young_snapshots_outlive_every_setting(table: Table) -> None:
    assert table.expire_snapshots(retain_max=1, retain_min=1).snapshot_ids == ()


def test_tags_are_made_listed_and_deleted(table: Table) -> None:
    tag = table.create_tag("t1")
    assert tag.snapshot.id == 3
    table.create_tag("t2", 1, time_retained_ms=86_400_000)
    assert list(table.tags()) == ["t1", "t2"]
    with pytest.raises(AlreadyExistsError):
        table.create_tag("t1")
    table.delete_tag("t1")
    assert list(table.tags()) == ["t2"]
    with pytest.raises(TagNotFound):
        table.delete_tag("t1")
    with pytest.raises(SnapshotNotFound):
        table.create_tag("t3", 77)


def test_a_table_without_snapshot_cannot_be_tagged(warehouse: Warehouse) -> None:
    with pytest.raises(SnapshotNotFound, match="has no snapshot yet"):
        warehouse.table("empty").create_tag("t")


def test_a_snapshot_is_shown_in_its_own_schema(warehouse: Warehouse, table: Table) -> None:
    table = warehouse.catalog.alter_table("db.t", [RenameColumn("v", "w"), DropColumn("dt")])
    assert table.scan().to_arrow().column_names == ["id", "w"]
    old = table.scan(filter="v = 2", options={"scan.snapshot-id": "3"}).to_arrow()
    assert old.to_pylist() == [{"id": 2, "dt": "a", "v": 2}]


def test_a_scan_has_one_starting_point_and_the_nearest_wins(table: Table) -> None:
    with pytest.raises(InvalidOption, match="may not be given together"):
        table.scan(options={"scan.snapshot-id": "1", "scan.version": "2"})
    first = table.copy({"scan.snapshot-id": "1"})
    assert len(rows_of(first)) == 1
    assert len(rows_of(first, options={"scan.version": "2"})) == 2
    with pytest.raises(InvalidOption, match="'from-timestamp' needs one of"):
        rows_of(table, options={"scan.mode": "from-timestamp"})


def test_options_of_a_scan_are_checked(table: Table) -> None:
    with pytest.raises(InvalidOption, match=r"did you mean 'scan\.snapshot-id'"):
        table.scan(options={"scan.snapshot": "1"})
    with pytest.raises(UnsupportedFeature, match=r"scan\.bucket"):
        table.scan(options={"scan.bucket": "1"})
    with pytest.raises(InvalidOption, match="only between positive numbers"):
        table.copy({"bucket": "-1"})


def test_a_version_is_the_tag_of_that_name_before_the_snapshot_of_that_id(warehouse: Warehouse, table: Table) -> None:
    table.create_tag("x", snapshot_id=2)
    tags = f"{table.facts.store.paths.tag_directory}/tag-"
    warehouse.io.create(f"{tags}1", warehouse.io.read(f"{tags}x"))  # a writer that takes such names
    assert rows_of(table, options={"scan.version": "1"}) == rows_of(table, options={"scan.snapshot-id": "2"})
    assert "1" in table.tags()
    table.delete_tag("1")
    assert rows_of(table, options={"scan.version": "1"}) == rows_of(table, options={"scan.snapshot-id": "1"})
    with pytest.raises(InvalidIdentifier, match="purely numeric"):
        table.create_tag("1", snapshot_id=2)


def columns(*rows: tuple[int, int | None, int | None], names: tuple[str, ...] = ("id", "s", "v")) -> pa.Table:
    arrays = [pa.array(values, pa.int64()) for values in zip(*rows, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


@pytest.mark.parametrize(
    "change", [[RenameColumn("s", "x")], [RenameColumn("v", "x")], [RenameColumn(*to) for to in ("sx", "vs", "xv")]]
)
@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "max", "fields.s.aggregate-function": "sum"},
        {"merge-engine": "partial-update", "fields.s.sequence-group": "v"},
        {"sequence.field": "s", "file-index.bitmap.columns": "v"},
    ],
    ids=str,
)
def test_a_snapshot_from_before_a_rename_has_the_rows_that_it_had(
    warehouse: Warehouse, options: dict[str, str], change: list[RenameColumn]
) -> None:
    # Its columns have their old names, and the options of the merge engine name the new ones.
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.int64()), ("v", pa.int64())])
    table = warehouse.table(
        schema=schema, primary_keys=["id"], options={"bucket": "1", "write-only": "true", **options}
    )
    table.append(columns((1, 9, 9), (2, 1, 1)))
    table.append(columns((1, 5, 5), (2, 2, None)))
    then = rows_of(table)
    selected = rows_of(table, filter="v = 9")
    assert [row[0] for row in selected] == [1]
    warehouse.catalog.alter_table("db.t", change)
    table = warehouse.reopened(table)
    table.create_tag("then", 2)
    now = rows_of(table)
    for at in ({"scan.snapshot-id": "2"}, {"scan.tag-name": "then"}):
        assert rows_of(table, options=at) == then
        assert rows_of(table, options=at, filter="v = 9") == selected
        scan = table.scan(options=at)
        assert scan.aggregate({"v": ("sum", "v")}).rows == ({"v": sum(row[2] or 0 for row in then)},)
        assert scan.to_dataset().to_table()["v"].to_pylist() == scan.to_arrow()["v"].to_pylist()
        assert table.scan(options=at, order_by="v DESC", limit=1).to_arrow()["v"].to_pylist() == [9]
        for name in ("audit_log", "binlog"):
            log = warehouse.catalog.load_system_table(f"db.t${name}").scan(["id", "s", "v"], options=at).to_arrow()
            found = sorted(zip(*(log[column].to_pylist() for column in ("id", "s", "v")), strict=True), key=repr)
            assert found == (then if name == "audit_log" else [tuple([value] for value in row) for row in then])
    assert rows_of(table) == now == then


def test_a_snapshot_from_before_a_column_was_replaced_has_the_rows_that_it_had(warehouse: Warehouse) -> None:
    options = {"bucket": "1", "write-only": "true", "merge-engine": "aggregation", "fields.v.aggregate-function": "max"}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.int64()), ("v", pa.int64())])
    table = warehouse.table(schema=schema, primary_keys=["id"], options=options)
    table.append(columns((1, 9, 9)))
    table.append(columns((1, 5, 5)))
    replaced = [RenameColumn("v", "old"), AddColumn("v", BigIntType())]
    warehouse.catalog.alter_table("db.t", replaced)
    table = warehouse.reopened(table)
    assert rows_of(table) == [(1, 5, 9, None)]
    assert rows_of(table, options={"scan.snapshot-id": "2"}) == [(1, 5, 9)]
    assert rows_of(table.copy({"scan.snapshot-id": "2"})) == [(1, 5, 9)]
