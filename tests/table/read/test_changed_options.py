"""Options that determine which rows and changes a table has are altered behind the back of its readers."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import SchemaChanged
from table_format.model.schema_change import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
)
from table_format.model.types import IntType
from table_format.table.read.stream import StreamScan
from table_format.table.system.registry import open_system_table
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

PRODUCER = "changelog-producer"
COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int32()), ("seq", pa.int32())])


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def changes_in(stream: StreamScan) -> list[tuple[str, int, int]]:
    """The changes that a stream has for its reader now: kind, key and value."""
    found = []
    while (plan := stream.next_plan()) is not None:
        found += [(row["rowkind"], row["id"], row["v"]) for row in stream.to_arrow(plan).to_pylist()]
    return found


# --- changes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [("input", "none"), ("none", "input"), ("lookup", "none"), ("none", "lookup"), ("lookup", "input")],
)
@pytest.mark.parametrize("reader", ["open", "behind", "opened again"])
def test_a_stream_gets_all_changes_from_before_and_after_another_changelog_producer(
    warehouse: Warehouse, before: str, after: str, reader: str
) -> None:
    table = warehouse.table(primary_keys=["id"], options={PRODUCER: before})
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream()
    seen = changes_in(stream)
    table.append(keyed([(2, "a", 2)]))
    if reader == "open":
        seen += changes_in(stream)
    table.compact(full=True)
    warehouse.catalog.alter_table("db.t", SetOption(PRODUCER, after))
    fresh = warehouse.reopened(table)
    fresh.append(keyed([(3, "a", 3)]))
    if reader == "opened again":
        position, stream = stream.checkpoint(), fresh.stream()
        stream.restore(position)
    seen += changes_in(stream)
    assert sorted(set(seen)) == [("+I", 1, 1), ("+I", 2, 2), ("+I", 3, 3)]
    assert rows_of(fresh, columns=["id"], options={"incremental-between": "1,2"}) == [(2,)] or before == "lookup"
    everything = {"incremental-between": f"0,{fresh.latest_snapshot().id}"}  # type: ignore[union-attr]
    for each in (table, fresh):
        assert sorted({row[0] for row in rows_of(each, columns=["id"], options=everything)}) == [1, 2, 3]


def test_the_state_of_a_stream_fits_the_changes_that_follow_it(warehouse: Warehouse) -> None:
    stale = warehouse.table(primary_keys=["id"], options={PRODUCER: "input"})
    stream = stale.stream()
    warehouse.catalog.alter_table("db.t", [SetOption(PRODUCER, "lookup"), SetOption("write-only", "true")])
    fresh = warehouse.reopened(stale)
    fresh.append(keyed([(1, "a", 1)]))
    assert changes_in(stream) == []
    fresh.compact(full=True)  # writes the changelog
    assert changes_in(stream) == [("+I", 1, 1)]


def test_changes_from_before_the_changelog_outlive_their_snapshots(warehouse: Warehouse) -> None:
    kept = {"changelog.num-retained.max": "100", "changelog.num-retained.min": "50", "snapshot.num-retained.min": "1"}
    table = warehouse.table(primary_keys=["id"], options=kept)
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream()
    changes_in(stream)
    table.append(keyed([(2, "a", 2)]))
    fresh = warehouse.catalog.alter_table("db.t", SetOption(PRODUCER, "input"))
    fresh.append(keyed([(3, "a", 3)]))
    fresh.compact(full=True)
    fresh.append(keyed([(4, "a", 4)]))
    expired = fresh.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert expired.ids == (1, 2, 3, 4)
    assert not fresh.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True).paths
    assert fresh.verify(depth="rows").is_healthy
    assert changes_in(stream) == [("+I", 2, 2), ("+I", 3, 3), ("+I", 4, 4)]
    fresh.expire_changelogs(everything=True)
    assert not fresh.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True).paths
    assert fresh.verify(depth="rows").is_healthy


def alter_producer(warehouse: Warehouse, table: Table, producer: str) -> None:
    """Alter the producer after a full compaction, without which a stream would miss deletes."""
    table.compact(full=True)
    warehouse.catalog.alter_table("db.t", SetOption(PRODUCER, producer))


@pytest.mark.parametrize("bucket", ["1", "-1", "-2"])
@pytest.mark.parametrize("seed", range(3))
def test_the_changes_of_a_random_history_of_producers_add_up_to_the_rows(
    warehouse: Warehouse, bucket: str, seed: int
) -> None:
    draw = random.Random(f"{bucket} {seed}")
    options = {"bucket": bucket, "changelog.num-retained.max": "999", "changelog.num-retained.min": "998"}
    table = warehouse.table(primary_keys=["id"], options={**options, "snapshot.num-retained.min": "1"})
    stream, held = table.stream(), dict[int, int]()
    for _ in range(25):
        table = warehouse.reopened(table)
        match draw.choice(["append"] * 4 + ["compact", "alter", "expire", "read", "reopen"]):
            case "append":
                ids = draw.sample(range(6), 3)
                kinds = pa.array(draw.choices(["+I", "+I", "-D"], k=3))
                table.append(keyed([(key, "a", draw.randrange(99)) for key in ids], _row_kind=kinds))
            case "compact":
                table.compact(full=draw.random() < 0.5)
            case "alter":
                alter_producer(warehouse, table, draw.choice(["none", "input", "lookup", "full-compaction"]))
            case "expire":
                table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
                table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
            case "read":
                apply_changes(stream, held)
            case "reopen":
                position, stream = stream.checkpoint(), table.stream()
                stream.restore(position)
    table.compact(full=True)
    apply_changes(stream, held)
    assert sorted(held.items()) == rows_of(warehouse.reopened(table), columns=["id", "v"])
    assert table.verify(depth="rows").is_healthy


def apply_changes(stream: StreamScan, held: dict[int, int]) -> None:
    """Apply what a stream has for its reader now to the rows that the reader holds."""
    for kind, key, value in changes_in(stream):
        if kind in ("+I", "+U"):
            held[key] = value
        elif kind == "-D":
            held.pop(key, None)


# --- states ---------------------------------------------------------------------------------------------------------


def rows(*found: tuple[int, int, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS.names, each, strict=True)) for each in found], schema=COLUMNS)


def altered(warehouse: Warehouse, options: Mapping[str, str], *changes: SchemaChange) -> tuple[Table, Table]:
    """A table as it was loaded before changes and a row that they concern, and after."""
    stale = warehouse.table(schema=COLUMNS, primary_keys=["id"], options={"bucket": "1", **options})
    stale.append(rows((1, 1, 10)))
    warehouse.catalog.alter_table("db.t", list(changes))
    fresh = warehouse.reopened(stale)
    values = {"id": 1, "v": 2, "seq": 5}
    fresh.append(pa.table({name: [values.get(name)] for name in fresh.schema.field_names}, schema=fresh.arrow_schema))
    return stale, fresh


@pytest.mark.parametrize(
    ("options", "changes", "option"),
    [
        ({}, [SetOption("sequence.field", "seq")], "sequence.field"),
        ({"sequence.field": "seq"}, [RemoveOption("sequence.field")], "sequence.field"),
        ({"sequence.field": "seq"}, [RemoveOption("sequence.field"), DropColumn("seq")], "sequence.field"),
        (
            {"sequence.field": "seq"},
            [SetOption("sequence.field.sort-order", "descending")],
            "sequence.field.sort-order",
        ),
        (
            {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
            [SetOption("fields.v.aggregate-function", "max")],
            "fields.<column>.aggregate-function",
        ),
        ({"deletion-vectors.enabled": "true"}, [RemoveOption("deletion-vectors.enabled")], "deletion-vectors.enabled"),
    ],
)
def test_a_state_that_other_options_merge_is_not_read_by_those_of_an_older_schema(
    warehouse: Warehouse, options: Mapping[str, str], changes: list[SchemaChange], option: str
) -> None:
    stale, fresh = altered(warehouse, options, *changes)
    message = rf"db\.t: rows were written under schema \d, .* opened under schema 0, .* other values of '{option}'"
    latest = fresh.latest_snapshot()
    assert latest is not None
    difference = {"incremental-between": f"1,{latest.id}", "incremental-between-scan-mode": "diff"}
    reads = (
        lambda: stale.scan().to_arrow(),
        lambda: stale.scan().count(),
        lambda: stale.scan().to_dataset().to_table(),
        lambda: changes_in(stale.stream()),
        lambda: open_system_table(stale, "audit_log").scan().to_arrow(),
        lambda: open_system_table(stale, "binlog").scan().to_arrow(),
        lambda: stale.scan(options=difference).to_arrow(),
    )
    for read in reads:
        with pytest.raises(SchemaChanged, match=message):
            read()
    assert rows_of(stale, options={"scan.snapshot-id": str(latest.id - 1)}) == [(1, 1, 10)]
    assert rows_of(stale, options={"scan.snapshot-id": str(latest.id)}) == rows_of(fresh)


def test_a_state_from_before_the_change_is_read_as_it_was(warehouse: Warehouse) -> None:
    stale = warehouse.table(schema=COLUMNS, primary_keys=["id"])
    stale.append(rows((1, 1, 10)))
    warehouse.catalog.alter_table("db.t", SetOption("sequence.field", "seq"))
    assert rows_of(stale) == [(1, 1, 10)]


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (
            {"sequence.field": "seq"},
            [RenameColumn("seq", "other"), RenameColumn("v", "seq"), RenameColumn("other", "v")],
        ),
        (
            {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"},
            [AddColumn("n", IntType()), SetOption("fields.n.aggregate-function", "sum")],
        ),
        (
            {"merge-engine": "partial-update", "fields.seq.sequence-group": "v"},
            [AddColumn("n", IntType()), SetOption("fields.seq.sequence-group", "v,n")],
        ),
        ({}, [SetOption("ignore-update-before", "true"), SetOption("write-only", "true")]),
    ],
)
def test_options_that_change_nothing_for_the_columns_of_a_reader_do_not_stop_it(
    warehouse: Warehouse, options: Mapping[str, str], changes: list[SchemaChange]
) -> None:
    stale, fresh = altered(warehouse, options, *changes)
    (shown,) = stale.scan().to_arrow().to_pylist()
    (current,) = fresh.scan().to_arrow().to_pylist()
    names = {f.id: f.name for f in fresh.schema.fields}
    assert shown == {f.name: current[names[f.id]] for f in stale.schema.fields}
