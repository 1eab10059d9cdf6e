"""The source of a streaming query: ``spark.readStream.format("paimon")``.

While the query runs, Spark keeps one reader in a separate process, which computes offsets and plans micro-batches.
Tasks have a copy, which only reads splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from table_format.errors import SchemaChanged
from table_format.model.split import DataSplit
from table_format.spark.stream.admission import Limits, Size
from table_format.spark.stream.offsets import Offset
from table_format.spark.stream.shown import rows_of
from table_format.spark.stream.snapshots import (
    Planned,
    PlannedSnapshots,
    check_streamable,
    explaining_loss,
    lost,
    verify,
)
from table_format.spark.tasks.split_groups import grouped_splits
from table_format.spark.tasks.worker import settle
from table_format.spark.types import in_types_of
from table_format.table.facts import TableFacts
from table_format.table.read.consumer_position import record_position
from table_format.table.read.plan import Plan
from table_format.table.rows.row_kinds import ROW_KIND


@dataclass
class _Changes(datasource.InputPartition):
    """The input of one task: splits, each with its plan, read one by one."""

    pieces: Sequence[tuple[Plan, DataSplit]]


class PaimonStreamReader(datasource.DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of a table, micro-batch by micro-batch."""

    def __init__(self, facts: TableFacts, shown: StructType, *, parallelism: int) -> None:
        check_streamable(facts)
        self._facts = facts
        self._shown = shown
        self._parallelism = parallelism
        self._limits = Limits.of(facts.options.spark_stream)
        self._last_batch_ms: int | None = None
        self._until: int | None = None
        """The last snapshot to read, for a query with the trigger ``availableNow``."""
        self._recorded: Offset | None = None
        """The offset that is known to be the progress of the consumer."""

    def __getstate__(self) -> dict[str, object]:
        """Leave out the state that tasks do not need."""
        return {key: value for key, value in self.__dict__.items() if key != "_snapshots"}

    @cached_property
    def _snapshots(self) -> PlannedSnapshots:
        columns = tuple(name for name in self._shown.names if name != ROW_KIND.name)
        return PlannedSnapshots(self._facts, columns)

    # --- offsets ------------------------------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:
        """Return the start of a query without a checkpoint."""
        return self._snapshots.beginning().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return any limit except ``ReadAllAvailable``: the options may set several, but Spark passes only one."""
        return ReadMinRows(1)

    def prepareForTriggerAvailableNow(self) -> None:
        """End with the snapshot that is currently the latest."""
        self._until = self._facts.snapshots.latest_id() or 0

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the latest snapshot, for the progress of the query."""
        latest = self._facts.snapshots.latest_id()
        return None if latest is None else {"snapshot": latest}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next micro-batch, or ``start`` if there are no rows.

        Spark has written the rows before ``start``, so this also records the progress of the consumer. ``commit`` does
        not suffice: Spark does not call it for the last micro-batch of a query that ends.

        Raises:
            SnapshotExpired, SnapshotNotFound, SchemaChanged, TableReplaced, TableNotFound: the query cannot continue.
        """
        begin = Offset.of(start)
        self._snapshots.require_same_table(begin)
        self._snapshots.refresh()
        if begin.origin is None:
            begin = self._snapshots.beginning()
        is_limited = not isinstance(limit, ReadAllAvailable)
        end, waiting_rows = self._end(begin, self._limits if is_limited else Limits())
        self._record(begin)
        now_ms = self._facts.store.runtime.clock.now_ms()
        if end is None or (is_limited and self._until is None and self._waits(waiting_rows, now_ms)):
            return start
        self._last_batch_ms = now_ms
        return end.to_json()

    def _waits(self, rows: int | None, now_ms: int) -> bool:
        if rows is None or self._last_batch_ms is None:
            return False
        return self._limits.waits(rows, since_last_ms=now_ms - self._last_batch_ms)

    def _end(self, begin: Offset, limits: Limits) -> tuple[Offset | None, int | None]:
        """Return the end of a micro-batch; ``None`` if there are no splits.

        Also return the number of its rows; ``None`` if it is full, so that it does not wait for more.
        """
        end: Offset | None = None
        taken = Size()
        try:
            for planned in self._snapshots.after(begin):
                if self._is_behind_end(begin, planned):
                    break
                for number in range(_first_split(begin, planned), len(planned.splits)):
                    size = Size.of(planned.splits[number])
                    if not limits.admits(taken, size):
                        return end, None
                    taken += size
                    end = begin.after(planned.snapshot, planned.splits, number + 1)
        except SchemaChanged:
            if end is None:
                raise
            # Rows that were written earlier are read first, and no row can be added to them.
            return end, None
        return end, taken.rows

    def _is_behind_end(self, begin: Offset, planned: Planned) -> bool:
        if self._until is None or planned.snapshot.id <= self._until:
            return False
        # The first state may have been committed after the query was started.
        return begin.has_begun or not begin.is_in_state or planned.snapshot.id != begin.snapshot

    # --- micro-batches ------------------------------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[datasource.InputPartition]:
        """Return the splits between two offsets in groups, one for each task. Rows keep their order.

        Raises:
            SnapshotExpired, SnapshotNotFound, TableReplaced, TableNotFound: the splits no longer exist.
        """
        first, last = Offset.of(start), Offset.of(end)
        if first == last:
            return []
        self._snapshots.require_same_table(last)
        if not first.has_begun:
            # The micro-batch is repeated. A new query would now begin elsewhere.
            first = Offset.beginning(last.table, last.origin)
        pieces: list[tuple[Plan, DataSplit]] = []
        for planned in self._snapshots.after(first):
            is_last = planned.snapshot.id >= last.snapshot
            if is_last:
                verify(self._facts, last, planned)
            splits = planned.splits[_first_split(first, planned) : last.read if is_last else None]
            shared = replace(planned.plan.without_splits, facts=None)
            pieces += [(shared, split) for split in splits]
            if is_last:
                return self._in_tasks(pieces)
        raise lost(self._facts, last)

    def _in_tasks(self, pieces: Sequence[tuple[Plan, DataSplit]]) -> list[_Changes]:
        scan = self._facts.options.scan
        groups = grouped_splits([split for _, split in pieces], scan, parallelism=self._parallelism)
        rest = iter(pieces)
        return [_Changes([next(rest) for _ in group]) for group in groups]

    def commit(self, end: dict[str, Any]) -> None:
        """Record the progress of the consumer after a complete micro-batch."""
        offset = Offset.of(end)
        self._snapshots.forget(offset)
        self._record(offset)

    def _record(self, offset: Offset) -> None:
        consumer = self._facts.options.stream.consumer_id
        # A consumer continues with changes, so it is created only after the first state was read.
        may_continue = offset.has_begun and (offset.is_complete or not offset.is_in_state)
        if consumer is not None and may_continue and offset != self._recorded:
            record_position(self._facts, consumer, offset.next_snapshot)
            self._recorded = offset

    # --- tasks --------------------------------------------------------------------------------------------------------

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the splits of a task, with exactly the columns of the query.

        Raises:
            SnapshotExpired, TableReplaced, TableNotFound: the splits no longer exist.
        """
        if not isinstance(partition, _Changes):
            return  # Spark calls this even if there is nothing to read
        for plan, split in partition.pieces:
            with explaining_loss(self._facts, plan):
                for batch in rows_of(self._facts, plan, split):
                    yield in_types_of(batch, self._shown)
        settle()


def _first_split(offset: Offset, planned: Planned) -> int:
    return offset.read if planned.snapshot.id == offset.snapshot and not offset.is_complete else 0
