"""The sink: one commit for each micro-batch, despite repetitions and failures."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from table_format import Table
from table_format.errors import (
    BadEncoding,
    ConflictError,
    InvalidData,
    InvalidInputError,
    SnapshotNotFound,
    TableNotFound,
    TableReplaced,
    UnsupportedFeature,
)
from table_format.spark.source.data_source import PaimonDataSource
from table_format.spark.stream.commit_users import CHECKPOINT, user_of_checkpoint
from table_format.spark.stream.target_notes import NOTE
from table_format.spark.stream.targets import TARGET
from tests.spark.stream.micro_batches import Checkpoint, Sink, in_task, unpacked
from tests.support.tables import Warehouse, keyed, rows_of

COLUMNS = StructType().add("id", "long", nullable=False).add("dt", "string").add("v", "integer")


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    return warehouse.table(primary_keys=["id"])


def batches(*rows: tuple[int, str, int | None]) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = keyed(rows).to_batches()
    return found


def data_files(warehouse: Warehouse, table: Table) -> list[str]:
    return [path for path in warehouse.files(table) if "/data-" in path]


def test_a_micro_batch_that_is_committed_again_creates_no_snapshot_and_leaves_no_file(
    warehouse: Warehouse, table: Table, checkpoint: Checkpoint
) -> None:
    sink = Sink(table, checkpoint, with_kinds=False)
    for number in (0, 1):
        sink.writer().commit([sink.write(batches((number, "a", 1)))], number)
    files = data_files(warehouse, table)
    sink.writer().commit([sink.write(batches((1, "b", 2)))], 1)
    with pytest.raises(InvalidInputError, match=r"micro-batch 0 of the query .* older copy"):
        sink.writer().commit([sink.write(batches((0, "b", 2)))], 0)
    assert [(s.id, s.commit_identifier) for s in table.snapshots()] == [(1, 0), (2, 1)]
    assert data_files(warehouse, table) == files
    assert rows_of(table) == [(0, "a", 1), (1, "a", 1)]


def test_a_new_checkpoint_in_the_same_location_has_another_commit_user(table: Table, checkpoint: Checkpoint) -> None:
    sink = Sink(table, checkpoint, with_kinds=False)
    sink.writer().commit([sink.write(batches((1, "a", 1)))], 0)
    sink = Sink(table, Checkpoint(checkpoint.place), with_kinds=False)
    sink.writer().commit([sink.write(batches((2, "a", 2)))], 0)
    assert rows_of(table) == [(1, "a", 1), (2, "a", 2)]
    assert len({s.commit_user for s in table.snapshots()}) == 2


def test_a_failed_task_leaves_nothing_of_a_micro_batch(
    warehouse: Warehouse, table: Table, checkpoint: Checkpoint
) -> None:
    sink = Sink(table, checkpoint, with_kinds=False)
    wrong = pa.record_batch({"id": pa.array([None], pa.int64()), "dt": ["a"], "v": pa.array([1], pa.int32())})
    messages = [sink.write(batches((1, "a", 1))), sink.write([wrong]), None]
    writer = sink.writer()
    with pytest.raises(InvalidData, match="'id' is BIGINT NOT NULL"):
        writer.commit(messages, 0)
    writer.abort(messages, 0)
    assert (table.snapshots(), data_files(warehouse, table)) == ((), [])


def test_a_conflict_leaves_nothing_of_a_micro_batch(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = warehouse.table(primary_keys=["id"])
    sink = Sink(table, checkpoint, with_kinds=False)
    messages = [sink.write(batches((1, "a", 1)))]
    table.append(keyed([(2, "a", 2)]))
    warehouse.reopened(table).rescale(4)
    files = data_files(warehouse, table)
    with pytest.raises(ConflictError):
        sink.writer().commit(messages, 0)
    sink.writer().abort(messages, 0)
    left = set(data_files(warehouse, table))
    assert left < set(files)


def test_an_abort_after_the_commit_deletes_nothing(table: Table, checkpoint: Checkpoint) -> None:
    sink = Sink(table, checkpoint, with_kinds=False)
    messages = [sink.write(batches((1, "a", 1)))]
    sink.writer().commit(messages, 0)
    sink.writer().abort(messages, 0)
    assert rows_of(table) == [(1, "a", 1)]


def test_the_row_of_the_later_task_wins(table: Table, checkpoint: Checkpoint) -> None:
    sink = Sink(table, checkpoint, with_kinds=False)
    messages = {}
    for task in (1, 0):  # in whatever order they run
        with in_task(task):
            others = [(id, "a", 0) for id in range(2, 9)] if task == 0 else []
            messages[task] = sink.write(batches(*others, (1, "a", task)))
    sink.writer().commit([messages[0], messages[1]], 0)
    assert rows_of(table)[0] == (1, "a", 1)


@pytest.mark.parametrize("keys", [["id"], []])
def test_complete_output_without_rows_deletes_all_partitions(
    keys: list[str], warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    keyed_by = ["dt", *keys] if keys else []
    table = warehouse.table("p", primary_keys=keyed_by, partition_keys=["dt"])
    sink = Sink(table, checkpoint, with_kinds=False, replacing=True)
    for number, rows in enumerate(([(1, "a", 1), (2, "b", 2)], [(2, "b", 3)], [])):
        sink.writer().commit([sink.write(batches(*rows))], number)
        assert rows_of(table) == rows


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, InvalidInputError, f"needs the option '{CHECKPOINT}'"),
        ({CHECKPOINT: "s3a://bucket/c"}, UnsupportedFeature, "a checkpoint in the store 's3a'.*Lake.write_stream"),
        ({CHECKPOINT: "/nowhere"}, BadEncoding, "/nowhere/metadata: the checkpoint contains no query id"),
    ],
)
def test_a_query_that_cannot_be_identified_is_refused(
    options: dict[str, str], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        user_of_checkpoint(options)


def test_the_sink_of_a_query_refuses_a_table_that_replaced_its_target(
    warehouse: Warehouse, table: Table, checkpoint: Checkpoint
) -> None:
    options = {"path": table.store.paths.root, CHECKPOINT: str(checkpoint.place), TARGET: str(table.store.identity)}
    source = PaimonDataSource(CaseInsensitiveDict(options))
    assert source.streamWriter(COLUMNS, overwrite=False) is not None
    warehouse.catalog.drop_table("db.t")
    warehouse.table(primary_keys=["id"])
    with pytest.raises(TableReplaced, match=r"db\.t: the table was dropped and created again.*new checkpoint"):
        PaimonDataSource(CaseInsensitiveDict(options)).streamWriter(COLUMNS, overwrite=False)


def written(table: Table, checkpoint: Checkpoint, *numbers: int) -> None:
    """Write micro-batches, each as a query that has just started."""
    for number in numbers:
        sink = Sink(table, checkpoint, with_kinds=False)
        sink.writer().commit([sink.write(batches((number, "a", 1)))], number)


@pytest.mark.parametrize("others", [0, 1])
def test_a_query_that_starts_again_notices_that_its_target_was_rolled_back(
    table: Table, checkpoint: Checkpoint, others: int
) -> None:
    written(table, checkpoint, 0, 1)
    table.rollback_to(1)
    for _ in range(others):
        table.append(keyed([(9, "a", 9)]))
    with pytest.raises(SnapshotNotFound, match=r"rolled back.* lacks the rows of micro-batch 1; .*new checkpoint"):
        written(table, checkpoint, 2)


def test_a_query_that_starts_again_may_write_to_a_table_that_keeps_its_rows(
    warehouse: Warehouse, table: Table, checkpoint: Checkpoint
) -> None:
    written(table, checkpoint, 0, 1)
    table.append(keyed([(9, "a", 9)]))
    table.rollback_to(2)
    written(table, checkpoint, 2)
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    warehouse.catalog.rename_table("db.t", "db.u")
    moved = warehouse.catalog.load_table("db.u")
    assert isinstance(moved, Table)
    written(moved, checkpoint, 3)
    assert [row[0] for row in rows_of(moved)] == [0, 1, 2, 3]


def test_a_repeated_micro_batch_counts_as_written(table: Table, checkpoint: Checkpoint) -> None:
    written(table, checkpoint, 0)
    (checkpoint.place / NOTE).unlink()  # the query died before it wrote the note
    written(table, checkpoint, 0)
    table.append(keyed([(9, "a", 9)]))
    table.rollback_to(1)
    written(table, checkpoint, 1)
    table.rollback_to(1)
    with pytest.raises(SnapshotNotFound, match="lacks the rows of micro-batch 1"):
        written(table, checkpoint, 2)


def test_a_query_that_starts_again_notices_that_its_target_is_another_table(
    warehouse: Warehouse, table: Table, checkpoint: Checkpoint
) -> None:
    written(table, checkpoint, 0)
    other = warehouse.table("u", primary_keys=["id"])
    with pytest.raises(TableReplaced, match=r"db\.u: the checkpoint .* of a query into another table, .*db\.db/t"):
        written(other, checkpoint, 1)
    warehouse.catalog.drop_table("db.t")
    again = warehouse.table(primary_keys=["id"], options={"write-only": "true"})
    with pytest.raises(TableReplaced, match=r"db\.t: the table was dropped and created again.*new checkpoint"):
        written(again, checkpoint, 1)
    written(again, Checkpoint(checkpoint.place), 0)  # a new query, whose checkpoint is at the old place
    assert rows_of(again) == [(0, "a", 1)]


def test_a_note_that_cannot_be_read_or_written_stops_no_query(
    table: Table, checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    (checkpoint.place / NOTE).write_text("{")
    written(table, checkpoint, 0)
    (checkpoint.place / NOTE).unlink()
    (checkpoint.place / NOTE).mkdir()
    written(table, checkpoint, 1)
    assert [row[0] for row in rows_of(table)] == [0, 1]
    assert "a rollback of" in caplog.text


def test_a_checkpoint_may_be_a_path_or_a_uri(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    query_id = json.loads((checkpoint.place / "metadata").read_text())["id"]
    monkeypatch.chdir(checkpoint.place.parent)
    name = checkpoint.place.name
    indirect = (f"{checkpoint.place}/../{name}", f"{checkpoint.place.parent}//./{name}", name, f"./{name}")
    for place in (f"{checkpoint.place}/", f"file://{checkpoint.place}", f"file:{checkpoint.place}", *indirect):
        assert user_of_checkpoint({CHECKPOINT: place}) == f"spark-{query_id}"


@pytest.mark.parametrize("keys", [["id"], []])
def test_a_query_with_more_columns_and_wider_types_changes_the_schema_of_its_table(
    keys: list[str], warehouse: Warehouse, checkpoint: Checkpoint
) -> None:
    table = warehouse.table("m", primary_keys=keys)
    table.append(keyed([(1, "a", 1)]))
    wider = StructType().add("id", "long").add("v", "long").add("n", "integer")
    options = CaseInsensitiveDict({"path": table.store.paths.root, CHECKPOINT: str(checkpoint.place)})
    with pytest.raises(InvalidData):
        PaimonDataSource(options).streamWriter(wider, False)
    options["write.merge-schema"] = "true"
    rows = pa.record_batch({"id": [2], "v": [5_000_000_000], "n": pa.array([7], pa.int32())})
    for number in (0, 1):
        writer = unpacked(PaimonDataSource(options).streamWriter(wider, False))
        writer.commit([unpacked(writer.write(iter([rows])))], number)
    assert warehouse.reopened(table).schema.id == 1
    added = (2, None, 5_000_000_000, 7)
    assert rows_of(warehouse.reopened(table)) == [(1, "a", 1, None), *([added] if keys else [added] * 2)]


def test_a_target_that_cannot_be_written_is_refused(warehouse: Warehouse, table: Table, checkpoint: Checkpoint) -> None:
    for suffix, error, words in (
        ("$files", InvalidInputError, "system table, which is read-only"),
        ("x", TableNotFound, "does not exist"),
    ):
        options = {"path": f"{table.store.paths.root}{suffix}", CHECKPOINT.lower(): str(checkpoint.place)}
        with pytest.raises(error, match=words):
            PaimonDataSource(options).streamWriter(COLUMNS, False)


def test_a_table_whose_buckets_are_dynamic_is_refused(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    table = warehouse.table("d", primary_keys=["id"], options={"bucket": "-1"})
    options = {"path": table.store.paths.root, CHECKPOINT.lower(): str(checkpoint.place)}
    with pytest.raises(UnsupportedFeature, match="dynamic buckets"):
        PaimonDataSource(options).streamWriter(COLUMNS, False)
