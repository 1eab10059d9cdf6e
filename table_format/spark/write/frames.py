"""Writes a DataFrame to a table: shuffled by partition and bucket, written inside the tasks, committed once.

Tasks write the data files, and the driver gets only their metadata. If a task fails with an error of this library, all
files of the job are deleted. Files of a task that died or ran twice are in no commit; removing orphan files deletes
them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from table_format.errors import InvalidData
from table_format.extras import require
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware, total_buckets
from table_format.options.write import Exchange
from table_format.spark.read.conditions import literal
from table_format.spark.tasks.table_work import bucket_writer
from table_format.spark.tasks.task_results import RESULT_DDL, gather, messages_of_all
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.assigner_runs import RESULT_WITH_RUNS_DDL
from table_format.spark.write.buckets import TASK, one_task_for_each_bucket, with_bucket
from table_format.spark.write.dynamic import (
    BUCKET,
    DEFAULT_ASSIGNERS,
    assigner_count,
    can_assigners_write,
    find_repeated_assigner,
    find_shared_bucket,
    one_task_for_each_assigner,
    placed_writer,
    with_dynamic_buckets,
)
from table_format.spark.write.exchange import Way, way_of
from table_format.spark.write.named_rows import NamedRows, free_name
from table_format.spark.write.other_buckets import with_other_buckets
from table_format.spark.write.sizes import SMALL_CROSS_PARTITION_BYTES, is_shared, shuffle_partitions, writing_tasks
from table_format.spark.write.storage_exchange import StorageExchange, exchange_directory, written_through_storage
from table_format.spark.write.unmeasured import in_unmeasured_batches, shown_bound
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import Assignment, GivenBuckets, WritingAssigner
from table_format.table.rows.validate import RowRules
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


_log = logging.getLogger(__name__)


def write_frame(
    frame: DataFrame,
    facts: TableFacts,
    *,
    replacing: bool = False,
    parallelism: int | None = None,
    commit_user: str | None = None,
) -> tuple[CommitMessage, ...]:
    """Write the rows of a DataFrame to files and return the commit messages.

    ``parallelism`` is the number of writing tasks. By default, it is one for a small DataFrame; otherwise, one for each
    core or, if that is more, one for each 32 MB that Spark expects. It is at most the number of buckets or, for a
    partitioned table, the number of shuffle partitions of the session (``spark/write/sizes.py``). Rows of a table with
    postponed buckets or without buckets stay in their Spark partitions. ``commit_user`` is the commit user, if it is
    known. Every Nth write of ``full-compaction.delta-commits`` also compacts the buckets for which it has no rows.

    Raises:
        InvalidData: columns, types or values do not fit the table. No files are left.
        UnsupportedFeature: this version does not support writing the table.
    """
    check_frame(frame.schema, facts)

    given = NamedRows.of(frame)
    job = _FrameWrite(facts, replacing, parallelism, commit_user)

    def write(rows: DataFrame) -> tuple[CommitMessage, ...]:
        return job.written(given.over(rows))

    messages = in_unmeasured_batches(given.frame, write)
    return messages if replacing else with_other_buckets(frame.sparkSession, facts, messages)


def explain_write(frame: DataFrame, facts: TableFacts, *, parallelism: int | None = None) -> str:
    """Return how ``write_frame`` would distribute the rows of a DataFrame, and why. Nothing is run.

    Raises:
        InvalidData: columns or types do not fit the table.
        UnsupportedFeature: this version does not support writing the table.
    """
    check_frame(frame.schema, facts)
    way = way_of(facts, writing_tasks(frame, facts, parallelism))
    return f"{way}\n{shown_bound(frame)}"


@dataclass(frozen=True, slots=True)
class _FrameWrite:
    """What one write of a DataFrame does, for all kinds of buckets."""

    facts: TableFacts
    replacing: bool
    parallelism: int | None
    commit_user: str | None

    def written(self, rows: NamedRows) -> tuple[CommitMessage, ...]:
        """Write the rows and return the commit messages."""
        mode, facts = self.facts.bucket_mode, self.facts
        if isinstance(mode, CrossPartition) and is_shared(rows.frame, self.parallelism, SMALL_CROSS_PARTITION_BYTES):
            return self._across_partitions(rows)
        if isinstance(mode, Dynamic):
            return self._to_dynamic_buckets(rows)
        write = partial(bucket_writer, facts, rows.names, replacing=self.replacing, commit_user=self.commit_user)
        way = way_of(facts, writing_tasks(rows.frame, facts, self.parallelism))
        _log.debug("%s: %s", facts.name, way)
        if way.exchange is Exchange.STORAGE:
            results = _through_storage(rows, facts, way, write())
        elif way.exchange is Exchange.NONE and isinstance(mode, Fixed):
            results = map_in_workers(rows.frame, write(is_disjoint=True), RESULT_DDL).collect()
        else:
            results = map_in_workers(self._routed(rows, way).frame, write(), RESULT_DDL).collect()
        return messages_of_all(facts, gather(results))

    def _routed(self, rows: NamedRows, way: Way) -> NamedRows:
        """Shuffle rows, with all rows of a bucket in one task. Rows of unaware buckets are not shuffled."""
        mode = self.facts.bucket_mode
        if isinstance(mode, Unaware | Postponed):
            return rows if self.parallelism is None else rows.over(rows.frame.repartition(self.parallelism))
        if not isinstance(mode, Fixed) or way.is_small:
            # If places of keys are assigned, one task does that and writes the rows.
            return rows.over(rows.frame.coalesce(1))
        if way.tasks == 1:
            return rows.over(rows.frame.repartition(1))
        return one_task_for_each_bucket(
            with_bucket(rows, self.facts, mode.count, TASK), self.facts, F.col(TASK), way.tasks
        )

    def _to_dynamic_buckets(self, given: NamedRows) -> tuple[CommitMessage, ...]:
        facts = self.facts
        way_of(facts, writing_tasks(given.frame, facts, self.parallelism))
        assignment: Assignment | None = None
        if is_shared(given.frame, self.parallelism):
            routed, assignment = self._assigned(given)
        else:
            # One task assigns the places of keys and writes the rows.
            routed = given.over(given.frame.coalesce(1))
        names = routed.all_names()
        if isinstance(assignment, GivenBuckets):
            write = placed_writer(facts, names, assignment, replacing=self.replacing, commit_user=self.commit_user)
            rows = map_in_workers(routed.frame, write, RESULT_WITH_RUNS_DDL).collect()
        else:
            write = bucket_writer(
                facts, names, replacing=self.replacing, assignment=assignment, commit_user=self.commit_user
            )
            rows = map_in_workers(routed.frame, write, RESULT_DDL).collect()
        results = gather(rows)
        failure = find_repeated_assigner(facts, rows) if isinstance(assignment, GivenBuckets) else None
        return messages_of_all(facts, results, failure or find_shared_bucket(facts, results.messages))

    def _assigned(self, rows: NamedRows) -> tuple[NamedRows, Assignment]:
        """Return the rows of a table with dynamic buckets in their writing tasks, and the function that writes them."""
        facts, replacing = self.facts, self.replacing
        base = facts.snapshots.latest()
        assigners = assigner_count(facts.options.bucket, self.parallelism)
        tasks = self._tasks(rows)
        if can_assigners_write(facts, base, assigners, replacing=replacing, parallelism=self.parallelism):
            return one_task_for_each_assigner(rows, facts, assigners, tasks), WritingAssigner(assigners, base)
        assigned = with_dynamic_buckets(rows, facts, base, replacing=replacing, assigners=assigners, tasks=tasks)
        return assigned, GivenBuckets(free_name(BUCKET, rows.names), base)

    def _across_partitions(self, rows: NamedRows) -> tuple[CommitMessage, ...]:
        require("duckdb")
        from table_format.spark.write.cross_partition import (  # only such tables need DuckDB
            CrossPartitionWrite,
            write_across_partitions,
        )

        assigners = assigner_count(self.facts.options.bucket, self.parallelism)
        latest = self.facts.snapshots.latest()
        job = CrossPartitionWrite(self.facts, rows.names, latest, self.replacing, assigners, self._tasks(rows))
        return write_across_partitions(rows, job, self.commit_user)

    def _tasks(self, rows: NamedRows) -> int:
        return self.parallelism or shuffle_partitions(rows.frame) or DEFAULT_ASSIGNERS


def _through_storage(rows: NamedRows, facts: TableFacts, way: Way, write: Callable[[Batches], Batches]) -> list[Any]:
    with exchange_directory(facts) as directory:
        job = StorageExchange(facts, rows.names, total_buckets(facts.bucket_mode), way.tasks, directory)
        return written_through_storage(rows.frame, job, write)


def check_frame(schema: StructType, facts: TableFacts) -> None:
    """Refuse rows with a schema that the table cannot store, before any task runs.

    Raises:
        InvalidData: a column is missing, unknown, or has an incompatible type.
        UnsupportedFeature: this version does not support writing the table.
    """
    TableWrite(facts)
    rules = RowRules.of(facts.schema, facts.options)
    rules.check_columns(schema.names)
    try:
        arrow = to_arrow_schema(schema, timezone="UTC", prefers_large_types=False)
    except PySparkTypeError as error:
        message = f"the rows have a type that cannot be stored: {error}"
        raise InvalidData(message) from error
    rules.conform(pa.RecordBatch.from_pylist([], schema=arrow))


def with_constants(frame: DataFrame, schema: TableSchema, spec: PartitionSpec) -> DataFrame:
    """Return the DataFrame with its missing partition columns, filled with the values of the partition."""
    for name, value in spec.items():
        if name not in frame.columns:
            # ``withColumn`` cannot distinguish names that differ only in case.
            frame = frame.select("*", literal(value, schema.field(name).type).alias(name))
    return frame
