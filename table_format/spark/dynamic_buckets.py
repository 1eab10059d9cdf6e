"""Dynamic buckets as a Spark job: rows go by key hash to assigners, and from there by bucket to writers.

Each assigner owns the hashes that leave its number as remainder, and the buckets whose number does; all of them rest on
the one snapshot that the driver names. Where no two of them can meet in a bucket they write their rows themselves, and
the second shuffle is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from table_format.errors import HashIndexChanged, InvalidData
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField
from table_format.options.bucket import BucketOptions
from table_format.spark.answers import outcome_of
from table_format.spark.buckets import one_task_for_each_bucket, with_number
from table_format.spark.names import column
from table_format.spark.runs import heard, ran_twice, run_name
from table_format.spark.tasks import Batches, gathered, write_rows
from table_format.table.casts import cast_column
from table_format.table.dynamic_buckets import DynamicBuckets, are_apart
from table_format.table.facts import TableFacts
from table_format.table.write import GivenBuckets, TableWrite

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql._typing import UserDefinedFunctionLike

BUCKET: Final = "__bucket__"
"""A column with the bucket of each row, and above it the run of the assigner that chose it."""

_BUCKET_BITS: Final = 16
_TOKEN_BITS: Final = 32
_ASSIGNER: Final = "__assigner__"

DEFAULT_ASSIGNERS: Final = 4
"""Each assigner fills buckets of its own: more of them make more buckets than the rows need."""


def can_write_what_they_assign(
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


def one_task_for_each_assigner(frame: DataFrame, facts: TableFacts, assigners: int, tasks: int) -> DataFrame:
    """The rows of one assigner all in one task, in each partition for itself."""
    if not facts.schema.partition_keys:
        tasks = assigners
    numbered = _with_assigner(frame, facts, assigners)
    return one_task_for_each_bucket(numbered, facts, column(_ASSIGNER), tasks).drop(_ASSIGNER)


def with_dynamic_buckets(
    frame: DataFrame, facts: TableFacts, base: Snapshot | None, *, replacing: bool, assigners: int
) -> DataFrame:
    """The frame with a column ``BUCKET``, for ``bucket_of`` and ``placed_writer``."""
    routed = _with_assigner(frame, facts, assigners).repartitionById(assigners, _ASSIGNER).drop(_ASSIGNER)
    fields = facts.schema.select((*facts.schema.partition_keys, *facts.schema.trimmed_primary_keys))
    function = bucket_chooser(facts, fields, base, replacing=replacing, assigners=assigners)
    # Nondeterministic, or Spark might assign twice and get two answers. Only keys leave the JVM, as one column: an
    # iterator of one column and one of several are different things to Spark.
    assign = cast("UserDefinedFunctionLike", arrow_udf(function, LongType())).asNondeterministic()
    return routed.withColumn(BUCKET, assign(F.struct(*(column(f.name) for f in fields))))


def bucket_of() -> Column:
    """The bucket in a column ``BUCKET``."""
    return column(BUCKET).bitwiseAND((1 << _BUCKET_BITS) - 1)


def assigner_count(bucketing: BucketOptions, parallelism: int | None) -> int:
    """How many tasks give keys their buckets: each has to own one at least."""
    assigners = bucketing.assigner_parallelism or parallelism or DEFAULT_ASSIGNERS
    assigners = min(assigners, bucketing.initial_buckets or assigners)
    if bucketing.max_dynamic_buckets > 0:
        assigners = min(assigners, bucketing.max_dynamic_buckets)
    return assigners


def chosen_twice(facts: TableFacts, answers: Iterable[Any]) -> HashIndexChanged | None:
    """The failure of work in which writers got rows from two runs of an assigner; they hear of a run by its rows."""
    twice = ran_twice(answers)
    if not twice:
        return None
    which = ", ".join(twice)
    text = f"{facts.name}: Spark ran assigner {which} twice, and writers got rows of both runs; write the rows again"
    return HashIndexChanged(text)


def placed_writer(
    facts: TableFacts, names: Sequence[str], given: GivenBuckets, *, replacing: bool, commit_user: str | None
) -> Callable[[Batches], Batches]:
    """Write rows that come with their buckets; the answer is one row for the task, with the runs it heard of."""

    def write(batches: Batches) -> Batches:
        runs: set[str] = set()
        rows = _without_runs((batch.rename_columns(names) for batch in batches), runs)
        write_to = partial(TableWrite, facts, replacing=replacing, given=given, commit_user=commit_user)
        yield heard(outcome_of(lambda: write_rows(write_to(), rows)), runs)
        # After a failure the rest is still to be taken, or the worker cannot serve another task.
        for _ in batches:
            pass

    return write


def _without_runs(batches: Batches, runs: set[str]) -> Batches:
    """The rows with their buckets alone; ``runs`` learns which runs of assigners chose them."""
    for batch in batches:
        chosen = batch.column(BUCKET).to_numpy()
        for number in np.unique(chosen >> _BUCKET_BITS).tolist():
            runs.add(run_name(number >> _TOKEN_BITS, f"{number & ((1 << _TOKEN_BITS) - 1):08x}"))
        buckets = pa.array((chosen & ((1 << _BUCKET_BITS) - 1)).astype(np.int32))
        yield batch.set_column(batch.schema.get_field_index(BUCKET), BUCKET, buckets)


def _with_assigner(frame: DataFrame, facts: TableFacts, assigners: int) -> DataFrame:
    """An assigner owns the hashes that as many fixed buckets would put into one."""
    keys = facts.schema.select(facts.schema.trimmed_primary_keys)
    fixed = replace(facts.options.bucket, count=assigners, function="default")
    return with_number(frame, keys, fixed, _ASSIGNER)


def bucket_chooser(
    facts: TableFacts, fields: Sequence[DataField], base: Snapshot | None, *, replacing: bool, assigners: int
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Choose the buckets of one assigner's keys, which come as structs of ``fields``; each call is a run."""

    def assign(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        buckets = DynamicBuckets(facts, replacing=replacing, assigners=assigners)
        buckets.begin(base, frozenset())
        # A shuffle by number gives each assigner the task of its own number.
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        token = crc32(facts.store.runtime.ids.uuid().encode())
        run = (number << _TOKEN_BITS | token) << _BUCKET_BITS
        for keys in gathered(batches, pa.concat_arrays):
            try:
                arrays = [cast_column(c, f.type, f.name) for c, f in zip(keys.flatten(), fields, strict=True)]
                numbers = buckets.choose(pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields]))
            except InvalidData:
                # The task that is to write them says what is wrong.
                numbers = np.zeros(len(keys), np.int16)
            yield pa.array(numbers.astype(np.int64) | run)

    return assign
