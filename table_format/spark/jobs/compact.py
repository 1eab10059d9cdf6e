"""Compaction as a Spark job: one task for each bucket reads, merges and writes; one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.bucket_jobs import buckets_in_tasks
from table_format.table.table import Table
from table_format.table.upkeep.bucket_compaction import Work, compact, perform_work
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.redistribution import MAX_READERS
from table_format.table.write.batch_commit import fresh_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact_on_spark(
    spark: SparkSession,
    table: Table,
    *,
    full: bool,
    partitions: Sequence[Mapping[str, object]] | None,
    buckets: Sequence[int] | None = None,
) -> CompactionReport:
    """Compact a table in Spark tasks and commit the result. Buckets that others have changed in the meantime are
    dropped.

    Raises:
        ConflictError: other writers won every attempt to commit; nothing was committed.
    """
    facts = table.current_facts

    def perform(pieces: Sequence[Work]) -> Iterator[CommitMessage | BucketLost]:
        return buckets_in_tasks(spark, pieces, partial(perform_work, facts, full=full))

    with facts.explaining_drop():
        return compact(
            facts,
            fresh_user(facts),
            full=full,
            partitions=partitions,
            buckets=buckets,
            perform=perform,
            shares=MAX_READERS,
        )
