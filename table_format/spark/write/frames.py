"""A DataFrame into a table: shuffled by partition and bucket, written inside the tasks, committed once.

Data files are made by the tasks; the driver gets their metadata alone. When a task fails with an error of this library
all files of the job are deleted; files of a task that died, or ran twice, are in no commit, and are left to the
cleaning of orphans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema

from table_format.errors import InvalidData
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.spark.names import column
from table_format.spark.read.conditions import literal
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.tasks.table_work import bucket_writer
from table_format.spark.tasks.task_results import RESULT_DDL, gather, messages_of_all
from table_format.spark.tasks.worker import map_in_workers
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
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import Assignment, GivenBuckets, WritingAssigner
from table_format.table.rows.validate import RowRules
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


SMALL_BYTES: Final = 16 << 20
"""A frame that Spark expects to be smaller is written by one task: a shuffle costs more than it gains."""

SMALL_CROSS_PARTITION_BYTES: Final = 128 << 20
"""The same where keys may change their partition: each assigner then keeps an index of its own."""


def write_frame(
    frame: DataFrame,
    facts: TableFacts,
    *,
    replacing: bool = False,
    parallelism: int | None = None,
    commit_user: str | None = None,
) -> tuple[CommitMessage, ...]:
    """Write the rows of a frame to files and return the messages that make them visible.

    ``parallelism`` is the number of writing tasks; by default one for a small frame, else one for each bucket of an
    unpartitioned table, and the session's number of shuffle partitions for a partitioned one. A table that postpones
    buckets, or has none, is written as the frame is cut already. ``commit_user`` is who commits, if that is known.

    Raises:
        InvalidData: columns, types or values are not those of the table; no file is left.
        UnsupportedFeature: the table has a feature that this version cannot write.
    """
    check_frame(frame.schema, facts)
    if isinstance(facts.bucket_mode, CrossPartition) and _is_shared(frame, parallelism, SMALL_CROSS_PARTITION_BYTES):
        return _write_across_partitions(
            frame, facts, replacing=replacing, parallelism=parallelism, commit_user=commit_user
        )
    assignment: Assignment | None = None
    if isinstance(facts.bucket_mode, Dynamic) and _is_shared(frame, parallelism):
        routed, assignment = _assigned(frame, facts, replacing=replacing, parallelism=parallelism)
    else:
        routed = _routed(frame, facts, parallelism)
    names = routed.columns
    # mapInArrow takes names for SQL, where a dot or a back-quote means something; the tasks give the names back.
    plain = routed.toDF(*(f"c{number}" for number in range(len(names))))
    if isinstance(assignment, GivenBuckets):
        write = placed_writer(facts, names, assignment, replacing=replacing, commit_user=commit_user)
        rows = map_in_workers(plain, write, RESULT_WITH_RUNS_DDL).collect()
    else:
        write = bucket_writer(facts, names, replacing=replacing, assignment=assignment, commit_user=commit_user)
        rows = map_in_workers(plain, write, RESULT_DDL).collect()
    results = gather(rows)
    failure = find_repeated_assigner(facts, rows) if isinstance(assignment, GivenBuckets) else None
    if failure is None and isinstance(facts.bucket_mode, Dynamic):
        failure = find_shared_bucket(facts, results.messages)
    return messages_of_all(facts, results, failure)


def _write_across_partitions(
    frame: DataFrame, facts: TableFacts, *, replacing: bool, parallelism: int | None, commit_user: str | None
) -> tuple[CommitMessage, ...]:
    from table_format.spark.write.cross_partition import (  # only such tables need DuckDB
        CrossPartitionWrite,
        write_across_partitions,
    )

    job = CrossPartitionWrite(
        facts,
        tuple(frame.columns),
        facts.snapshots.latest(),
        replacing,
        assigner_count(facts.options.bucket, parallelism),
        parallelism or _shuffle_partitions(frame) or DEFAULT_ASSIGNERS,
    )
    return write_across_partitions(frame, job, commit_user)


def check_frame(schema: StructType, facts: TableFacts) -> None:
    """Refuse rows of that schema before any task runs, if the table can hold none of them.

    Raises:
        InvalidData: a column is missing, left over, or of a type with nothing in common with the table's.
        UnsupportedFeature: the table has a feature that this version cannot write.
    """
    TableWrite(facts)
    rules = RowRules(facts.schema, facts.options.merge)
    rules.check_columns(schema.names)
    try:
        arrow = to_arrow_schema(schema, timezone="UTC", prefers_large_types=False)
    except PySparkTypeError as error:
        message = f"the rows have a type that cannot be stored: {error}"
        raise InvalidData(message) from error
    rules.conform(pa.RecordBatch.from_pylist([], schema=arrow))


def with_constants(frame: DataFrame, schema: TableSchema, spec: PartitionSpec) -> DataFrame:
    """The frame with those partition columns it lacks, which all have the values of the spec."""
    for name, value in spec.items():
        if name not in frame.columns:
            frame = frame.withColumn(name, literal(value, schema.field(name).type))
    return frame


def _assigned(
    frame: DataFrame, facts: TableFacts, *, replacing: bool, parallelism: int | None
) -> tuple[DataFrame, Assignment]:
    """Rows of a table with dynamic buckets at those who write them, and what these go by."""
    base = facts.snapshots.latest()
    assigners = assigner_count(facts.options.bucket, parallelism)
    tasks = parallelism or _shuffle_partitions(frame) or DEFAULT_ASSIGNERS
    if can_assigners_write(facts, base, assigners, replacing=replacing, parallelism=parallelism):
        return one_task_for_each_assigner(frame, facts, assigners, tasks), WritingAssigner(assigners, base)
    assigned = with_dynamic_buckets(frame, facts, base, replacing=replacing, assigners=assigners, tasks=tasks)
    return assigned, GivenBuckets(BUCKET, base)


def _routed(frame: DataFrame, facts: TableFacts, parallelism: int | None) -> DataFrame:
    """The rows of one bucket of one partition all in one task; an append table without buckets stays as it is."""
    mode = facts.bucket_mode
    match mode:
        case Dynamic() | CrossPartition():
            # One task gives keys their places and writes them.
            return frame.coalesce(1)
        case Unaware() | Postponed():
            return frame if parallelism is None else frame.repartition(parallelism)
        case Fixed(buckets):
            return _by_fixed_bucket(frame, facts, buckets, parallelism)
    assert_never(mode)


def _by_fixed_bucket(frame: DataFrame, facts: TableFacts, buckets: int, parallelism: int | None) -> DataFrame:
    if parallelism is None and _is_small(frame):
        return frame.coalesce(1)
    tasks = parallelism or buckets
    if facts.schema.partition_keys:
        # As many as any other shuffle of the session has: each task writes several partitions and buckets.
        tasks = parallelism or _shuffle_partitions(frame) or buckets
    if tasks == 1:
        return frame.repartition(1)
    return one_task_for_each_bucket(with_bucket(frame, facts, buckets, TASK), facts, column(TASK), tasks)


def _shuffle_partitions(frame: DataFrame) -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)


def _is_shared(frame: DataFrame, parallelism: int | None, small_bytes: int = SMALL_BYTES) -> bool:
    """Whether several tasks give keys their places; ``parallelism`` is what the caller asked for."""
    return not _is_small(frame, small_bytes) if parallelism is None else parallelism != 1


def _is_small(frame: DataFrame, small_bytes: int = SMALL_BYTES) -> bool:
    """Whether Spark's own estimate says so, which runs nothing. A Connect client sees no estimate."""
    if is_connect(frame.sparkSession):
        return False
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()) < small_bytes
