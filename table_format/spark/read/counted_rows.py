"""Counts rows without reading columns, from metadata and the keys of merged files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format.lsm.hidden_rows import keeps_stored_rows
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model.split import DataSplit, SplitContent
from table_format.options.spark_read import MergedRead
from table_format.spark.read.positions import Comparison, Positions
from table_format.spark.read.spark_parquet import is_merged
from table_format.spark.read.task_groups import parallelism
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def counted_rows(spark: SparkSession, facts: TableFacts, plan: Plan) -> DataFrame | None:
    """Return rows without columns, as many as an unfiltered plan has; ``None`` if files must be read.

    Raises:
        SnapshotExpired: the snapshot was expired since it was planned.
        CorruptionError: a file or a deletion vector is missing or damaged.
        RetractNotSupported: the merge engine cannot apply a retract row.
    """
    merged = [split for split in plan.splits if is_merged(split)]
    stored = [split for split in plan.splits if not is_merged(split)]
    if merged and not (
        keeps_stored_rows(plan.schema, facts.options) and facts.options.spark_read.merged_read is not MergedRead.MERGE
    ):
        return None
    counts = [_row_count(split) for split in stored]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    total = sum(known)
    if merged:
        with explaining_expiry(facts.store, *sorted({i for split in merged for i in split.snapshot_ids})):
            total += Positions(Comparison.of(facts, plan, merged).hidden(spark)).live_rows(merged)
    return spark.range(0, total, 1, min(total, parallelism(spark)) or 1).select()


def _row_count(split: DataSplit) -> int | None:
    """Return the row count of a split that is not merged, if its metadata contains it."""
    if split.content is not SplitContent.STATE or split.selections:
        return None
    marked = [vector.range.cardinality for vector in split.deletion_files if vector is not None]
    known = [count for count in marked if count is not None]
    return split.row_count - sum(known) if len(known) == len(marked) else None
