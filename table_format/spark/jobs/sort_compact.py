"""Sort compaction of a table as a Spark job: each task sorts and writes one range of the sort key.

One job samples the rows. A second job reads all rows, sends each row to the task of its range, and sorts and writes the
rows there (``spark/write/ranges.py``). The driver gets samples and metadata. Dynamic buckets need another step
(``spark/jobs/sort_buckets.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from table_format.append.compact import replacement
from table_format.append.sort import write_sorted
from table_format.errors import BucketLost
from table_format.indexes.deletion_vectors import BucketDeletions
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.kernels.sort_keys import SortKey
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.snapshot import Snapshot
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.jobs.sort_buckets import sort_buckets_on_spark
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.task_results import RESULT_DDL, gather, messages_of_all
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.ranges import (
    RANGE,
    ROWS_DDL,
    Piece,
    Ranges,
    error_row,
    for_each_piece,
    one_task_per_piece,
    part_writer,
    pieces_of,
    ranges_of,
    rows_by_part,
)
from table_format.table.facts import TableFacts
from table_format.table.table import Table
from table_format.table.upkeep.bucket_compaction import BucketCompaction, files_of
from table_format.table.upkeep.sort_compact import SortPerformer, sort_compact
from table_format.table.write.batch_commit import fresh_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sort_compact_on_spark(
    spark: SparkSession,
    table: Table,
    order_by: Sequence[str],
    strategy: str,
    *,
    partitions: Sequence[Mapping[str, object]] | None,
) -> tuple[Snapshot, ...]:
    """Sort the rows of a table in Spark tasks and commit the result. Errors as ``sort_compact``."""
    table = table.current()
    facts = table.facts

    def compact_first() -> tuple[Snapshot, ...]:
        return compact_on_spark(spark, table, full=True, partitions=partitions).snapshots

    with facts.explaining_drop():
        return sort_compact(
            facts,
            fresh_user(facts),
            order_by,
            strategy,
            partitions=partitions,
            perform=sort_performer(spark, table),
            compact_first=compact_first,
        )


def sort_performer(spark: SparkSession, table: Table) -> SortPerformer:
    """Return a function that sorts the partitions of a table in Spark tasks."""
    is_keyed = table.facts.schema.is_primary_key_table
    return partial(sort_buckets_on_spark if is_keyed else _without_lost, spark, table.facts)


def _without_lost(
    spark: SparkSession, facts: TableFacts, compactions: Sequence[BucketCompaction], key: SortKey
) -> Iterator[CommitMessage | BucketLost]:
    """Sort all partitions. If others have replaced files of a partition, start again without it."""
    while compactions:
        try:
            yield from _sorted(spark, facts, compactions, key)
        except BucketLost as lost:
            compactions = [work for work in compactions if work.partition != lost.partition]
            yield lost
        else:
            return


def _sorted(
    spark: SparkSession, facts: TableFacts, compactions: Sequence[BucketCompaction], key: SortKey
) -> Sequence[CommitMessage]:
    partitions = [(work,) for work in compactions]
    pieces = pieces_of(facts, partitions)
    ranges = ranges_of(spark, facts, partitions, pieces, key)
    total = sum(cut.count for cut in ranges)
    rows = map_in_workers(one_task_per_piece(spark, pieces), _splitter(facts, pieces, ranges), ROWS_DDL)
    written = map_in_workers(rows.repartitionById(total, RANGE), _range_writer(facts, compactions, ranges), RESULT_DDL)
    messages = messages_of_all(facts, gather(written.collect()))
    with DeletingOnFailure(lambda: facts.delete_message_files(messages)):
        return list(_replacements(facts, compactions, messages))


def _replacements(
    facts: TableFacts, compactions: Sequence[BucketCompaction], messages: Sequence[CommitMessage]
) -> Iterator[CommitMessage]:
    """Return one message for each partition with the files that the tasks of its ranges wrote, numbered in order."""
    written: dict[BucketId, list[DataFileMeta]] = {}
    for message in messages:
        written.setdefault(message.bucket_id, []).extend(message.compact_after)
    for work in compactions:
        after: list[DataFileMeta] = []
        following = 0
        for file in written.get(work.bucket_id, ()):
            last = following + file.row_count - 1
            after.append(replace(file, min_sequence_number=following, max_sequence_number=last))
            following = last + 1
        yield replacement(files_of(facts, work), work.files, work.files, after, work.deletions or BucketDeletions())


# --- inside the tasks -------------------------------------------------------------------------------------------------


def _splitter(facts: TableFacts, pieces: TaskInputs[Piece], ranges: Sequence[Ranges]) -> Callable[[Batches], Batches]:
    def split(piece: Piece) -> Batches:
        cut = ranges[piece.partition]
        for batch in piece.read(facts, facts.schema.fields):
            yield from rows_by_part(batch, cut.of(batch), count=cut.count, first=cut.first)

    return for_each_piece(pieces, split, error_row)


def _range_writer(
    facts: TableFacts, compactions: Sequence[BucketCompaction], ranges: Sequence[Ranges]
) -> Callable[[Batches], Batches]:
    owners = [number for number, cut in enumerate(ranges) for _ in range(cut.count)]
    targets = [work.only(()) for work in compactions]

    def write_range(part: int, rows: Batches) -> tuple[CommitMessage, ...]:
        bucket = files_of(facts, targets[owners[part]])
        return (bucket.message(compact_after=write_sorted(bucket, rows, ranges[owners[part]].key)),)

    return part_writer(write_range)
