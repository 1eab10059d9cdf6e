"""Compacts additional buckets in the commit of a write, with one task for each bucket."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from table_format.model.commit import CommitMessage
from table_format.spark.tasks.bucket_jobs import in_tasks
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import perform_work
from table_format.table.upkeep.other_buckets import other_buckets_due

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def with_other_buckets(
    spark: SparkSession, facts: TableFacts, messages: tuple[CommitMessage, ...]
) -> tuple[CommitMessage, ...]:
    """Return the messages of a write, and those of other buckets to compact in the same commit.

    Raises:
        BucketLost: another commit replaced the files of such a bucket. No files of the write are left.
        CorruptionError: a file of such a bucket is missing or damaged. No files of the write are left.
    """
    if not messages or facts.options.compaction.full_compaction_delta_commits is None:
        return messages
    found = list(messages)
    try:
        pieces = other_buckets_due(facts, frozenset(message.bucket_id for message in messages))
        if pieces:
            for message in in_tasks(spark, pieces, partial(perform_work, facts, full=True)):
                found.append(message)  # noqa: PERF402 - a failure deletes the earlier files
    except BaseException:
        facts.delete_message_files(found)
        raise
    return tuple(found)
