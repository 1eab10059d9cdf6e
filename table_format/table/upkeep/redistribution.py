"""Moves rows of a partition to other buckets; shared by rescaling and postponed buckets.

The work is divided into shares, each with some of the new buckets. A share reads all rows that may belong to its
buckets and writes those that do. So shares are independent, order stays, and memory does not depend on the size of
the partition. With several shares, rows are read several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from table_format.model.commit import CommitMessage
from table_format.options.bucket import BUCKET
from table_format.options.bucket_mode import total_buckets
from table_format.options.compaction import WRITE_ONLY
from table_format.table.facts import TableFacts
from table_format.table.placement.routing import bucket_numbers
from table_format.table.write.stored_rows import StoredRows
from table_format.table.write.table_write import TableWrite

BucketChoice: TypeAlias = frozenset[int]

MAX_READERS: Final = 8
"""The maximum number of tasks that share the new buckets of a partition: each of them reads all its rows."""


def with_buckets(facts: TableFacts, count: int) -> TableFacts:
    """Return the table with that many buckets; nothing is compacted before all rows are written."""
    options = {BUCKET.key: str(count), WRITE_ONLY.key: "true"}
    return replace(facts, options=facts.options.with_options(options))


def cut(buckets: Sequence[int], shares: int) -> Iterator[BucketChoice]:
    """Divide the buckets into this number of shares, or fewer.

    >>> [sorted(share) for share in cut(range(5), 2)], [sorted(share) for share in cut([7], 3)]
    ([[0, 2, 4], [1, 3]], [[7]])
    """
    for number in range(min(shares, len(buckets))):
        yield frozenset(buckets[number::shares])


def distribute(
    facts: TableFacts, rows: Iterable[pa.RecordBatch], wanted: BucketChoice, how: StoredRows, *, replacing: bool
) -> tuple[CommitMessage, ...]:
    """Write the rows that belong to the wanted buckets; ``facts`` is the result of ``with_buckets``.

    Raises:
        CorruptionError: a file is missing or damaged; no file of this call is left.
    """
    write = TableWrite(facts, replacing=replacing, stored=how)
    return write.write_stored(_belonging(facts, rows, wanted))


def _belonging(facts: TableFacts, rows: Iterable[pa.RecordBatch], wanted: BucketChoice) -> Iterator[pa.RecordBatch]:
    count = total_buckets(facts.bucket_mode)
    if len(wanted) == count:
        yield from rows
        return
    function = facts.options.bucket.function
    keys = facts.schema.select(facts.schema.bucket_keys)
    numbers = np.array(sorted(wanted), np.int64)
    for batch in rows:
        buckets = bucket_numbers(keys, [batch.column(f.name) for f in keys], count, function)
        kept = batch.filter(pa.array(np.isin(buckets, numbers)))
        if kept.num_rows:
            yield kept


def as_compacted(facts: TableFacts, message: CommitMessage) -> CommitMessage:
    """Return the work of a message as results of compaction, which hold existing rows (Java ``BucketFiles``)."""
    folded = _without_passing_files(facts, message)
    return replace(
        folded,
        new_files=(),
        compact_after=(*folded.new_files, *folded.compact_after),
        changelog_files=(),
        compact_changelog_files=(*folded.changelog_files, *folded.compact_changelog_files),
    )


def as_written(facts: TableFacts, message: CommitMessage) -> CommitMessage:
    """Return the work of a message in an empty bucket as new files."""
    folded = _without_passing_files(facts, message)
    return replace(
        folded,
        new_files=(*folded.new_files, *folded.compact_after),
        compact_after=(),
        new_index_files=(*folded.new_index_files, *folded.compact_new_index_files),
        compact_new_index_files=(),
    )


def _without_passing_files(facts: TableFacts, message: CommitMessage) -> CommitMessage:
    """Return the message without new files that its compaction replaced; these are deleted."""
    compacted = {file.file_name for file in message.compact_before}
    kept = {file.file_name for file in message.compact_after}
    new = {file.file_name for file in message.new_files}
    for file in message.new_files:
        if file.file_name in compacted and file.file_name not in kept:
            facts.delete_file(message.partition, message.bucket, file)
    return replace(
        message,
        new_files=tuple(file for file in message.new_files if file.file_name not in compacted),
        compact_before=tuple(file for file in message.compact_before if file.file_name not in new),
    )
