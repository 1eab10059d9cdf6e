"""Rows for queries that need no columns or only partition columns, from metadata and the keys of merged files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from table_format.kernels.values import array_of
from table_format.lsm.hidden_rows import keeps_stored_rows
from table_format.metastore.references.expired_reads import explaining_expiry_of_splits
from table_format.model.predicate import Predicate, columns_of
from table_format.model.split import DataSplit, SplitContent
from table_format.model.types import AnyTimestampType, DataField
from table_format.options.spark_read import MergedRead
from table_format.spark.names import column
from table_format.spark.read.conditions import condition
from table_format.spark.read.positions import Comparison, Positions
from table_format.spark.read.spark_parquet import is_merged
from table_format.spark.read.task_groups import parallelism
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.types import frame_schema
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_OF_PIECE: Final = 1 << 16
"""The maximum number of rows that Spark creates from one row with a count."""

_MICROSECONDS: Final = 6


def are_known(fields: Sequence[DataField], partition_fields: Sequence[DataField]) -> bool:
    """Return whether all these columns are partition columns, of types whose values Spark can represent exactly."""
    names = {field.name for field in partition_fields}
    return all(
        field.name in names and not (isinstance(field.type, AnyTimestampType) and field.type.precision > _MICROSECONDS)
        for field in fields
    )


def counted_rows(
    spark: SparkSession, facts: TableFacts, plan: Plan, fields: Sequence[DataField], tested: Predicate | None
) -> DataFrame | None:
    """Return the rows of a plan with only these partition columns, without reading files where metadata suffices.

    The plan is filtered by partition columns at most. The rows meet ``tested``. The result is ``None`` if columns of
    files must be read.

    Raises:
        SnapshotExpired: the snapshot was expired since it was planned.
        CorruptionError: a file or a deletion vector is missing or damaged.
        RetractNotSupported: the merge engine cannot apply a retract row.
    """
    counts = _rows_by_partition(spark, facts, plan)
    if counts is None:
        return None
    needed = () if tested is None else sorted(columns_of(tested).difference(field.name for field in fields))
    fields = (*fields, *plan.schema.select(needed))
    if not fields:
        total = sum(counts.values())
        return spark.range(0, total, 1, min(total, parallelism(spark)) or 1).select()
    frame = _repeated(spark, facts, counts, fields)
    return frame if tested is None else frame.where(condition(tested, plan.schema.fields))


def _rows_by_partition(spark: SparkSession, facts: TableFacts, plan: Plan) -> Mapping[bytes, int] | None:
    """Return the number of rows of each partition; ``None`` if a split that needs no merging does not record it."""
    merged = [split for split in plan.splits if is_merged(split)]
    if merged and not (
        keeps_stored_rows(plan.schema, facts.options) and facts.options.spark_read.merged_read is not MergedRead.MERGE
    ):
        return None
    counts: dict[bytes, int] = {}
    for split in plan.splits:
        count = 0 if is_merged(split) else _row_count(split)
        if count is None:
            return None
        counts[split.partition] = counts.get(split.partition, 0) + count
    if merged:
        with explaining_expiry_of_splits(facts.store, merged):
            positions = Positions(Comparison.of(facts, plan, merged).hidden(spark))
        for split in merged:
            counts[split.partition] += positions.live_rows([split])
    return counts


def _row_count(split: DataSplit) -> int | None:
    """Return the row count of a split that is not merged, if its metadata contains it."""
    if split.content is not SplitContent.STATE or split.selections:
        return None
    marked = [vector.range.cardinality for vector in split.deletion_files if vector is not None]
    known = [count for count in marked if count is not None]
    return split.row_count - sum(known) if len(known) == len(marked) else None


def _repeated(
    spark: SparkSession, facts: TableFacts, counts: Mapping[bytes, int], fields: Sequence[DataField]
) -> DataFrame:
    """Return the values of each partition, repeated for each of its rows."""
    names = [field.name for field in facts.partitions.fields]
    places = [names.index(field.name) for field in fields]
    pieces = [
        (facts.partitions.values(partition), min(_ROWS_OF_PIECE, rows - start))
        for partition, rows in counts.items()
        for start in range(0, rows, _ROWS_OF_PIECE)
    ]
    arrays = [
        array_of([values[place] for values, _ in pieces], field.type)
        for place, field in zip(places, fields, strict=True)
    ]
    # By position, because a column of the table may have any name, also "n".
    given = [f"c{number}" for number in range(len(fields))]
    types = [StructField(name, of.dataType) for name, of in zip(given, frame_schema(fields).fields, strict=True)]
    rows = pa.Table.from_arrays([*arrays, pa.array([n for _, n in pieces], pa.int32())], names=[*given, "n"])
    frame = frame_of_rows(spark, rows, StructType([*types, StructField("n", IntegerType())]))
    repeated = frame.select(*given, F.explode(F.array_repeat(F.lit(1), F.col("n"))))
    return repeated.select(*(column(name).alias(field.name) for name, field in zip(given, fields, strict=True)))
