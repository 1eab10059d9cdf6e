"""Rows that expire by a time in a column: compactions drop them, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from table_format import DropColumn, RenameColumn, SetOption, Table
from table_format.errors import InvalidOption, InvalidSchemaChange
from tests.support.compaction import MovableClock
from tests.support.tables import Warehouse, memory_warehouse, rows_of

DAY_MS = 86_400_000
ONE_DAY = {"record-level.expire-time": "1 d", "record-level.time-field": "at", "bucket": "1"}
IN_MILLISECONDS = pa.int64()
TIMES = {
    "INT": (pa.int32(), lambda ms: ms // 1000),
    "BIGINT in seconds": (pa.int64(), lambda ms: ms // 1000),
    "BIGINT in milliseconds": (IN_MILLISECONDS, lambda ms: ms),
    "TIMESTAMP(3)": (pa.timestamp("ms"), lambda ms: datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None)),
    "TIMESTAMP(9)": (pa.timestamp("ns"), lambda ms: datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None)),
    "TIMESTAMP_LTZ": (pa.timestamp("us", tz="UTC"), lambda ms: datetime.fromtimestamp(ms / 1000, UTC)),
}


class Expiring:
    """A table whose rows expire after a day, and the clock by which they do."""

    def __init__(self, options: Mapping[str, str] | None = None, *, time_type: pa.DataType = IN_MILLISECONDS) -> None:
        self.clock = MovableClock()
        self.warehouse: Warehouse = memory_warehouse(self.clock)
        self.schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", time_type), ("v", pa.string())])
        self.table: Table = self.warehouse.table(
            schema=self.schema, primary_keys=["id"], options={**ONE_DAY, "write-only": "true", **(options or {})}
        )

    def write(self, *rows: tuple[int, Any, str], kind: str = "+I") -> None:
        columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), self.schema, strict=True)]
        batch = pa.Table.from_arrays(columns, schema=self.schema)
        self.table.append(batch.append_column("_row_kind", pa.array([kind] * len(rows))))

    def ids(self) -> list[int]:
        return sorted(self.table.scan(columns=["id"]).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("kind", TIMES)
def test_a_full_compaction_drops_the_rows_that_are_older(kind: str) -> None:
    time_type, time_of = TIMES[kind]
    rows = Expiring(time_type=time_type)
    now = rows.clock.ms
    rows.write((1, time_of(now - DAY_MS - 1000), "a second too old"), (2, time_of(now - DAY_MS), "just young enough"))
    rows.write((3, None, "without a time"), (4, time_of(now + DAY_MS), "of tomorrow"))
    assert rows.ids() == [1, 2, 3, 4]
    rows.table.compact(full=True)
    assert rows.ids() == [2, 3, 4]
    rows.clock.ms += 1000
    rows.table.compact(full=True)
    assert rows.ids() == [3, 4]


def test_a_full_compaction_rewrites_only_files_of_the_highest_level_with_expired_rows() -> None:
    rows = Expiring({"target-file-size": "1 b"})
    now = rows.clock.ms
    rows.write((1, now, "a"))
    rows.table.compact(full=True)
    rows.write((2, now - DAY_MS // 2, "b"))
    rows.table.compact(full=True)
    old, young = sorted(
        (file for split in rows.table.scan().plan() for file in split.files), key=lambda file: -file.max_sequence_number
    )
    assert rows.table.compact(full=True) == ()
    rows.clock.ms += DAY_MS * 3 // 4
    assert rows.ids() == [1, 2]
    rows.table.compact(full=True)
    assert rows.ids() == [1]
    (left,) = (file for split in rows.table.scan().plan() for file in split.files)
    assert left.file_name == young.file_name != old.file_name


def test_a_large_file_with_expired_rows_is_rewritten_instead_of_moved() -> None:
    rows = Expiring({"target-file-size": "1 b"})
    now = rows.clock.ms
    rows.write((1, now, "a"), (2, now - 2 * DAY_MS, "b"))
    rows.table.compact(full=True)
    assert rows.ids() == [1]


def test_expired_rows_are_dropped_before_versions_are_compared() -> None:
    # As in Java: a new version that has expired does not hide one that has not.
    rows = Expiring()
    now = rows.clock.ms
    rows.write((1, now, "young"))
    rows.write((1, now - 2 * DAY_MS, "late"))
    rows.table.compact(full=True)
    assert rows_of(rows.table, columns=["v"]) == [("young",)]


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation", "partial-update"])
def test_merge_engines_add_nothing_of_expired_rows(engine: str) -> None:
    lists = {"fields.v.aggregate-function": "listagg"} if engine == "aggregation" else {}
    rows = Expiring({"merge-engine": engine, **lists})
    now = rows.clock.ms
    rows.write((1, now - 2 * DAY_MS, "old"))
    rows.write((1, now, "new"))
    rows.table.compact(full=True)
    assert rows_of(rows.table, columns=["v"]) == [("new",)]


def test_no_changelog_names_expired_rows() -> None:
    rows = Expiring({"changelog-producer": "full-compaction"})
    now = rows.clock.ms
    rows.write((1, now, "a"), (2, now - DAY_MS // 2, "b"))
    rows.table.compact(full=True)
    stream = rows.table.stream(options={"scan.mode": "latest"})
    assert stream.next_plan() is None
    rows.clock.ms += DAY_MS * 3 // 4
    rows.table.compact(full=True)
    assert rows.ids() == [1]
    plan = stream.next_plan()
    assert plan is None or stream.to_arrow(plan).num_rows == 0


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_a_new_version_hides_an_expired_one_that_deletion_vectors_can_mark(producer: str) -> None:
    rows = Expiring({"deletion-vectors.enabled": "true", "changelog-producer": producer, "write-only": "false"})
    now = rows.clock.ms
    rows.write(*((number, now - DAY_MS // 2, "first") for number in range(100)))
    rows.table.compact(full=True)
    rows.clock.ms += DAY_MS * 3 // 4
    rows.write((7, rows.clock.ms, "second"))
    assert [row for row in rows_of(rows.table, columns=["id", "v"]) if row[0] == 7] == [(7, "second")]
    rows.table.compact(full=True)
    assert rows_of(rows.table, columns=["id", "v"]) == [(7, "second")]


def test_compactions_during_writes_drop_expired_rows_too() -> None:
    rows = Expiring({"write-only": "false", "num-sorted-run.compaction-trigger": "2"})
    now = rows.clock.ms
    rows.write((1, now - 2 * DAY_MS, "old"))
    for number in range(2, 5):
        rows.write((number, now, "new"))
    rows.table.compact(full=True)
    assert rows.ids() == [2, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record-level.expire-time": "1 d"}, "needs 'record-level.time-field'"),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "tim"}, "column 'tim' does not exist"),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "v"}, "takes INT, BIGINT or a timestamp"),
        ({"record-level.time-field": "id"}, "needs 'record-level.expire-time'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    with pytest.raises(InvalidOption, match=message):
        memory_warehouse().table(schema=schema, primary_keys=["id"], options=options)


def test_tables_without_a_primary_key_are_refused() -> None:
    schema = pa.schema([("at", pa.int64())])
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "at"}
    with pytest.raises(InvalidOption, match="primary key"):
        memory_warehouse().table(schema=schema, options=options)


def test_the_column_of_the_time_may_be_renamed_and_not_dropped() -> None:
    rows = Expiring()
    rows.write((1, rows.clock.ms - 2 * DAY_MS, "old"), (2, rows.clock.ms, "new"))
    alter = rows.warehouse.catalog.alter_table
    alter("db.t", [RenameColumn("at", "since")])
    table = rows.warehouse.reopened(rows.table)
    assert table.schema.options["record-level.time-field"] == "since"
    with pytest.raises(InvalidSchemaChange, match=r"record-level\.time-field"):
        alter("db.t", [DropColumn("since")])
    table.compact(full=True)
    assert rows_of(table, columns=["id"]) == [(2,)]


def test_the_options_may_be_set_later() -> None:
    rows = Expiring()
    alter = rows.warehouse.catalog.alter_table
    rows.write((1, rows.clock.ms - 2 * DAY_MS, "old"), (2, rows.clock.ms, "new"))
    alter("db.t", [SetOption("record-level.expire-time", "3 d")])
    table = rows.warehouse.reopened(rows.table)
    table.compact(full=True)
    assert rows_of(table, columns=["id"]) == [(1,), (2,)]
    alter("db.t", [SetOption("record-level.expire-time", "30 h")])
    table = rows.warehouse.reopened(rows.table)
    table.compact(full=True)
    assert rows_of(table, columns=["id"]) == [(2,)]
