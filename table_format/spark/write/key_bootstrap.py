"""Sends all keys of a table as rows to its assigners, if the index of a shard must be built from them.

Java ``crosspartition.IndexBootstrap`` sends the keys through the same shuffle as the rows. This module does the same,
but only for shards without a usable index on the machine that was checked, and only for many keys. Otherwise, and on
any other machine, an assigner builds its index alone: it reads the key columns of all files and keeps the keys of its
shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from table_format.errors import TableFormatError
from table_format.indexes.key_index import IndexedRows
from table_format.indexes.local_store import LocalStoreError
from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.kernels.stored_keys import stored_key
from table_format.model.arrow_types import arrow_type
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.spark.tasks.task_inputs import numbers_in
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.table.facts import TableFacts
from table_format.table.placement.key_index_updates import must_be_built
from table_format.table.placement.local_key_index import open_key_index
from table_format.table.read.live_keys import all_splits, indexed, keys_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASSIGNER: Final = "__assigner__"
ORDER: Final = "__order__"
"""The order of a row in its assigner: keys of split 0 have -1, keys of split 1 have -2, and all other rows follow."""

MANY_ASSIGNERS: Final = 16
"""The minimum number of assigners for sending keys. Sending a key costs more than ten times as much as reading it, so
with fewer assigners it is faster if each reads all keys.
"""

MANY_KEYS: Final = 1_000_000
"""The minimum number of rows of a table for checking which assigners lack an index."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The splits whose keys are sent, and the shards that get them; usually none."""

    splits: tuple[DataSplit, ...] = ()
    shards: frozenset[int] = frozenset()


NO_BOOTSTRAP: Final = Bootstrap()


def plan_bootstrap(spark: SparkSession, facts: TableFacts, base: Snapshot | None, assigners: int) -> Bootstrap:
    """Return the shards that get their keys."""
    if base is None or assigners < MANY_ASSIGNERS or (base.total_record_count or 0) < MANY_KEYS:
        return NO_BOOTSTRAP
    numbers = spark.range(0, assigners, 1, assigners)
    missing = map_in_workers(numbers, _missing_index_finder(facts, base, assigners), "shard int").collect()
    shards = frozenset(row.shard for row in missing)
    return Bootstrap(all_splits(facts, base), shards) if shards else NO_BOOTSTRAP


def key_frame(spark: SparkSession, facts: TableFacts, bootstrap: Bootstrap, assigners: int) -> DataFrame:
    """Return the keys as rows with ``ASSIGNER``, ``ORDER`` and the columns of ``stored_key``."""
    splits = bootstrap.splits
    tasks = min(len(splits), facts.options.bucket.bootstrap_parallelism) or 1
    columns = [StructField(n, from_arrow_type(t)) for n, t in zip(key_names(facts), _stored_types(facts), strict=True)]
    schema = StructType([StructField(ASSIGNER, IntegerType()), StructField(ORDER, LongType()), *columns])
    read = _reader(facts, bootstrap, assigners)
    return map_in_workers(spark.range(0, len(splits), 1, tasks), read, schema)


def key_names(facts: TableFacts) -> list[str]:
    """Return the names of the columns of ``stored_key``."""
    return [f"__key_{number}__" for number in range(len(facts.schema.primary_keys))]


def known_rows(facts: TableFacts, splits: Sequence[DataSplit], batches: Batches) -> Iterator[IndexedRows]:
    """Yield the keys of one shard for its index, from the rows of ``key_frame`` in order."""
    names = key_names(facts)
    types = _stored_types(facts)
    for batch in batches:
        numbers = -1 - batch.column(ORDER).to_numpy()
        starts = np.concatenate(([0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1)).tolist()
        for start, stop in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            rows = batch.slice(start, stop - start)
            keys = [rows.column(name).cast(t) for name, t in zip(names, types, strict=True)]
            yield indexed(facts, splits[int(numbers[start])], keys)


def _stored_types(facts: TableFacts) -> list[pa.DataType]:
    fields = facts.schema.select(facts.schema.primary_keys)
    return [stored_key(pa.array([], arrow_type(f.type))).type for f in fields]


def _missing_index_finder(facts: TableFacts, base: Snapshot, assigners: int) -> Callable[[Batches], Batches]:
    """Return the numbers of the shards that must read all keys."""

    def find(numbers: Batches) -> Batches:
        for batch in numbers:
            lacking = [n for n in numbers_in([batch]) if _must_be_built(facts, base, KeyShard(n, assigners))]
            yield pa.RecordBatch.from_arrays([pa.array(lacking, pa.int32())], names=["shard"])

    return find


def _must_be_built(facts: TableFacts, base: Snapshot, shard: KeyShard) -> bool:
    """Return whether a shard must build its index; false after an error, which the assigner will raise."""
    try:
        index = open_key_index(facts, shard=shard)
    except LocalStoreError:
        return False
    try:
        return must_be_built(facts, index, base)
    except TableFormatError:
        return False
    finally:
        index.close()


def _reader(facts: TableFacts, bootstrap: Bootstrap, assigners: int) -> Callable[[Batches], Batches]:
    """Read the keys of the splits with the given numbers."""
    types = [field.type for field in facts.schema.select(facts.schema.primary_keys)]
    names = [ASSIGNER, ORDER, *key_names(facts)]

    def read(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            for found in keys_of(facts, bootstrap.splits[number], WHOLE):
                owners = assigner_of(row_hashes(types, found.columns), assigners)
                order = pa.array(np.full(found.num_rows, -1 - number))
                keys = [stored_key(column) for column in found.columns]
                rows = pa.RecordBatch.from_arrays([pa.array(owners), order, *keys], names=names)
                yield rows.filter(pa.array(np.isin(owners, list(bootstrap.shards))))

    return read
