"""Writes cross-partition tables as a Spark job: rows go by key to assigners, and from there by bucket to writers.

Corresponds to several Java ``GlobalIndexAssigner``. Each assigner owns the keys whose hash modulo the number of
assigners is its number, and keeps an index of them. It opens only buckets with the same remainder. All assigners use
the snapshot that the driver names. Rows keep the order of the DataFrame: each assigner sorts its rows, and a shuffle
keeps the order of rows from one task to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import IntegerType, StructField, StructType

from table_format.errors import KeyPlacesChanged, TableFormatError
from table_format.kernels.key_shards import KeyShard
from table_format.model.arrow_calls import nulls
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.spark.tasks.table_work import in_larger_batches, write_rows
from table_format.spark.tasks.task_results import decode_error, encode_error, gather, messages_of_all, outcome_of
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.assigner_runs import RESULT_WITH_RUNS_DDL, repeated_assigners, result_with_runs, run_name
from table_format.spark.write.buckets import TASK, with_number
from table_format.spark.write.key_bootstrap import (
    ASSIGNER,
    NO_BOOTSTRAP,
    ORDER,
    Bootstrap,
    key_frame,
    known_rows,
    plan_bootstrap,
)
from table_format.spark.write.named_rows import NamedRows, plain_names
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import GivenBuckets
from table_format.table.placement.cross_partition import CrossPartitionPlacement
from table_format.table.placement.given import PLACE_TYPE, Places, place_column
from table_format.table.rows.validate import RowRules
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    pass

_PLACE: Final = "__place__"
_NOTE: Final = "__note__"


@dataclass(frozen=True, slots=True)
class CrossPartitionWrite:
    """The common input of all assigners of a job. ``names`` are the columns of the DataFrame, ``tasks`` is the number
    of writers.
    """

    facts: TableFacts
    names: tuple[str, ...]
    base: Snapshot | None
    replacing: bool
    assigners: int
    tasks: int
    bootstrap: Bootstrap = NO_BOOTSTRAP


def write_across_partitions(
    rows: NamedRows, job: CrossPartitionWrite, commit_user: str | None
) -> tuple[CommitMessage, ...]:
    """Write rows in several tasks, and return the commit messages.

    Raises:
        InvalidData: values do not fit the table. No files are left.
        KeyPlacesChanged: another commit changed the table, or Spark ran an assigner twice. No files are left.
    """
    placed = _with_places(rows, job)
    write = writer(job, placed.all_names(), commit_user)
    results = map_in_workers(placed.frame, write, RESULT_WITH_RUNS_DDL).collect()
    return messages_of_all(job.facts, gather(results), find_repeated_assigner(job, results))


def _with_places(rows: NamedRows, job: CrossPartitionWrite) -> NamedRows:
    """Return the rows with the places of their keys, each in the task that writes it."""
    facts, spark = job.facts, rows.frame.sparkSession
    fields = facts.schema.select(facts.schema.primary_keys)
    owned = with_number(rows, fields, job.assigners, ASSIGNER).frame
    plain = owned.withColumn(ORDER, F.monotonically_increasing_id())
    if not job.replacing:
        job = replace(job, bootstrap=plan_bootstrap(spark, facts, job.base, job.assigners))
    if job.bootstrap.shards:
        known = key_frame(spark, facts, job.bootstrap, job.assigners)
        plain = plain.unionByName(known, allowMissingColumns=True)
    routed = plain.repartitionById(job.assigners, ASSIGNER).sortWithinPartitions(ORDER)
    # Rows with only a note have no values.
    columns = [StructField(f.name, f.dataType) for f in plain.schema.fields[: len(job.names)]]
    added = [StructField(TASK, IntegerType()), StructField(_PLACE, from_arrow_type(PLACE_TYPE)), _NOTE_FIELD]
    placed = map_in_workers(routed, assigner(job), StructType([*columns, *added]))
    return rows.over(placed.repartitionById(job.tasks, TASK).drop(TASK))


_NOTE_FIELD: Final = StructField(_NOTE, from_arrow_type(pa.string()))


# --- assigners --------------------------------------------------------------------------------------------------------


def assigner(job: CrossPartitionWrite) -> Callable[[Batches], Batches]:
    """Place the rows of one assigner in the order of ``ORDER``. The results have the number of their writer."""

    def assign(batches: Batches) -> Batches:
        first = next(batches, None)
        while first is not None and not first.num_rows:
            first = next(batches, None)
        if first is None:
            return
        number = first.column(ASSIGNER)[0].as_py()
        columns = [pa.field(n, t) for n, t in zip(job.names, first.schema.types, strict=False)]
        run = run_name(number, job.facts.store.runtime.ids.uuid())
        # Each writer, even one without rows, is told which run of the assigner placed its rows.
        yield _notes(columns, run, range(job.tasks))
        try:
            yield from _assigned(job, number, chain((first,), batches))
        except TableFormatError as error:
            yield _notes(columns, encode_error(error), [0])

    return assign


def _assigned(job: CrossPartitionWrite, number: int, batches: Batches) -> Batches:
    facts = job.facts
    schema = facts.schema
    rules = RowRules.of(schema, facts.options)
    fields = schema.select((*schema.partition_keys, *schema.trimmed_primary_keys))
    placement = CrossPartitionPlacement(facts, replacing=job.replacing, shard=KeyShard(number, job.assigners))
    left: list[pa.RecordBatch] = []
    read = in_larger_batches(batches)
    known = _known(read, left)
    try:
        is_sent = number in job.bootstrap.shards
        placement.begin(job.base, known=known_rows(facts, job.bootstrap.splits, known) if is_sent else None)
        for _ in known:  # the index did not need them
            pass
        for batch in chain(left, read):
            given = batch.select(range(len(job.names))).rename_columns(list(job.names))
            # Even if the error is to be ignored: an invalid key sent the other rows to the wrong assigner.
            keys = rules.conform_columns(given, fields)
            rows = rules.without_ignored(given)
            if not rows.num_rows:
                continue
            places = placement.choose(keys if rows.num_rows == given.num_rows else rules.conform_columns(rows, fields))
            if len(places.rows):
                yield _with_place(rows, places, job.tasks)
    finally:
        placement.forget()


def _known(batches: Batches, left: list[pa.RecordBatch]) -> Batches:
    """Yield the rows of the bootstrap, which come first. The rest of the last batch is added to ``left``."""
    for batch in batches:
        count = int((batch.column(ORDER).to_numpy() < 0).sum())
        if count:
            yield batch.slice(0, count)
        if count < batch.num_rows:
            left.append(batch.slice(count))
            return


def _with_place(rows: pa.RecordBatch, places: Places, tasks: int) -> pa.RecordBatch:
    taken = rows if len(places.rows) == rows.num_rows and not places.is_retract.any() else rows.take(places.rows)
    numbers, positions = np.unique(places.partition, return_inverse=True)
    hashes = np.array([crc32(places.named(number)) for number in numbers.tolist()], np.int64)
    targets = (hashes[positions] + places.bucket) % tasks
    added = [pa.array(targets.astype(np.int32)), place_column(places), nulls(taken.num_rows, pa.string())]
    names = plain_names(taken.num_columns)
    return pa.RecordBatch.from_arrays([*taken.columns, *added], names=[*names, TASK, _PLACE, _NOTE])


def _notes(columns: Sequence[pa.Field], text: str, tasks: Iterable[int]) -> pa.RecordBatch:
    """Return rows without values that carry a note to writers."""
    targets = pa.array(tasks, pa.int32())
    count = len(targets)
    nothing = [nulls(count, column.type) for column in columns]
    added = [targets, nulls(count, PLACE_TYPE), pa.repeat(pa.scalar(text), count)]
    names = plain_names(len(columns))
    return pa.RecordBatch.from_arrays([*nothing, *added], names=[*names, TASK, _PLACE, _NOTE])


# --- writers ----------------------------------------------------------------------------------------------------------


def writer(job: CrossPartitionWrite, names: Sequence[str], commit_user: str | None) -> Callable[[Batches], Batches]:
    """Write rows whose last columns are their place and a note. Return one row for the task."""
    *_, place, note = names
    given = GivenBuckets(place, job.base)

    def write(batches: Batches) -> Batches:
        notes: list[str] = []
        named = (batch.rename_columns(list(names)) for batch in batches)
        write_to = partial(TableWrite, job.facts, replacing=job.replacing, assignment=given, commit_user=commit_user)
        outcome = outcome_of(lambda: write_rows(write_to(), _without_notes(named, note, notes)))
        yield result_with_runs(outcome, notes)

    return write


def _without_notes(batches: Batches, name: str, notes: list[str]) -> Batches:
    """Yield the rows. Collect the notes of assigners in the column ``name``, and raise the error of an assigner."""
    for batch in batches:
        column = batch.column(name)
        rows = batch.drop_columns([name])
        if column.null_count < len(column):
            for text in cast("list[str]", column.drop_null().to_pylist()):
                if text.startswith("{"):
                    raise decode_error(text)
                notes.append(text)
            rows = rows.filter(column.is_null())
        if rows.num_rows:
            yield rows


def find_repeated_assigner(job: CrossPartitionWrite, results: Iterable[Any]) -> KeyPlacesChanged | None:
    """Return the error if writers got rows of different runs of an assigner."""
    repeated = repeated_assigners(results)
    if not repeated:
        return None
    which = f"{', '.join(repeated)} of {job.assigners}"
    text = f"{job.facts.name}: Spark ran assigner {which} twice, and writers got rows of both runs"
    return KeyPlacesChanged(f"{text}; nothing was committed, write the rows again")
