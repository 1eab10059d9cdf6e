"""Index rewrite as a Spark job: tasks read the indexed columns of some files and return only metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.bucket_jobs import buckets_in_tasks
from table_format.table.table import Table
from table_format.table.upkeep.index_rewrite import IndexRewrite, IndexRewriteReport, rewrite_indexes, rewrite_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rewrite_indexes_on_spark(
    spark: SparkSession, table: Table, *, partitions: Sequence[Mapping[str, object]] | None
) -> IndexRewriteReport:
    """Rewrite indexes in Spark tasks and commit them group by group. Return a report.

    Raises:
        ConflictError: other writers won every attempt to commit. Earlier snapshots of this call stay.
    """
    facts = table.current_facts

    def perform(pieces: Sequence[IndexRewrite]) -> Iterator[CommitMessage | BucketLost]:
        return buckets_in_tasks(spark, pieces, partial(rewrite_work, facts))

    with facts.explaining_drop():
        return rewrite_indexes(facts, partitions=partitions, perform=perform)
