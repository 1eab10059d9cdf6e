"""The choice of the exchange; the parts of the exchange through storage; sequence numbers of tasks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidData, InvalidInputError, MissingFile, UnsupportedFeature
from table_format.metastore.expiry.orphans import GRACE_MS, remove_orphan_files
from table_format.options.bucket_mode import total_buckets
from table_format.options.table_options import TableOptions
from table_format.options.write import Exchange
from table_format.runtime import Runtime
from table_format.spark.tasks.table_work import bucket_writer
from table_format.spark.tasks.task_results import TaskResults, gather, messages_of_all
from table_format.spark.write.exchange import way_of
from table_format.spark.write.sizes import WritingTasks
from table_format.spark.write.storage_exchange import StorageExchange, exchange_directory, receiver, sender
from table_format.table.write.table_write import TableWrite
from tests.support.tables import disk_warehouse, memory_warehouse

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string()), ("v", pa.string())])
PARTITIONED = pa.schema([SCHEMA.field("id"), pa.field("dt", pa.string(), nullable=False), SCHEMA.field("v")])
WRITE_ONLY = {"bucket": "3", "write-only": "true"}
TASKS = WritingTasks(3)


def a_table(**options: str) -> Table:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options={**WRITE_ONLY, **given})


def a_partitioned_table() -> Table:
    return memory_warehouse().table(
        "t", PARTITIONED, primary_keys=["dt", "id"], partition_keys=["dt"], options={"bucket": "2"}
    )


def rows_from(first: int, count: int, value: str = "v") -> pa.RecordBatch:
    ids = range(first, first + count)
    columns = [pa.array(ids, pa.int64()), pa.array([f"d{i % 3}" for i in ids]), pa.array([value] * count)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def wanting(table: Table, exchange: str) -> Table:
    return table.copy({"spark.write.exchange": exchange})


# --- the rule ---------------------------------------------------------------------------------------------------------


def test_several_tasks_exchange_rows_through_storage_in_a_file_system(tmp_path: Path) -> None:
    on_disk = disk_warehouse(tmp_path).table("t", SCHEMA, primary_keys=["id"], options=WRITE_ONLY)
    assert way_of(on_disk.facts, TASKS).exchange is Exchange.STORAGE
    assert way_of(a_table().facts, TASKS).exchange is Exchange.SHUFFLE
    assert way_of(wanting(on_disk, "shuffle").facts, TASKS).exchange is Exchange.SHUFFLE
    assert way_of(wanting(on_disk, "none").facts, TASKS).exchange is Exchange.NONE


@pytest.mark.parametrize("exchange", ["auto", "shuffle", "storage"])
def test_one_task_writes_few_rows_without_a_shuffle(exchange: str) -> None:
    way = way_of(wanting(a_table(), exchange).facts, WritingTasks(1, "few rows"))
    assert (way.exchange, way.tasks, way.is_small) == (Exchange.SHUFFLE, 1, True)


def test_the_exchange_is_explained() -> None:
    shown = str(way_of(wanting(a_table(), "storage").facts, TASKS))
    assert shown == "exchange: storage, 3 writing tasks ('spark.write.exchange' = 'storage')"


def test_a_table_that_no_longer_supports_its_exchange_is_not_written() -> None:
    """Another program may set any options."""
    facts = wanting(a_table(), "none").facts
    with pytest.raises(UnsupportedFeature, match="is not 'write-only'"):
        way_of(replace(facts, options=TableOptions.parse({**facts.options.raw, "write-only": "false"})), TASKS)


# --- the exchange through storage -------------------------------------------------------------------------------------


def job_of(table: Table, directory: str, tasks: int = 2) -> StorageExchange:
    return StorageExchange(table.facts, tuple(SCHEMA.names), total_buckets(table.facts.bucket_mode), tasks, directory)


def unnamed(*batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_arrays(batch.columns, ["c0", "c1", "c2"]) for batch in batches]


def sent(job: StorageExchange, *batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    """What one attempt of a task sends."""
    return list(sender(job)(iter(unnamed(*batches))))


def received(job: StorageExchange, segments: list[pa.RecordBatch]) -> TaskResults:
    write = bucket_writer(job.facts, SCHEMA.names, replacing=False)
    results = []
    for task in range(job.tasks):
        mine = [batch.filter(pa.array(batch.column(0).to_numpy() == task)) for batch in segments]
        results += [SimpleNamespace(**row) for batch in receiver(job, write)(iter(mine)) for row in batch.to_pylist()]
    return gather(results)


def rows_in(table: Table) -> list[tuple[Any, ...]]:
    found = table.scan().to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize("make", [a_table, a_partitioned_table])
@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_rows_arrive_unchanged(make: Any, tasks: int) -> None:
    table, alone = make(), make()
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory, tasks)
        segments = [*sent(job, rows_from(0, 50), rows_from(50, 1)), *sent(job, rows_from(40, 30, "later")), *sent(job)]
        found = received(job, segments)
    table.new_commit().commit(messages_of_all(table.facts, found))
    alone.append(pa.Table.from_batches([rows_from(0, 51), rows_from(51, 19, "later")]))
    ids = [row[0] for row in rows_in(table)]
    assert ids == [row[0] for row in rows_in(alone)]
    # No bucket of a partition was written by two tasks.
    buckets = [message.bucket_id for message in found.messages]
    assert len(buckets) == len(set(buckets))


def test_the_row_of_a_later_task_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table()
    number = [0]
    context = SimpleNamespace(partitionId=lambda: number[0])
    monkeypatch.setattr("table_format.spark.write.storage_exchange.TaskContext", SimpleNamespace(get=lambda: context))
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory)
        earlier = sent(job, rows_from(0, 20, "earlier"))
        number[0] = 1
        later = sent(job, rows_from(10, 20, "later"))
        # As Spark may hand them over in any order.
        table.new_commit().commit(messages_of_all(table.facts, received(job, [*later, *earlier])))
    assert [row[2] for row in rows_in(table)] == ["earlier"] * 10 + ["later"] * 20


def test_files_of_another_attempt_of_a_task_are_not_read() -> None:
    table = a_table()
    io = table.store.io
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory)
        sent(job, rows_from(0, 40, "a speculative attempt"))
        with io.open_output(f"{directory}/an-attempt-that-died") as file:
            file.write(b"half a stream")
        segments = sent(job, rows_from(0, 40))
        assert len(io.list(directory)) == 3
        table.new_commit().commit(messages_of_all(table.facts, received(job, segments)))
    assert {row[2] for row in rows_in(table)} == {"v"}
    assert len(rows_in(table)) == 40


@pytest.mark.parametrize("bytes_at_once", [1, 1000])
def test_rows_of_many_appends_arrive_in_their_order(bytes_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("table_format.spark.write.storage_exchange._BYTES_AT_ONCE", bytes_at_once)
    table = a_table()
    values = [f"v{number}" for number in range(20)]
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory)
        segments = sent(job, *(rows_from(number, 5, value) for number, value in enumerate(values)))
        [file] = table.store.io.list(directory)
        assert sum(length for batch in segments for length in batch["length"].to_pylist()) == file.size
        table.new_commit().commit(messages_of_all(table.facts, received(job, segments)))
    assert [row[2] for row in rows_in(table)] == [*values, *[values[-1]] * 4]


class FullFile:
    """A file on a disk that is full from the second append on."""

    def __init__(self) -> None:
        self.file = pa.BufferOutputStream()

    def __enter__(self) -> FullFile:
        return self

    def __exit__(self, *failure: object) -> None:
        self.file.close()

    @property
    def closed(self) -> bool:
        return self.file.closed

    def tell(self) -> int:
        return self.file.tell()

    def write(self, data: bytes) -> int:
        if self.tell() > 2000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.file.write(data)


def test_a_full_disk_fails_the_task_at_the_next_append(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("table_format.spark.write.storage_exchange._BYTES_AT_ONCE", 1)
    file, given = FullFile(), []
    monkeypatch.setattr("table_format.spark.write.storage_exchange._new_file", lambda io, path: file)
    table = a_table()

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            given.append(number)
            yield from unnamed(rows_from(number, 1))

    with exchange_directory(table.facts) as directory, pytest.raises(OSError, match="No space left"):
        list(sender(job_of(table, directory))(batches()))
    assert file.closed
    assert len(given) < 20


def test_the_directory_is_also_deleted_after_a_failure() -> None:
    table = a_table()

    def fail() -> None:
        with exchange_directory(table.facts) as directory:
            sent(job_of(table, directory), rows_from(0, 5))
            assert table.store.io.list(directory)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert table.store.io.list(table.store.paths.exchange_directory) == []


def test_the_error_names_a_missing_file() -> None:
    table = a_table()
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory)
        segments = sent(job, rows_from(0, 5))
        [file] = table.store.io.list(directory)
        table.store.io.delete(f"{directory}/{file.name}")
        found = received(job, segments)
    assert isinstance(found.failure, MissingFile)
    assert file.name in str(found.failure)


def test_the_writer_refuses_an_invalid_value_and_leaves_no_file() -> None:
    table = a_table()
    bad = pa.RecordBatch.from_arrays([pa.array([1, None]), pa.array(["a", "b"]), pa.array(["x", "y"])], SCHEMA.names)
    with exchange_directory(table.facts) as directory:
        job = job_of(table, directory)
        found = received(job, [*sent(job, rows_from(0, 5)), *sent(job, bad)])
    with pytest.raises(InvalidData, match="'id' is BIGINT NOT NULL"):
        messages_of_all(table.facts, found)
    assert table.store.io.list(table.store.paths.bucket_directory("", 0)) == []


def test_an_old_directory_of_a_dead_job_is_an_orphan() -> None:
    table = a_table()
    table.append(pa.Table.from_batches([rows_from(0, 5)]))
    before = rows_in(table)
    paths, io = table.store.paths, table.store.io
    job = job_of(table, paths.exchange("dead"))
    sent(job, rows_from(0, 50))
    assert remove_orphan_files(table.store, table.facts.options).files == ()
    now_ms = Runtime().clock.now_ms()
    report = remove_orphan_files(table.store, table.facts.options, older_than_ms=now_ms + GRACE_MS, grace_ms=0)
    assert [path.startswith(paths.exchange("dead")) for path in report.paths] == [True]
    assert io.list(paths.exchange_directory) == []
    assert rows_in(table) == before


# --- no exchange ------------------------------------------------------------------------------------------------------


def written_by(table: Table, numbers: range, *batches: pa.RecordBatch) -> Any:
    write = TableWrite(table.facts, sequence_numbers=numbers)
    return write.write(pa.RecordBatchReader.from_batches(SCHEMA, list(batches)))


def test_tasks_with_separate_sequence_numbers_write_one_bucket_and_the_later_task_wins() -> None:
    table = a_table()
    table.append(pa.Table.from_batches([rows_from(0, 30, "before")]))
    later = written_by(table, range(1000, 2000), rows_from(10, 20, "later"))
    earlier = written_by(table, range(1000), rows_from(0, 20, "earlier"))
    table.new_commit().commit([*later, *earlier])
    assert [row[2] for row in rows_in(table)] == ["earlier"] * 10 + ["later"] * 20
    table.append(pa.Table.from_batches([rows_from(0, 30, "after")]))
    assert {row[2] for row in rows_in(table)} == {"after"}
    for split in table.scan().plan().splits:
        spans = sorted((file.min_sequence_number, file.max_sequence_number) for file in split.files)
        assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_a_task_that_exceeds_its_sequence_numbers_fails_and_leaves_no_file() -> None:
    table = a_table(bucket="1")
    with pytest.raises(InvalidInputError, match="more rows than its 10 sequence numbers"):
        written_by(table, range(10, 20), rows_from(0, 10), rows_from(10, 1))
    assert table.store.io.list(table.store.paths.bucket_directory("", 0)) == []
    assert len(written_by(table, range(10, 20), rows_from(0, 10))) == 1


def test_buckets_equal_those_of_a_single_process() -> None:
    table = a_partitioned_table()
    rows = rows_from(0, 200)
    job = job_of(table, "/nowhere", tasks=7)
    writers = job.writers_of(rows)
    table.append(pa.Table.from_batches([rows]))
    scan = table.scan()
    for split in scan.plan().splits:
        ids = [number for batch in scan.read(split) for number in batch.column("id").to_pylist()]
        assert len(set(writers[np.array(ids)].tolist())) == 1
