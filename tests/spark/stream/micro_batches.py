"""Simulates the steps of a streaming query in Spark's order: source, sink and checkpoint, with a crash at any step.

A ``Run`` is one life of the query's processes. The checkpoint outlives it. Everything that Spark sends to a process is
packed and unpacked here too, and offsets are texts.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from table_format import Table
from table_format.spark.source.data_source import PaimonDataSource
from table_format.spark.stream.commit_users import CHECKPOINT
from table_format.spark.stream.marked_streams import IS_STREAM
from table_format.spark.stream.reader import PaimonStreamReader
from table_format.spark.stream.writer import PaimonStreamWriter
from table_format.spark.types import spark_schema

_ROW_KINDS = {"rowkind": "_row_kind"}

Step = Callable[[str], None]


class KilledError(Exception):
    """The processes of the query were killed."""


def unpacked(value: Any) -> Any:
    """Return a value as it arrives in another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - packed here


@contextmanager
def in_task(number: int) -> Iterator[None]:
    """Set the number of the task as in Spark tasks."""
    context = TaskContext._getOrCreate()
    context._partitionId = number
    try:
        yield
    finally:
        TaskContext._setTaskContext(None)  # type: ignore[arg-type]  # none, outside of tasks


@dataclass
class Checkpoint:
    """The content of a checkpoint: the id of the query, offsets and finished micro-batches."""

    place: Path
    offsets: list[str] = field(default_factory=list)
    committed: int = 0
    """The number of finished micro-batches."""

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / "metadata").write_text(json.dumps({"id": str(uuid4())}))


def data_source_of(table: Table, options: Mapping[str, str] | None = None) -> PaimonDataSource:
    """Return the data source with the options of ``readStream``."""
    return PaimonDataSource(CaseInsensitiveDict({IS_STREAM: "true", "path": table.store.paths.root, **(options or {})}))


def source_of(table: Table, options: Mapping[str, str] | None = None, *, tasks: int = 2) -> PaimonStreamReader:
    """Return the reader of a query, as the data source creates it from the options."""
    source = data_source_of(table, options)
    source.parallelism = tasks  # type: ignore[misc]  # that of a session
    return source.changes(source.schema())


def rows_of_batches(batches: Sequence[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


class Sink:
    """The sink of a query: the columns of a table, with ``rowkind`` of the source as the row kind."""

    def __init__(self, table: Table, checkpoint: Checkpoint, *, with_kinds: bool, replacing: bool = False) -> None:
        columns = spark_schema(table.schema.fields)
        if with_kinds:
            columns = StructType().add("_row_kind", "string").add(columns[0])
            for column in spark_schema(table.schema.fields)[1:]:
                columns = columns.add(column)
        self._columns = columns
        self._replacing = replacing
        self._options = CaseInsensitiveDict({"path": table.store.paths.root, CHECKPOINT: str(checkpoint.place)})

    def writer(self) -> PaimonStreamWriter:
        writer: PaimonStreamWriter = unpacked(
            PaimonDataSource(self._options).streamWriter(self._columns, self._replacing)
        )
        return writer

    def write(self, batches: Sequence[pa.RecordBatch]) -> Any:
        named = (batch.rename_columns([_ROW_KINDS.get(n, n) for n in batch.schema.names]) for batch in batches)
        return unpacked(self.writer().write(named))


@dataclass
class Run:
    """One run of a query. ``step`` is called at each step and may kill it."""

    source: PaimonStreamReader
    checkpoint: Checkpoint
    sink: Sink | None = None
    step: Step = lambda _: None
    batches: list[tuple[dict[str, Any], list[tuple[Any, ...]]]] = field(default_factory=list)
    """End and rows of every micro-batch of this run."""

    def available_now(self) -> Run:
        """Run until the source has nothing new, as ``Trigger.AvailableNow`` does."""
        self.source.prepareForTriggerAvailableNow()
        while self.trigger():
            pass
        return self

    def trigger(self, *, unlimited: bool = False) -> bool:
        """Run one micro-batch if there is something new, or the one that was not finished; whether there was one."""
        logged = self.checkpoint
        number = logged.committed
        if len(logged.offsets) == number:
            end = self._next_end(number, unlimited=unlimited)
            if end is None:
                return False
            self.step("before the offset is logged")
            logged.offsets.append(end)
            if number:
                self.source.commit(self._start(number))
                self.step("after the commit of the source")
        self.step("after the offset is logged")
        self._batch(number)
        self.step("before the batch is logged")
        logged.committed += 1
        return True

    def _start(self, number: int) -> dict[str, Any]:
        logged: dict[str, Any] = (
            json.loads(self.checkpoint.offsets[number - 1])
            if number
            else json.loads(json.dumps(self.source.initialOffset()))
        )
        return logged

    def _next_end(self, number: int, *, unlimited: bool) -> str | None:
        start = self._start(number)
        limit = ReadAllAvailable() if unlimited else self.source.getDefaultReadLimit()
        end = self.source.latestOffset(start, limit)
        return None if end == start else json.dumps(end)

    def _batch(self, number: int) -> None:
        start, end = self._start(number), json.loads(self.checkpoint.offsets[number])
        tasks = [unpacked(task) for task in self.source.partitions(start, end)]
        worker: PaimonStreamReader = unpacked(self.source)
        read = [list(worker.read(task)) for task in tasks]
        if self.sink is not None:
            messages = []
            for task, batches in enumerate(read):
                with in_task(task):
                    messages.append(self.sink.write(batches))
                self.step("after a task has written")
            self.sink.writer().commit(messages, number)
            self.step("after the commit")
        self.batches.append((end, rows_of_batches([batch for batches in read for batch in batches])))
