"""The source: where queries begin, the content of micro-batches, and errors that stop a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from table_format import Table
from table_format.errors import (
    InvalidIdentifier,
    InvalidInputError,
    InvalidOption,
    SchemaChanged,
    SnapshotExpired,
    SnapshotNotFound,
    TableNotFound,
    TableReplaced,
    UnsupportedFeature,
)
from table_format.metastore.references.consumers import next_snapshot
from table_format.model.schema_change import AddColumn, DropColumn, SetOption
from table_format.model.types import IntType
from table_format.spark.source.data_source import PaimonDataSource
from tests.spark.stream.micro_batches import Checkpoint, Run, data_source_of, source_of
from tests.support.tables import Warehouse, keyed

KEEP_ALL = {"snapshot.num-retained.min": "100", "snapshot.num-retained.max": "100"}
SMALL_SPLITS = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}


def three_commits(warehouse: Warehouse, *, compacted_before: int | None = None, **options: str) -> Table:
    """Create three snapshots with one key each. The later ones also replace the row of key 0."""
    given = {"write-only": "true", "bucket": "1", **KEEP_ALL, **{k.replace("_", "-"): v for k, v in options.items()}}
    table = warehouse.table(primary_keys=["id"], options=given)
    for number in (1, 2, 3):
        if number == compacted_before:
            table.compact(full=True)
        table.append(keyed([(0, "a", number), (number, "a", number)]))
    return table


def expire_all(table: Table) -> None:
    """Expire all snapshots that no consumer keeps, except the latest."""
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=1 << 60, retain_floor_ms=0)


def run(table: Table, checkpoint: Checkpoint, options: dict[str, str] | None = None) -> list[list[tuple[Any, ...]]]:
    """Return the rows of every available micro-batch, in a new process."""
    return [sorted(rows) for _, rows in Run(source_of(table, options), checkpoint).available_now().batches]


STATE_OF_3 = [(0, "a", 3), (1, "a", 1), (2, "a", 2), (3, "a", 3)]
CHANGES_OF_2, CHANGES_OF_3 = [(0, "a", 2), (2, "a", 2)], [(0, "a", 3), (3, "a", 3)]
CHANGES_OF_4 = [(0, "a", 4), (4, "a", 4)]
MODES: dict[str, tuple[dict[str, str], list[list[tuple[Any, ...]]]]] = {
    "default": ({}, [STATE_OF_3]),
    "latest-full": ({"scan.mode": "latest-full"}, [STATE_OF_3]),
    "latest": ({"scan.mode": "latest"}, []),
    "from-snapshot": ({"scan.snapshot-id": "2"}, [sorted(CHANGES_OF_2 + CHANGES_OF_3)]),
    "from-snapshot-full": (
        {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"},
        [sorted([(0, "a", 2), (1, "a", 1), (2, "a", 2), *CHANGES_OF_3])],
    ),
    "from-timestamp": (
        {"scan.timestamp-millis": "1"},
        [sorted([(0, "a", 1), (1, "a", 1), *CHANGES_OF_2, *CHANGES_OF_3])],
    ),
    "compacted-full": ({"scan.mode": "compacted-full"}, [[(0, "a", 2), (1, "a", 1), (2, "a", 2)], CHANGES_OF_3]),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_query_begins_according_to_the_scan_mode_and_continues_with_changes(
    mode: str, warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    options, expected = MODES[mode]
    if mode == "compacted-full":
        # The third commit comes after the compaction.
        options = {**options, "read.stream.maxFilesPerTrigger": "1"}
        table = three_commits(warehouse, compacted_before=3)
    else:
        table = three_commits(warehouse)
    source = source_of(table, options)
    begun = Run(source, checkpoint).available_now()
    assert [sorted(rows) for _, rows in begun.batches] == expected
    table.append(keyed([(0, "a", 4), (4, "a", 4)]))
    going_on = Run(source, checkpoint) if mode == "latest" else Run(source_of(table, options), checkpoint)
    assert [sorted(rows) for _, rows in going_on.available_now().batches] == [CHANGES_OF_4]
    assert run(table, checkpoint, options) == []


@pytest.mark.parametrize(("change", "columns"), [(AddColumn("n", IntType()), "id dt v n"), (DropColumn("v"), "id dt")])
@pytest.mark.parametrize("start", ["scan.snapshot-id", "scan.timestamp-millis"])
def test_a_query_that_begins_at_an_old_snapshot_has_the_current_columns(
    start: str, change: Any, columns: str, warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = three_commits(warehouse)
    warehouse.catalog.alter_table("db.t", [change])
    assert data_source_of(table, {start: "1"}).schema().names == columns.split()
    [rows] = run(table, checkpoint, {start: "1"})
    assert [row[:2] for row in rows] == [(0, "a")] * 3 + [(1, "a"), (2, "a"), (3, "a")]


def test_a_query_of_an_empty_table_waits_for_its_first_snapshot(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = warehouse.table(primary_keys=["id"])
    source = source_of(table)
    query = Run(source, checkpoint)
    assert not query.trigger()
    table.append(keyed([(1, "a", 1)]))
    assert query.trigger()
    assert not query.trigger()
    assert query.batches[0][1] == [(1, "a", 1)]


def test_row_kinds_are_shown_with_read_changelog_and_retracts_are_left_out_without_it(
    warehouse: Warehouse, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    table = three_commits(warehouse, changelog_producer="input")
    table.delete("id = 2")
    from_4 = {"scan.snapshot-id": "4"}
    source = source_of(table, {**from_4, "read.changelog": "true"})
    assert Run(source, checkpoint).available_now().batches[0][1] == [("-D", 2, "a", 2)]
    # There is something to read, and none of it is shown.
    assert run(table, Checkpoint(tmp_path / "other"), from_4) == [[]]


def test_a_stream_of_the_audit_log_has_the_row_kinds(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse, changelog_producer="input")
    table.delete("id = 2")
    path = f"{table.store.paths.root}$audit_log"
    for given in ({}, {"read.changelog": "true"}):
        source = source_of(table, {"path": path, "scan.snapshot-id": "4", **given})
        assert Run(source, Checkpoint(checkpoint.place)).available_now().batches[0][1] == [("-D", 2, "a", 2)]
    with pytest.raises(InvalidOption, match=r"a stream of 'db\.t\$audit_log' has every change; leave it out"):
        source_of(table, {"path": path, "read.changelog": "false"})
    with pytest.raises(InvalidInputError, match=r"'db\.t\$files' is a system table, which has no stream"):
        source_of(table, {"path": f"{table.store.paths.root}$files"})


@pytest.mark.parametrize("engine", ["partial-update", "aggregation", "first-row"])
def test_a_merge_engine_that_combines_rows_of_several_commits_needs_a_changelog(
    engine: str, warehouse: Warehouse
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"merge-engine": engine})
    with pytest.raises(UnsupportedFeature, match=f"merge-engine = {engine} and no changelog-producer"):
        source_of(table)
    source_of(
        warehouse.table("u", primary_keys=["id"], options={"merge-engine": engine, "changelog-producer": "lookup"})
    )


# --- how much a micro-batch takes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["maxFilesPerTrigger", "maxRowsPerTrigger", "maxBytesPerTrigger"])
def test_a_state_and_a_snapshot_are_divided_into_micro_batches_by_splits(
    limit: str, warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = warehouse.table(options={**SMALL_SPLITS, **KEEP_ALL})
    for n in range(3):
        table.append(keyed([(n, "a", n)]))
    found = []
    for _ in range(3):
        query = Run(source_of(table, {f"read.stream.{limit}": "1"}), checkpoint)
        query.trigger()
        found += query.batches
    assert [(end["snapshot"], end["read"], end["splits"]) for end, _ in found] == [(3, 1, 3), (3, 2, 3), (3, 3, 3)]
    assert sorted(row for _, rows in found for row in rows) == [(n, "a", n) for n in range(3)]
    assert run(table, checkpoint) == []


def test_trigger_once_ignores_the_limits(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    query = Run(source_of(table, {"scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"}), checkpoint)
    query.trigger(unlimited=True)
    assert query.batches[0][0]["snapshot"] == 3


def test_available_now_ends_with_the_latest_snapshot_at_its_start(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    query = Run(source_of(table, {"scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"}), checkpoint)
    query.step = lambda name: table.append(keyed([(9, "a", 9)])) and None if "before the batch" in name else None
    query.available_now()
    assert [end["snapshot"] for end, _ in query.batches] == [1, 2, 3]


def test_few_rows_wait_for_more_rows_until_the_delay_ends(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    waiting = {"read.stream.minRowsPerTrigger": "3", "read.stream.maxTriggerDelayMs": "3600000"}
    query = Run(source_of(table, waiting), checkpoint)
    assert query.trigger()
    table.append(keyed([(0, "a", 4), (4, "a", 4)]))
    assert not query.trigger()
    table.append(keyed([(5, "a", 5)]))
    assert query.trigger()
    assert sorted(query.batches[-1][1]) == [(0, "a", 4), (4, "a", 4), (5, "a", 5)]
    # A query that ends with what is there does not wait.
    table.append(keyed([(6, "a", 6)]))
    assert run(table, checkpoint, waiting) == [[(6, "a", 6)]]


@pytest.mark.parametrize("limit", ["maxFilesPerTrigger", "maxRowsPerTrigger", "maxBytesPerTrigger"])
def test_a_full_micro_batch_does_not_wait_for_more_rows(
    limit: str, warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = three_commits(warehouse)
    waiting = {"read.stream.minRowsPerTrigger": "100", "read.stream.maxTriggerDelayMs": "3600000"}
    query = Run(source_of(table, {**waiting, f"read.stream.{limit}": "1", "scan.snapshot-id": "1"}), checkpoint)
    assert [query.trigger() for _ in range(3)] == [True, True, False]


def test_a_compaction_starts_no_micro_batch(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    query = Run(source_of(table), checkpoint)
    assert query.trigger()
    assert table.compact(full=True)
    assert not query.trigger()
    assert run(table, checkpoint) == []


# --- restarts ---------------------------------------------------------------------------------------------------------


def test_the_first_micro_batch_is_repeated_unchanged_even_if_a_new_query_would_begin_elsewhere(
    warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = three_commits(warehouse)

    def stop(name: str) -> None:
        if name == "after the offset is logged":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(source_of(table), checkpoint, step=stop).trigger()
    table.append(keyed([(0, "a", 4), (4, "a", 4)]))
    assert run(table, checkpoint) == [STATE_OF_3, CHANGES_OF_4]


def test_a_query_continues_within_a_state_only_if_the_splits_are_the_same(
    warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = warehouse.table(options={**SMALL_SPLITS, **KEEP_ALL})
    for n in range(3):
        table.append(keyed([(n, "a", n)]))
    options = {"read.stream.maxFilesPerTrigger": "1"}
    Run(source_of(table, options), checkpoint).trigger()
    with pytest.raises(
        InvalidOption, match=r"has read 1 of 3 splits of snapshot 3, but the files are now divided into other splits"
    ):
        run(table, checkpoint, {"source.split.target-size": "1 gb"})
    assert len(run(table, checkpoint, options)) == 2


def test_a_checkpoint_of_another_table_is_refused(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    run(three_commits(warehouse), checkpoint)
    other = warehouse.table("other", primary_keys=["id"])
    with pytest.raises(TableReplaced, match=r"belongs to another table.*new checkpoint"):
        run(other, checkpoint)


# --- what makes a query stop ------------------------------------------------------------------------------------------


def begun(warehouse: Warehouse, checkpoint: Checkpoint, **options: str) -> tuple[Table, Run]:
    """Create a table with three snapshots, and a running query that has read them."""
    table = three_commits(warehouse, **options)
    query = Run(source_of(table), checkpoint)
    assert query.trigger()
    return table, query


def test_a_query_stops_if_its_next_snapshot_has_expired(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table, query = begun(warehouse, checkpoint)
    for number in (4, 5, 6):
        table.append(keyed([(number, "a", number)]))
    expire_all(table)
    for again in (query, Run(source_of(table), checkpoint)):
        with pytest.raises(SnapshotExpired, match=r"snapshot 4 (were )?expired.*new checkpoint"):
            again.trigger()


def test_a_consumer_keeps_unread_snapshots(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    options = {"consumer-id": "query"}
    query = Run(source_of(table, options), checkpoint)
    query.trigger()
    assert next_snapshot(table.store, "query") is None
    assert not query.trigger()
    assert next_snapshot(table.store, "query") == 4
    for number in (4, 5, 6):
        table.append(keyed([(number, "a", number)]))
    expire_all(table)
    # The snapshot before the next one shows whether a rollback has replaced what was read.
    assert [s.id for s in table.snapshots()] == [3, 4, 5, 6]
    assert run(table, checkpoint, options) == [[(4, "a", 4), (5, "a", 5), (6, "a", 6)]]


def test_the_progress_of_a_consumer_stays_at_a_partially_read_snapshot(
    warehouse: Warehouse, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"write-only": "true", **SMALL_SPLITS, **KEEP_ALL})
    options = {"consumer-id": "query", "scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
    table.append(keyed([(n, "a", n) for n in range(9)]))
    query = Run(source_of(table, {**options, "read.stream.maxFilesPerTrigger": "1"}), checkpoint)
    progress = []
    while query.trigger():
        progress.append(next_snapshot(table.store, "query"))
    assert [end["read"] for end, _ in query.batches] == [1, 2]
    assert [*progress, next_snapshot(table.store, "query")] == [None, 1, 2]
    table.append(keyed([(10, "a", 10)]))
    # A new query of the consumer goes on there.
    assert run(table, Checkpoint(tmp_path / "new"), options) == [[(10, "a", 10)]]


def test_a_consumer_makes_no_progress_before_the_state_is_read_completely(
    warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(n, "a", n) for n in range(9)]))
    options = {"consumer-id": "query", "read.stream.maxFilesPerTrigger": "1"}
    query, progress = Run(source_of(table, options), checkpoint), []
    while query.trigger():
        progress.append(next_snapshot(table.store, "query"))
    # Spark tells that a micro-batch is finished when it plans the next one.
    assert [*progress, next_snapshot(table.store, "query")] == [None, None, 2]


@pytest.mark.parametrize("commits", [0, 2, 3])
def test_a_query_stops_if_the_table_was_rolled_back(commits: int, warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table, query = begun(warehouse, checkpoint)
    table.rollback_to(1)
    for number in range(commits):
        table.append(keyed([(number, "b", number)]))
    for again in (query, Run(source_of(table), checkpoint)):
        with pytest.raises(SnapshotNotFound, match=r"rolled back.*new checkpoint"):
            again.trigger()


def test_a_query_continues_after_a_rollback_of_snapshots_that_it_has_only_passed_or_planned(
    warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table, query = begun(warehouse, checkpoint)
    table.compact(full=True)
    assert not query.trigger()
    # The compaction was snapshot 4. Now 4 and 5 are other snapshots.
    warehouse.reopened(table).rollback_to(3)
    for number in (4, 5):
        warehouse.reopened(table).append(keyed([(number, "a", number)]))
    assert query.trigger()
    assert sorted(query.batches[-1][1]) == [(4, "a", 4), (5, "a", 5)]
    one_file = Run(source_of(table, {"read.stream.maxFilesPerTrigger": "1"}), checkpoint)
    for number in (6, 7):
        warehouse.reopened(table).append(keyed([(number, "a", number)]))
    assert one_file.trigger()
    warehouse.reopened(table).rollback_to(6)
    warehouse.reopened(table).append(keyed([(8, "a", 8)]))
    assert one_file.trigger()
    assert [rows for _, rows in one_file.batches] == [[(6, "a", 6)], [(8, "a", 8)]]


GONE: dict[str, tuple[type[Exception], str]] = {
    "rolled back": (SnapshotExpired, "snapshot 2 was removed by a rollback.*new checkpoint"),
    "replaced": (SnapshotExpired, "snapshot 2 was replaced by a rollback or a fast-forward.*new checkpoint"),
    "expired": (SnapshotExpired, "snapshot 1 was expired.*new checkpoint"),
    "created again": (TableReplaced, "dropped.* and created again.*new checkpoint"),
    "dropped": (TableNotFound, "was dropped"),
}


@pytest.mark.parametrize("event", GONE)
def test_tasks_whose_files_are_gone_say_what_happened_to_the_table(event: str, warehouse: Warehouse) -> None:
    table = three_commits(warehouse)
    source = source_of(table, {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    start = source.initialOffset()
    tasks = source.partitions(start, source.latestOffset(start, source.getDefaultReadLimit()))
    if event in ("rolled back", "replaced"):
        table.rollback_to(1)
    if event in ("replaced", "expired"):
        table.append(keyed([(7, "b", 7)]))
        table.compact(full=True)
    if event == "expired":
        table.append(keyed([(8, "b", 8)]))
        expire_all(table)
    if event in ("created again", "dropped"):
        warehouse.catalog.drop_table("db.t")
    if event == "created again":
        three_commits(warehouse)
    error, words = GONE[event]
    with pytest.raises(error, match=words):
        [list(source.read(task)) for task in tasks]


def test_a_query_stops_if_the_table_was_created_again(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    _, query = begun(warehouse, checkpoint)
    warehouse.catalog.drop_table("db.t")
    table = three_commits(warehouse)
    with pytest.raises(TableReplaced, match="new checkpoint"):
        query.trigger()
    with pytest.raises(TableReplaced, match="belongs to another table"):
        run(table, checkpoint)


@pytest.mark.parametrize(
    "change", [AddColumn("n", IntType()), DropColumn("v"), SetOption("changelog-producer", "input")]
)
def test_a_query_stops_at_a_snapshot_with_another_schema_and_continues_after_a_restart(
    change: Any, warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table, query = begun(warehouse, checkpoint)
    table.append(keyed([(4, "a", 4)]))
    warehouse.catalog.alter_table("db.t", [change])
    changed = warehouse.reopened(table)
    changed.append(pa.Table.from_pylist([{"id": 5, "dt": "a"}], schema=changed.arrow_schema))
    assert query.trigger()
    assert query.batches[-1][1] == [(4, "a", 4)]
    with pytest.raises(SchemaChanged, match=r"restart the .*query with the same checkpoint"):
        query.trigger()
    assert [row[:2] for (row,) in run(changed, checkpoint)] == [(5, "a")]


def test_a_schema_change_that_readers_do_not_see_stops_no_query(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table, query = begun(warehouse, checkpoint)
    warehouse.catalog.alter_table("db.t", [SetOption("target-file-size", "1 mb")])
    warehouse.reopened(table).append(keyed([(4, "a", 4)]))
    assert query.trigger()
    assert query.batches[-1][1] == [(4, "a", 4)]


# --- what is refused before a query starts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"incremental-between": "1,2"}, InvalidOption, "a stream has no end"),
        ({"scan.tag-name": "x"}, InvalidOption, "a stream starts at a snapshot or a time"),
        ({"write-only": "true"}, InvalidOption, "would have no effect on a streaming query of Spark"),
        ({"scan.bounded.watermark": "5"}, InvalidOption, r"'scan\.bounded\.watermark': .* would wait for ever"),
        ({"versionAsOf": "1"}, UnsupportedFeature, "versionAsOf of a stream is not supported; use 'scan.mode'"),
        ({"read.stream.minRowsPerTrigger": "1"}, InvalidOption, "maxTriggerDelayMs"),
        ({"consumer-id": "a/b"}, InvalidIdentifier, "consumer name 'a/b'"),
    ],
)
def test_a_stream_is_refused_when_spark_asks_for_its_columns(
    options: dict[str, str], error: type[Exception], words: str, warehouse: Warehouse
) -> None:
    table = warehouse.table(primary_keys=["id"])
    with pytest.raises(error, match=words):
        data_source_of(table, options).schema()


def test_a_query_cannot_begin_after_the_next_snapshot(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    assert run(table, checkpoint, {"scan.snapshot-id": "4"}) == []
    with pytest.raises(SnapshotNotFound, match=r"a stream cannot begin with snapshot 5; the latest is 3$"):
        run(table, checkpoint, {"scan.snapshot-id": "5"})


def test_an_unknown_option_is_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    with pytest.raises(InvalidOption, match=r"maxfiles.*is not known"):
        source_of(table, {"read.stream.maxFiles": "1"})
    with pytest.raises(InvalidOption, match="maxFilesPerTrigger"):
        source_of(table, {"read.stream.maxFilesPerTrigger": "0"})


def test_read_changelog_is_refused_for_a_batch_read(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    source = PaimonDataSource(CaseInsensitiveDict({"path": table.store.paths.root, "read.changelog": "true"}))
    with pytest.raises(UnsupportedFeature, match=r"read\.changelog of a batch read .*; read 'db\.t\$audit_log'"):
        source.reader(source.schema())


def test_a_query_may_select_columns_but_only_existing_ones(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = three_commits(warehouse)
    source = PaimonDataSource(CaseInsensitiveDict({"path": table.store.paths.root, "read.changelog": "true"}))
    reader = source.changes(StructType().add("v", "long").add("rowkind", "string"))
    query = Run(reader, checkpoint).available_now()
    assert sorted(query.batches[0][1]) == [(1, "+I"), (2, "+I"), (3, "+I"), (3, "+I")]
    with pytest.raises(InvalidInputError, match="column 'w'"):
        source.changes(StructType().add("rowkind", "string").add("w", "long"))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (
            StructType().add("id", "long"),
            r"'rowkind' holds the kind of each change, but the schema lacks it; add 'rowkind STRING'",
        ),
        (StructType().add("rowkind", "binary"), "column 'rowkind' the type binary"),
    ],
)
def test_a_schema_for_changes_must_contain_the_row_kind(wanted: StructType, words: str, warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"changelog-producer": "input"})
    source = PaimonDataSource(CaseInsensitiveDict({"path": table.store.paths.root, "read.changelog": "true"}))
    with pytest.raises(InvalidInputError, match=words):
        source.changes(wanted)
