"""Dynamic buckets as a Spark job: rows go by key hash to assigners, and from there by bucket to writers.

Each assigner owns the hashes that leave its number as remainder, and the buckets whose number does; all of them rest on
the one snapshot that the driver names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType, StructField, StructType

from table_format.codecs.hash_index import decode_hashes
from table_format.errors import HashIndexChanged, InvalidData
from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.model.commit import CommitMessage
from table_format.model.manifest import HASH
from table_format.model.snapshot import Snapshot
from table_format.options.bucket import BucketOptions
from table_format.spark.names import column
from table_format.table.casts import cast_column
from table_format.table.dynamic_buckets import DynamicBuckets
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BUCKET: Final = "__bucket__"
_ASSIGNER: Final = "__assigner__"

DEFAULT_ASSIGNERS: Final = 4
"""Each assigner fills buckets of its own: more of them make more buckets than the rows need."""


def with_dynamic_buckets(
    frame: DataFrame, facts: TableFacts, base: Snapshot | None, *, replacing: bool, parallelism: int | None
) -> DataFrame:
    """The frame with a column ``BUCKET``: for each row the bucket of its key."""
    assigners = assigner_count(facts.options.bucket, parallelism)
    owner: Callable[..., Column] = arrow_udf(_owner_function(facts, assigners), IntegerType())
    keys = facts.schema.trimmed_primary_keys
    routed = frame.withColumn(_ASSIGNER, owner(*(column(key) for key in keys)))
    routed = routed.repartitionById(assigners, _ASSIGNER).drop(_ASSIGNER)
    names = routed.columns
    plain = routed.toDF(*(f"c{number}" for number in range(len(names))))
    schema = StructType([*plain.schema.fields, StructField(BUCKET, IntegerType())])
    assign = _assign_function(facts, names, base, replacing=replacing, assigners=assigners)
    return plain.mapInArrow(assign, schema).toDF(*names, BUCKET)


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


def _owner_function(facts: TableFacts, assigners: int) -> Callable[..., pa.Array]:
    fields = facts.schema.select(facts.schema.trimmed_primary_keys)

    def owners(*columns: pa.Array) -> pa.Array:
        try:
            arrays = [cast_column(c, f.type, f.name) for c, f in zip(columns, fields, strict=True)]
        except InvalidData:
            # The task that is to write them says what is wrong.
            return pa.repeat(pa.scalar(0, pa.int32()), len(columns[0]))
        return pa.array(assigner_of(row_hashes([f.type for f in fields], arrays), assigners))

    return owners


def _assign_function(
    facts: TableFacts, names: Sequence[str], base: Snapshot | None, *, replacing: bool, assigners: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = facts.schema
    fields = schema.select((*schema.partition_keys, *schema.trimmed_primary_keys))

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        buckets = DynamicBuckets(facts, replacing=replacing, assigners=assigners)
        buckets.begin(base, frozenset())
        for batch in batches:
            try:
                arrays = [cast_column(batch.column(names.index(f.name)), f.type, f.name) for f in fields]
                keys = pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields])
                numbers = buckets.choose(keys)
            except InvalidData:
                numbers = np.zeros(batch.num_rows, np.int16)
            yield batch.append_column(BUCKET, pa.array(numbers.astype(np.int32)))

    return assign
