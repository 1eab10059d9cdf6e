"""Dynamic buckets as a Spark job: rows go by key hash to assigners, and from there by bucket to writers.

Each assigner owns the hashes that leave its number as remainder, and the buckets whose number does; all of them rest on
the one snapshot that the driver names. Where no two of them can meet in a bucket they write their rows themselves, and
the second shuffle is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from table_format.errors import HashIndexChanged, TableFormatError
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField
from table_format.options.bucket import BucketOptions
from table_format.spark.names import column
from table_format.spark.tasks.table_work import gathered, write_rows
from table_format.spark.tasks.task_results import decode_error, encode_error, outcome_of
from table_format.spark.tasks.worker import Batches, settle
from table_format.spark.write.assigner_runs import repeated_assigners, result_with_runs, run_name
from table_format.spark.write.buckets import TASK, one_task_for_each_bucket, task_of, with_number
from table_format.spark.write.named_rows import NamedRows
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import GivenBuckets
from table_format.table.placement.dynamic import DynamicBuckets, are_apart
from table_format.table.rows.casts import cast_column
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql._typing import UserDefinedFunctionLike

BUCKET: Final = "__bucket__"
"""A column with what an assigner says of each row: the bucket, above it the run that chose it, and what stopped it."""

_CHOSEN, _FAILURE = "chosen", "failure"
_CHOICE: Final = pa.struct([(_CHOSEN, pa.int64()), (_FAILURE, pa.string())])

_BUCKET_BITS: Final = 16
_TOKEN_BITS: Final = 32
_NO_BUCKET: Final = (1 << _BUCKET_BITS) - 1
"""No bucket has that number: the row only tells a writer of the run."""

_ASSIGNER: Final = "__assigner__"
_WRITER: Final = "__writer__"
"""The writer that a row without values is for; null in the rows of the frame."""

DEFAULT_ASSIGNERS: Final = 4
"""Each assigner fills buckets of its own: more of them make more buckets than the rows need."""


def can_assigners_write(
    facts: TableFacts, base: Snapshot | None, assigners: int, *, replacing: bool, parallelism: int | None
) -> bool:
    """Whether each assigner writes its rows itself, without a second shuffle.

    That needs that no two of them meet in a bucket. New keys never make them: an assigner opens buckets of its own
    number only. Known keys do not where an overwrite forgets them, or jobs with as many assigners placed them all.
    Assigners that are fewer than the tasks that should write keep to assigning.
    """
    if assigners < (parallelism or DEFAULT_ASSIGNERS):
        return False
    return replacing or are_apart(facts, base, assigners)


def one_task_for_each_assigner(rows: NamedRows, facts: TableFacts, assigners: int, tasks: int) -> NamedRows:
    """The rows of one assigner all in one task, in each partition for itself."""
    if not facts.schema.partition_keys:
        tasks = assigners
    numbered = _with_assigner(rows, facts, assigners)
    shuffled = one_task_for_each_bucket(numbered, facts, column(_ASSIGNER), tasks)
    return rows.over(shuffled.frame.drop(_ASSIGNER))


def with_dynamic_buckets(
    rows: NamedRows, facts: TableFacts, base: Snapshot | None, *, replacing: bool, assigners: int, tasks: int
) -> NamedRows:
    """The rows with a column ``BUCKET``, for ``placed_writer``: those of one bucket all in one task, of so many.

    Each task also gets a row of each assigner that only tells it of the run.
    """
    run_rows = rows.frame.sparkSession.range(0, assigners * tasks, 1, 1)
    run_rows = run_rows.select(
        F.pmod("id", F.lit(assigners)).cast("int").alias(_ASSIGNER),
        F.floor(column("id") / assigners).cast("int").alias(_WRITER),
    )
    numbered = _with_assigner(rows, facts, assigners).frame.withColumn(_WRITER, F.lit(None).cast("int"))
    routed = (
        numbered.unionByName(run_rows, allowMissingColumns=True).repartitionById(assigners, _ASSIGNER).drop(_ASSIGNER)
    )
    fields = facts.schema.select((*facts.schema.partition_keys, *facts.schema.trimmed_primary_keys))
    function = bucket_chooser(facts, fields, base, replacing=replacing, assigners=assigners)
    # Nondeterministic, or Spark might assign twice and get two answers. Only keys leave the JVM, as one column: an
    # iterator of one column and one of several are different things to Spark.
    assign = cast(
        "UserDefinedFunctionLike", cast("Any", arrow_udf)(function, from_arrow_type(_CHOICE))
    ).asNondeterministic()
    keys = F.struct(column(_WRITER), *(rows.column(f.name) for f in fields))
    assigned = routed.withColumn(BUCKET, assign(keys))
    bucket = column(BUCKET).getField(_CHOSEN).bitwiseAND(_NO_BUCKET)
    target = F.coalesce(column(_WRITER), task_of(rows, facts, bucket, tasks))
    return rows.over(assigned.withColumn(TASK, target).repartitionById(tasks, TASK).drop(TASK, _WRITER))


def assigner_count(bucketing: BucketOptions, parallelism: int | None) -> int:
    """How many tasks give keys their buckets: each has to own one at least."""
    assigners = bucketing.assigner_parallelism or parallelism or DEFAULT_ASSIGNERS
    assigners = min(assigners, bucketing.initial_buckets or assigners)
    if bucketing.max_dynamic_buckets > 0:
        assigners = min(assigners, bucketing.max_dynamic_buckets)
    return assigners


def find_repeated_assigner(facts: TableFacts, results: Iterable[Any]) -> HashIndexChanged | None:
    """The failure of work in which writers heard of two runs of an assigner."""
    repeated = repeated_assigners(results)
    if not repeated:
        return None
    which = ", ".join(repeated)
    text = f"{facts.name}: Spark ran assigner {which} twice, and writers got rows of both runs; write the rows again"
    return HashIndexChanged(text)


def find_shared_bucket(facts: TableFacts, messages: Iterable[CommitMessage]) -> HashIndexChanged | None:
    """The failure of work of whose tasks two wrote to one bucket; a commit would keep the hashes of one of them."""
    found: set[BucketId] = set()
    for message in messages:
        if message.bucket_id in found:
            where = f"{facts.name}: {facts.partitions.shown(message.partition)}, bucket {message.bucket}"
            return HashIndexChanged(f"{where} was written by two tasks; write the rows again")
        found.add(message.bucket_id)
    return None


def placed_writer(
    facts: TableFacts, names: Sequence[str], given: GivenBuckets, *, replacing: bool, commit_user: str | None
) -> Callable[[Batches], Batches]:
    """Write rows that come with their buckets; the answer is one row for the task, with the runs it heard of."""

    def write(batches: Batches) -> Batches:
        runs: set[str] = set()
        rows = _without_runs((batch.rename_columns(list(names)) for batch in batches), given.column, runs)
        write_to = partial(TableWrite, facts, replacing=replacing, assignment=given, commit_user=commit_user)
        yield result_with_runs(outcome_of(lambda: write_rows(write_to(), rows)), runs)

    return write


def _without_runs(batches: Batches, name: str, runs: set[str]) -> Batches:
    """The rows with their buckets alone, in the column ``name``; ``runs`` learns which runs of assigners chose them.

    Raises:
        TableFormatError: what stopped an assigner.
    """
    for batch in batches:
        choice = cast("pa.StructArray", batch.column(name))
        failures = choice.field(_FAILURE)
        if failures.null_count < len(failures):
            raise decode_error(failures.drop_null()[0].as_py())
        chosen = choice.field(_CHOSEN).to_numpy(zero_copy_only=False)
        for number in np.unique(chosen >> _BUCKET_BITS).tolist():
            runs.add(run_name(number >> _TOKEN_BITS, f"{number & ((1 << _TOKEN_BITS) - 1):08x}"))
        buckets = chosen & _NO_BUCKET
        rows = batch.set_column(batch.schema.get_field_index(name), name, pa.array(buckets.astype(np.int32)))
        is_row = buckets != _NO_BUCKET
        yield rows if is_row.all() else rows.filter(pa.array(is_row))


def _with_assigner(rows: NamedRows, facts: TableFacts, assigners: int) -> NamedRows:
    """An assigner owns the hashes that as many fixed buckets would put into one."""
    keys = facts.schema.select(facts.schema.trimmed_primary_keys)
    return with_number(rows, keys, assigners, _ASSIGNER)


def bucket_chooser(
    facts: TableFacts, fields: Sequence[DataField], base: Snapshot | None, *, replacing: bool, assigners: int
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Choose the buckets of one assigner's keys; each call is a run.

    What comes are structs of a writer, which is null, and ``fields``; those with a writer only tell it of the run.
    """

    def assign(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        buckets = DynamicBuckets(facts, replacing=replacing, assigners=assigners)
        # A shuffle by number gives each assigner the task of its own number.
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        token = crc32(facts.store.runtime.ids.uuid().encode())
        run = (number << _TOKEN_BITS | token) << _BUCKET_BITS
        has_begun = False
        for keys in gathered(batches, pa.concat_arrays):
            writers, *columns = cast("pa.StructArray", keys).flatten()
            chosen = np.full(len(keys), run | _NO_BUCKET)
            failure: str | None = None
            try:
                if not has_begun:
                    buckets.begin(base, frozenset())
                    has_begun = True
                is_row = writers.is_null()
                arrays = [cast_column(c.filter(is_row), f.type, f.name) for c, f in zip(columns, fields, strict=True)]
                if len(arrays[0]):
                    numbers = buckets.choose(pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields]))
                    chosen[is_row.to_numpy(zero_copy_only=False)] = numbers.astype(np.int64) | run
            except TableFormatError as error:
                failure = encode_error(error)
            failures = pa.array([failure, *[None] * (len(keys) - 1)], pa.string())
            yield pa.StructArray.from_arrays([pa.array(chosen), failures], fields=list(_CHOICE))
        settle()

    return assign
