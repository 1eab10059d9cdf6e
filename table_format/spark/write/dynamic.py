"""Writes dynamic buckets as a Spark job: rows go by key hash to assigners, and from there by bucket to writers.

Each assigner owns the hashes and the buckets whose remainder modulo the number of assigners is its number. All
assigners use the snapshot that the driver names. If no two assigners can use the same bucket, they write their rows
themselves, without the second shuffle.
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
"""A column with the result of an assigner for each row: the bucket, the run that chose it, and an error."""

_CHOSEN, _FAILURE = "chosen", "failure"
_CHOICE: Final = pa.struct([(_CHOSEN, pa.int64()), (_FAILURE, pa.string())])

_BUCKET_BITS: Final = 16
_TOKEN_BITS: Final = 32
_NO_BUCKET: Final = (1 << _BUCKET_BITS) - 1
"""Not a bucket: the row only tells a writer about the run."""

_ASSIGNER: Final = "__assigner__"
_WRITER: Final = "__writer__"
"""The writer of a row without values; null in the rows of the DataFrame."""

DEFAULT_ASSIGNERS: Final = 4
"""The maximum number of assigners. Each fills its own buckets, so more assigners create more buckets than needed."""


def can_assigners_write(
    facts: TableFacts, base: Snapshot | None, assigners: int, *, replacing: bool, parallelism: int | None
) -> bool:
    """Return whether each assigner writes its rows itself, without a second shuffle.

    This requires that no two assigners use the same bucket. New keys meet this condition, because an assigner opens
    only buckets with its own number. Known keys meet it if an overwrite replaces them, or if jobs with the same number
    of assigners placed all of them. If there are fewer assigners than writing tasks, they only assign.
    """
    if assigners < (parallelism or DEFAULT_ASSIGNERS):
        return False
    return replacing or are_apart(facts, base, assigners)


def one_task_for_each_assigner(rows: NamedRows, facts: TableFacts, assigners: int, tasks: int) -> NamedRows:
    """Shuffle rows to tasks, with all rows of one assigner and one partition in one task."""
    if not facts.schema.partition_keys:
        tasks = assigners
    numbered = _with_assigner(rows, facts, assigners)
    shuffled = one_task_for_each_bucket(numbered, facts, column(_ASSIGNER), tasks)
    return rows.over(shuffled.frame.drop(_ASSIGNER))


def with_dynamic_buckets(
    rows: NamedRows, facts: TableFacts, base: Snapshot | None, *, replacing: bool, assigners: int, tasks: int
) -> NamedRows:
    """Return the rows with a column ``BUCKET`` for ``placed_writer``, with all rows of a bucket in one of ``tasks``
    tasks.

    Each task also gets a row from each assigner that only tells it about the run.
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
    # Nondeterministic, because Spark might otherwise assign twice with different results. Only keys leave the JVM, as
    # one column: Spark treats an iterator of one column and of several columns differently.
    assign = cast(
        "UserDefinedFunctionLike", cast("Any", arrow_udf)(function, from_arrow_type(_CHOICE))
    ).asNondeterministic()
    keys = F.struct(column(_WRITER), *(rows.column(f.name) for f in fields))
    assigned = routed.withColumn(BUCKET, assign(keys))
    bucket = column(BUCKET).getField(_CHOSEN).bitwiseAND(_NO_BUCKET)
    target = F.coalesce(column(_WRITER), task_of(rows, facts, bucket, tasks))
    return rows.over(assigned.withColumn(TASK, target).repartitionById(tasks, TASK).drop(TASK, _WRITER))


def assigner_count(bucketing: BucketOptions, parallelism: int | None) -> int:
    """Return how many tasks assign buckets to keys. Each must own at least one bucket."""
    assigners = bucketing.assigner_parallelism or parallelism or DEFAULT_ASSIGNERS
    assigners = min(assigners, bucketing.initial_buckets or assigners)
    if bucketing.max_dynamic_buckets > 0:
        assigners = min(assigners, bucketing.max_dynamic_buckets)
    return assigners


def find_repeated_assigner(facts: TableFacts, results: Iterable[Any]) -> HashIndexChanged | None:
    """Return the error if writers got rows of two runs of an assigner."""
    repeated = repeated_assigners(results)
    if not repeated:
        return None
    which = ", ".join(repeated)
    text = f"{facts.name}: Spark ran assigner {which} twice, and writers got rows of both runs; write the rows again"
    return HashIndexChanged(text)


def find_shared_bucket(facts: TableFacts, messages: Iterable[CommitMessage]) -> HashIndexChanged | None:
    """Return the error if two tasks wrote to one bucket: a commit would keep the hashes of only one of them."""
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
    """Write rows with given buckets. Return one row for the task, with the runs of the assigners."""

    def write(batches: Batches) -> Batches:
        runs: set[str] = set()
        rows = _without_runs((batch.rename_columns(list(names)) for batch in batches), given.column, runs)
        write_to = partial(TableWrite, facts, replacing=replacing, assignment=given, commit_user=commit_user)
        yield result_with_runs(outcome_of(lambda: write_rows(write_to(), rows)), runs)

    return write


def _without_runs(batches: Batches, name: str, runs: set[str]) -> Batches:
    """Yield the rows with only their buckets in the column ``name``. Add the runs of the assigners to ``runs``.

    Raises:
        TableFormatError: an assigner failed.
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
    """Return the rows with their assigner, which is the fixed bucket of the key for as many buckets as assigners."""
    keys = facts.schema.select(facts.schema.trimmed_primary_keys)
    return with_number(rows, keys, assigners, _ASSIGNER)


def bucket_chooser(
    facts: TableFacts, fields: Sequence[DataField], base: Snapshot | None, *, replacing: bool, assigners: int
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Choose the buckets of the keys of one assigner. Each call is a run.

    The input is structs of a writer, which is null, and ``fields``. Structs with a writer only tell it about the run.
    """

    def assign(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        buckets = DynamicBuckets(facts, replacing=replacing, assigners=assigners)
        # A shuffle by number sends the rows of each assigner to the task with its number.
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
