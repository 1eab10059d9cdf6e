"""Builds the DataFrame of a table: Spark's reader reads files that need no merge, tasks of this library the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.metastore.references.expired_reads import explaining_expiry_of_splits
from table_format.model.predicate import Predicate, columns_of
from table_format.model.split import DataSplit
from table_format.spark.read.conditions import condition
from table_format.spark.read.expired_files import planned
from table_format.spark.read.merged_rows import chosen_way
from table_format.spark.read.readable_names import first_columns
from table_format.spark.read.spark_parquet import divide, read_native
from table_format.spark.read.task_groups import estimated_size, grouped, task_numbers
from table_format.spark.tasks.read_work import split_reader
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.worker import map_in_workers
from table_format.spark.types import frame_schema
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ZONE = "spark.sql.session.timeZone"


def frame_of(spark: SparkSession, facts: TableFacts, plan: Plan) -> DataFrame:
    """Return the rows of a planned scan. Deletion vectors are read now, data files when Spark runs the DataFrame.

    Errors are those of ``pruned_frame``.
    """
    if plan.fallback is None:
        return _tested_frame(spark, facts.in_schema(plan.schema), plan)
    frames = (frame_of(spark, part.facts or facts, part) for part in plan.parts)
    return reduce(lambda left, right: left.union(right), frames)


def _tested_frame(spark: SparkSession, facts: TableFacts, plan: Plan) -> DataFrame:
    """Return the rows of the plan of one table that meet its filter. The filter may use columns that the plan leaves
    out.
    """
    names = [field.name for field in plan.fields]
    needed = frozenset() if plan.predicate is None else columns_of(plan.predicate)
    left_out = sorted(needed.difference(names))
    if not left_out:
        return pruned_frame(spark, facts, plan, tested=plan.predicate)
    frame = pruned_frame(spark, facts, plan.showing((*names, *left_out)), tested=plan.predicate)
    return first_columns(frame, names)


def pruned_frame(
    spark: SparkSession,
    facts: TableFacts,
    plan: Plan,
    *,
    tested: Predicate | None,
    is_limited: bool = False,
    note: Callable[[str], None] | None = None,
) -> DataFrame:
    """Return the rows of the plan of one table that meet ``tested``.

    The filter of the plan may exclude more rows, and does so where this library reads them. ``note`` gets a line about
    which reader reads merged files, and why. ``is_limited`` is true if a query needs few of the rows.

    Raises:
        SnapshotExpired: the snapshot has expired since it was planned.
        CorruptionError: a deletion vector is missing or damaged, or does not match its data file.
        UnsupportedFeature: Spark does not have the type of a column.
    """
    with explaining_expiry_of_splits(facts.store, plan.splits):
        choice, positions = chosen_way(spark, facts, plan, is_limited=is_limited)
        division = divide(plan, facts, positions)
    planned.note(facts.store, plan)
    if note is not None and choice is not None:
        note(f"{facts.name}: files to merge are read with {choice}")
    native = read_native(spark, division, plan, live=_live(plan))
    if native is not None and tested is not None:
        native = native.where(condition(tested, plan.schema.fields))
    if native is not None and not division.python:
        return native
    merged = _merged(spark, facts, plan, division.python)
    return merged if native is None else native.union(merged)


def _live(plan: Plan) -> Predicate | None:
    """Return the condition on the key by which the plan skips files.

    Rows of skipped files may supersede rows that do not meet it.
    """
    if not plan.schema.is_primary_key_table:
        return None
    on_key = plan.pruning.row_group_condition(merged=True)
    # All rows of a partition are superseded by rows of the same partition.
    is_of_partitions = on_key is None or columns_of(on_key) <= frozenset(plan.schema.partition_keys)
    return None if is_of_partitions else on_key


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return no rows. Spark needs no job, because it detects that the condition is never true."""
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
    return spark.range(1).select(*nulls).where(F.lit(False))


def _merged(spark: SparkSession, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> DataFrame:
    schema = frame_schema(plan.fields)
    if not splits:
        return no_rows(spark, schema)
    groups = grouped(spark, splits, facts.options.scan)
    read = split_reader(facts, plan, TaskInputs.of(groups), zone=spark.conf.get(_ZONE) or "UTC")
    size = estimated_size(schema, sum(split.row_count for split in splits))
    return map_in_workers(task_numbers(spark, len(groups), size=size), read, schema)
