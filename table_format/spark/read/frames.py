"""A table as a DataFrame: the files that need no merge by Spark's reader, the rest by a kernel inside the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model.predicate import Predicate
from table_format.model.split import DataSplit
from table_format.options.scan import ScanOptions
from table_format.spark.read.conditions import condition
from table_format.spark.read.expired_files import planned
from table_format.spark.read.spark_parquet import divide, nullable, read_native
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.tasks.table_work import split_reader
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.worker import map_in_workers
from table_format.spark.types import spark_schema
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.splits import pack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ZONE = "spark.sql.session.timeZone"


def frame_of(spark: SparkSession, facts: TableFacts, plan: Plan) -> DataFrame:
    """The rows of a planned scan; of data nothing is read before Spark runs the frame, of deletion vectors all is.

    Errors are those of ``pruned_frame``.
    """
    if plan.fallback is None:
        return pruned_frame(spark, facts, plan, tested=plan.predicate)
    frames = (frame_of(spark, part.facts or facts, part) for part in plan.parts)
    return reduce(lambda left, right: left.unionByName(right), frames)


def pruned_frame(spark: SparkSession, facts: TableFacts, plan: Plan, *, tested: Predicate | None) -> DataFrame:
    """The rows of the plan of one table: all that meet ``tested``, and none that do not.

    The plan's own filter may leave out more rows, and does so where the library reads them.

    Raises:
        SnapshotExpired: the snapshot was expired since it was planned.
        CorruptionError: a deletion vector is missing or damaged, or does not fit its data file.
        UnsupportedFeature: a column has a type Spark has not.
    """
    with explaining_expiry(facts.store, *sorted({i for split in plan.splits for i in split.snapshot_ids})):
        division = divide(plan, facts)
    planned.note(facts.store, plan)
    native = read_native(spark, division, plan)
    if native is not None and tested is not None:
        native = native.where(condition(tested, plan.schema.fields))
    if native is not None and not division.python:
        return native
    merged = _merged(spark, facts, plan, division.python)
    return merged if native is None else native.unionByName(merged)


def _nothing(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows, for which Spark needs no job: it sees that the condition never holds."""
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
    return spark.range(1).select(*nulls).where(F.lit(False))


def _merged(spark: SparkSession, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> DataFrame:
    # As Spark shows columns of files: whether one admits nulls must not depend on who reads it.
    schema = spark_schema([nullable(f) for f in plan.fields])
    if not splits:
        return _nothing(spark, schema)
    groups = TaskInputs.of(grouped(spark, splits, facts.options.scan))
    read = split_reader(facts, plan, groups, zone=spark.conf.get(_ZONE) or "UTC")
    # One number for each group, each in a task of its own; the splits travel with the task's code.
    return map_in_workers(spark.range(0, len(groups), 1, len(groups)), read, schema)


def grouped(spark: SparkSession, splits: Sequence[DataSplit], options: ScanOptions) -> Sequence[Sequence[DataSplit]]:
    """Neighbours that one task reads one after the other, as Spark puts small files together.

    A task costs a twentieth of a second, so there are no more of them than cores where splits are small.
    """
    sizes = [sum(file.file_size for file in (*split.before_files, *split.files)) for split in splits]
    total = sum(max(size, options.split_open_file_cost) for size in sizes)
    target = min(options.split_target_size, max(options.split_open_file_cost, total // _parallelism(spark)))
    numbered = pack(range(len(splits)), sizes.__getitem__, replace(options, split_target_size=target))
    return [[splits[number] for number in group] for group in numbered]


def _parallelism(spark: SparkSession) -> int:
    """Tasks that run side by side. A Connect client sees no cores, but what they were set up for."""
    if is_connect(spark):
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return int(spark.sparkContext.defaultParallelism)
