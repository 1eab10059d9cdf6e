"""New indexes for data files as a Spark job: tasks read the indexed columns of some files; only metadata travels."""

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
    """Rewrite indexes in Spark's tasks and commit them group by group; what was done.

    Raises:
        ConflictError: others won every attempt to commit; what earlier snapshots of this call made visible stays.
    """
    facts = table.current_facts

    def perform(works: Sequence[IndexRewrite]) -> Iterator[CommitMessage | BucketLost]:
        return buckets_in_tasks(spark, works, partial(rewrite_work, facts))

    return rewrite_indexes(facts, partitions=partitions, perform=perform)
