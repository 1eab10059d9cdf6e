"""Compacts further buckets with a commit, besides those that its tasks wrote to, with one task for each bucket."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from table_format.model.commit import CommitMessage
from table_format.spark.tasks.bucket_jobs import in_tasks
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import perform_work
from table_format.table.upkeep.full_compaction_period import other_buckets_due

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def with_other_buckets(
    spark: SparkSession, facts: TableFacts, messages: tuple[CommitMessage, ...]
) -> tuple[CommitMessage, ...]:
    """The messages of a write, and those of the other buckets that are to be compacted in the same commit.

    Raises:
        BucketLost: another commit replaced the files of such a bucket; no file of the write is left.
        CorruptionError: a file of such a bucket is missing or damaged; likewise.
    """
    if not messages or facts.options.compaction.full_compaction_delta_commits is None:
        return messages
    found = list(messages)
    try:
        works = other_buckets_due(facts, frozenset(message.bucket_id for message in messages))
        if works:
            for message in in_tasks(spark, works, partial(perform_work, facts, full=True)):
                found.append(message)  # noqa: PERF402 - what was made before a failure is deleted
    except BaseException:
        facts.delete_message_files(found)
        raise
    return tuple(found)
