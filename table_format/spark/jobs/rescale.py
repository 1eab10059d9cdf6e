"""Rescaling as a Spark job: tasks read the old buckets, write the new ones, and return only metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.tasks.bucket_jobs import in_tasks
from table_format.table.facts import TableFacts
from table_format.table.table import Table
from table_format.table.upkeep.redistribution import MAX_READERS
from table_format.table.upkeep.rescale import PartitionRescale, rescale, rescale_with_option, rescale_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rescale_on_spark(
    spark: SparkSession,
    table: Table,
    bucket: int | None,
    *,
    partitions: Sequence[Mapping[str, object]] | None,
) -> tuple[Snapshot, ...]:
    """Rescale partitions in Spark tasks and commit the result. Return the new snapshots.

    Raises:
        ConflictError: another commit changed one of the partitions in the meantime. Nothing was committed.
    """

    def once(facts: TableFacts) -> tuple[Snapshot, ...]:
        def perform(pieces: Sequence[PartitionRescale]) -> Iterator[CommitMessage]:
            return in_tasks(spark, pieces, partial(rescale_work, facts))

        compaction = partial(compact_on_spark, spark, table, full=True, partitions=partitions)
        return rescale(facts, bucket, partitions=partitions, compaction=compaction, perform=perform, shares=MAX_READERS)

    return rescale_with_option(table, bucket, partitions, once)
