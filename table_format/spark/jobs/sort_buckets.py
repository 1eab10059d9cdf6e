"""Sort compaction of dynamic buckets as a Spark job (``lsm/sort.py`` in tasks).

The bucket of a row depends on its rank among all rows. The first jobs therefore sample the sort columns, find keys with
equal hashes, and count the rows of each range. The last job sends each row to the task of its range, where the number
of preceding rows is known, and from there to the task of its bucket, which sorts by key and writes data files and the
hash index. The driver gets only samples, counts, the few shared hashes, and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import TableFormatError
from table_format.kernels.hash_buckets import Hashes
from table_format.kernels.sort_keys import SortKey
from table_format.lsm.sort import (
    external_sort,
    key_hashes,
    level_of_all,
    may_have_more_buckets,
    removals,
    rows_of_a_bucket,
    write_bucket,
)
from table_format.model.arrow_calls import nulls, schema
from table_format.model.commit import CommitMessage
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.task_results import RESULT_DDL, decode_error, encode_error, gather, messages_of_all
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.ranges import (
    RANGE,
    ROWS_DDL,
    Piece,
    Ranges,
    error_row,
    for_each_piece,
    of_one_part,
    one_task_per_piece,
    part_writer,
    pieces_of,
    ranges_of,
    rows_by_part,
    rows_for,
)
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import BucketCompaction, files_of
from table_format.table.upkeep.sort_compact import bucket_to_sort, by_partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIGURES: Final = schema([("part", pa.int32()), ("figure", pa.int64()), ("failure", pa.string())])
_FIGURES_DDL: Final = "part int, figure long, failure string"


@dataclass(frozen=True, slots=True)
class _Partition:
    """The targets of the rows of a partition: ``size`` rows per bucket; rows with ``shared`` hashes go to the last
    bucket.

    ``work`` is a bucket of the partition, without its files. ``first`` is the number of its first bucket among
    the buckets of all partitions.
    """

    work: BucketCompaction
    level: int
    cut: Ranges
    shared: Hashes
    size: int
    counts: tuple[int, ...] = ()
    first: int = 0

    @property
    def ordered_buckets(self) -> int:
        return -(-sum(self.counts) // self.size)

    @property
    def bucket_count(self) -> int:
        return self.ordered_buckets + (1 if self.shared.size else 0)

    def parts_of(self, facts: TableFacts, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the range of each row. Rows with shared hashes get an additional range."""
        is_shared = np.isin(key_hashes(files_of(facts, self.work), rows), self.shared)
        return np.where(is_shared, self.cut.count, self.cut.of(rows))


def sort_buckets_on_spark(
    spark: SparkSession, facts: TableFacts, compactions: Sequence[BucketCompaction], key: SortKey
) -> Iterator[CommitMessage]:
    """Distribute the rows of partitions to buckets in the order of the key. Errors as ``lsm.sort.sort_buckets``."""
    members = list(by_partition(compactions).values())
    buckets = [[bucket_to_sort(facts, work) for work in found] for found in members]
    levels = [level_of_all(found) for found in buckets]
    for found in buckets:
        yield from removals(found)
    pieces = pieces_of(facts, members)
    cuts = ranges_of(spark, facts, members, pieces, key)
    # Each partition has an additional range for rows with shared hashes.
    cuts = tuple(replace(cut, first=cut.first + number) for number, cut in enumerate(cuts))
    shared = _shared_hashes(spark, facts, members, pieces)
    partitions = [
        _Partition(found[0].only(()), level, cut, hashes, rows_of_a_bucket(stored))
        for found, stored, level, cut, hashes in zip(members, buckets, levels, cuts, shared, strict=True)
    ]
    partitions = _counted(spark, facts, partitions, pieces)
    yield from _written(spark, facts, partitions, pieces)


def _shared_hashes(
    spark: SparkSession, facts: TableFacts, members: Sequence[Sequence[BucketCompaction]], pieces: TaskInputs[Piece]
) -> list[Hashes]:
    """Return the hashes that several keys of a partition share. These keys must be in the same bucket."""
    found: list[list[int]] = [[] for _ in members]
    # All keys share a single bucket.
    if may_have_more_buckets(files_of(facts, members[0][0])):
        hashes = map_in_workers(one_task_per_piece(spark, pieces), _hasher(facts, pieces), _FIGURES_DDL)
        for row in (
            hashes.groupBy("part", "figure", "failure").count().filter("count > 1 OR failure IS NOT NULL").collect()
        ):
            if row.failure is not None:
                raise decode_error(row.failure)
            found[row.part].append(row.figure)
    return [np.array(sorted(hashes), np.int32) for hashes in found]


def _counted(
    spark: SparkSession, facts: TableFacts, partitions: Sequence[_Partition], pieces: TaskInputs[Piece]
) -> list[_Partition]:
    """Return the partitions with the row count of each range, and with bucket numbers."""
    counts: dict[int, int] = {}
    counted = map_in_workers(one_task_per_piece(spark, pieces), _counter(facts, partitions, pieces), _FIGURES_DDL)
    for row in counted.collect():
        if row.failure is not None:
            raise decode_error(row.failure)
        counts[row.part] = counts.get(row.part, 0) + row.figure
    found: list[_Partition] = []
    first = 0
    for partition in partitions:
        parts = range(partition.cut.first, partition.cut.first + partition.cut.count)
        found.append(replace(partition, counts=tuple(counts.get(part, 0) for part in parts), first=first))
        first += found[-1].bucket_count
    return found


def _written(
    spark: SparkSession, facts: TableFacts, partitions: Sequence[_Partition], pieces: TaskInputs[Piece]
) -> Sequence[CommitMessage]:
    parts = sum(partition.cut.count + 1 for partition in partitions)
    buckets = max(sum(partition.bucket_count for partition in partitions), 1)
    rows = map_in_workers(one_task_per_piece(spark, pieces), _splitter(facts, partitions, pieces), ROWS_DDL)
    placed = map_in_workers(rows.repartitionById(parts, RANGE), _bucket_router(facts, partitions), ROWS_DDL)
    written = map_in_workers(placed.repartitionById(buckets, RANGE), bucket_writer(facts, partitions), RESULT_DDL)
    return messages_of_all(facts, gather(written.collect()))


# --- inside the tasks -------------------------------------------------------------------------------------------------


def _hasher(facts: TableFacts, pieces: TaskInputs[Piece]) -> Callable[[Batches], Batches]:
    def hashes(piece: Piece) -> Batches:
        files = files_of(facts, piece.work)
        for batch in piece.read(facts, facts.schema.select(facts.schema.trimmed_primary_keys)):
            yield _figures(piece.partition, key_hashes(files, batch))

    return for_each_piece(pieces, hashes, _failed)


def _counter(
    facts: TableFacts, partitions: Sequence[_Partition], pieces: TaskInputs[Piece]
) -> Callable[[Batches], Batches]:
    def counts(piece: Piece) -> Batches:
        partition = partitions[piece.partition]
        wanted = dict.fromkeys((*partition.cut.key.columns, *facts.schema.trimmed_primary_keys))
        found = np.zeros(partition.cut.count + 1, np.int64)
        for batch in piece.read(facts, facts.schema.select(tuple(wanted))):
            found += np.bincount(partition.parts_of(facts, batch), minlength=len(found))
        for number, count in enumerate(found.tolist()):
            yield _figures(partition.cut.first + number, np.array([count]))

    return for_each_piece(pieces, counts, _failed)


def _splitter(
    facts: TableFacts, partitions: Sequence[_Partition], pieces: TaskInputs[Piece]
) -> Callable[[Batches], Batches]:
    fields = (SEQUENCE_NUMBER, VALUE_KIND, *facts.schema.fields)

    def split(piece: Piece) -> Batches:
        partition = partitions[piece.partition]
        for batch in piece.read(facts, fields):
            parts = partition.parts_of(facts, batch)
            yield from rows_by_part(batch, parts, count=partition.cut.count + 1, first=partition.cut.first)

    return for_each_piece(pieces, split, error_row)


def _bucket_router(facts: TableFacts, partitions: Sequence[_Partition]) -> Callable[[Batches], Batches]:
    """Sort the rows of one range, and send each row to its bucket."""
    owners = [(p, number) for p in partitions for number in range(p.cut.count + 1)]

    def placed(batches: Batches) -> Batches:
        got = of_one_part(batches)
        if got is None:
            return
        part, rows = got
        partition, number = owners[part]
        if number == partition.cut.count:
            for batch in rows:
                yield rows_for(partition.first + partition.ordered_buckets, batch)
            return
        place = sum(partition.counts[:number])
        with external_sort(files_of(facts, partition.work), partition.cut.key) as waiting:
            for batch in rows:
                waiting.add(batch)
            for batch in waiting.sorted():
                buckets = np.arange(place, place + batch.num_rows) // partition.size
                place += batch.num_rows
                lowest = int(buckets[0])
                count = int(buckets[-1]) - lowest + 1
                yield from rows_by_part(batch, buckets - lowest, count=count, first=partition.first + lowest)

    def place(batches: Batches) -> Batches:
        try:
            yield from placed(batches)
        except TableFormatError as error:
            yield error_row(error)

    return place


def bucket_writer(facts: TableFacts, partitions: Sequence[_Partition]) -> Callable[[Batches], Batches]:
    """Write the rows of each bucket, which arrive sorted, to files. Return one row for each part."""
    owners = [(p, number) for p in partitions for number in range(p.bucket_count)]

    def write_rows_of(part: int, rows: Batches) -> tuple[CommitMessage, ...]:
        if part >= len(owners):
            # This bucket does not exist. Only the error of another task arrives here.
            for _ in rows:
                pass
            return ()
        partition, number = owners[part]
        bucket = replace(files_of(facts, partition.work), bucket=number)
        return (write_bucket(bucket, rows, partition.level),)

    return part_writer(write_rows_of)


def _failed(error: TableFormatError) -> pa.RecordBatch:
    columns: list[pa.Array] = [pa.array([0], pa.int32()), pa.array([0], pa.int64()), pa.array([encode_error(error)])]
    return pa.RecordBatch.from_arrays(columns, schema=_FIGURES)


def _figures(part: int, figures: npt.NDArray[np.integer]) -> pa.RecordBatch:
    count = len(figures)
    columns = [
        pa.repeat(pa.scalar(part, pa.int32()), count),
        pa.array(figures).cast(pa.int64()),
        nulls(count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_FIGURES)
