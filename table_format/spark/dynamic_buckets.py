"""Dynamic buckets as a Spark job: rows go by key hash to assigners, and from there by bucket to writers.

Each assigner owns the hashes that leave its number as remainder, and the buckets whose number does; all of them rest on
the one snapshot that the driver names. Where no two of them can meet in a bucket they write their rows themselves, and
the second shuffle is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from table_format.codecs.hash_index import decode_hashes
from table_format.errors import HashIndexChanged, InvalidData
from table_format.model.commit import CommitMessage
from table_format.model.manifest import HASH
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField
from table_format.options.bucket import BucketOptions
from table_format.spark.buckets import one_task_for_each_bucket, with_number
from table_format.spark.names import column
from table_format.spark.tasks import gathered
from table_format.table.casts import cast_column
from table_format.table.dynamic_buckets import DynamicBuckets, are_apart
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql._typing import UserDefinedFunctionLike

BUCKET: Final = "__bucket__"
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
    return one_task_for_each_bucket(_with_assigner(frame, facts, assigners), facts, _ASSIGNER, tasks).drop(_ASSIGNER)


def with_dynamic_buckets(
    frame: DataFrame, facts: TableFacts, base: Snapshot | None, *, replacing: bool, assigners: int
) -> DataFrame:
    """The frame with a column ``BUCKET``: for each row the bucket of its key."""
    routed = _with_assigner(frame, facts, assigners).repartitionById(assigners, _ASSIGNER).drop(_ASSIGNER)
    fields = facts.schema.select((*facts.schema.partition_keys, *facts.schema.trimmed_primary_keys))
    function = _assign_function(facts, fields, base, replacing=replacing, assigners=assigners)
    # Nondeterministic, or Spark might assign twice and get two answers. Only keys leave the JVM, as one column: an
    # iterator of one column and one of several are different things to Spark.
    assign = cast("UserDefinedFunctionLike", arrow_udf(function, IntegerType())).asNondeterministic()
    return routed.withColumn(BUCKET, assign(F.struct(*(column(f.name) for f in fields))))


def assigner_count(bucketing: BucketOptions, parallelism: int | None) -> int:
    """How many tasks give keys their buckets: each has to own one at least."""
    assigners = bucketing.assigner_parallelism or parallelism or DEFAULT_ASSIGNERS
    assigners = min(assigners, bucketing.initial_buckets or assigners)
    if bucketing.max_dynamic_buckets > 0:
        assigners = min(assigners, bucketing.max_dynamic_buckets)
    return assigners


def check_disjoint(facts: TableFacts, messages: Sequence[CommitMessage]) -> None:
    """Refuse work in which a key was given two buckets.

    Spark may run an assigner again when its output is lost, and rows then come in another order.

    Raises:
        HashIndexChanged: a new hash is in the index files of two buckets.
    """
    found: dict[bytes, list[npt.NDArray[np.int32]]] = {}
    for message in messages:
        for file in message.new_index_files:
            if file.index_type == HASH:
                path = facts.store.paths.index(file.file_name)
                hashes = decode_hashes(facts.store.io.read(path), count=file.row_count, path=path)
                found.setdefault(message.partition, []).append(hashes)
    for partition, parts in found.items():
        ordered = np.sort(np.concatenate(parts))
        if len(parts) > 1 and (ordered[1:] == ordered[:-1]).any():
            shown = facts.partitions.shown(partition)
            text = f"Spark ran an assigner of {shown} twice and keys came to two buckets; write the rows again"
            raise HashIndexChanged(text)


def _with_assigner(frame: DataFrame, facts: TableFacts, assigners: int) -> DataFrame:
    """An assigner owns the hashes that as many fixed buckets would put into one."""
    keys = facts.schema.select(facts.schema.trimmed_primary_keys)
    fixed = replace(facts.options.bucket, count=assigners, function="default")
    return with_number(frame, keys, fixed, _ASSIGNER)


def _assign_function(
    facts: TableFacts, fields: Sequence[DataField], base: Snapshot | None, *, replacing: bool, assigners: int
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    def assign(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        buckets = DynamicBuckets(facts, replacing=replacing, assigners=assigners)
        buckets.begin(base, frozenset())
        for keys in gathered(batches, pa.concat_arrays):
            try:
                arrays = [cast_column(c, f.type, f.name) for c, f in zip(keys.flatten(), fields, strict=True)]
                numbers = buckets.choose(pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields]))
            except InvalidData:
                # The task that is to write them says what is wrong.
                numbers = np.zeros(len(keys), np.int16)
            yield pa.array(numbers.astype(np.int32))

    return assign
