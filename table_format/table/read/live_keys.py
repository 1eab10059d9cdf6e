"""Reads the live keys of a table from its files, to build a local key index.

Java ``crosspartition.IndexBootstrap``. It reads whole buckets, including level 0, and decodes only key columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.indexes.key_index import IndexedRows
from table_format.kernels.key_shards import KeyShard
from table_format.kernels.stored_keys import stored_key
from table_format.metastore.references.expired_reads import explaining_expiry_of_rows
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.table.facts import TableFacts
from table_format.table.read.split_reader import read_in_order, read_split
from table_format.table.read.splits import make_splits

_SPLIT: Final = "__split__"


def all_splits(facts: TableFacts, base: Snapshot | None) -> tuple[DataSplit, ...]:
    """The splits of a snapshot whose keys are young enough to be looked up.

    Raises:
        CorruptionError: a manifest is missing or damaged.
    """
    if base is None:
        return ()
    plan = facts.live_files(base)
    return splits_of(facts, base, plan.entries)


def splits_of(facts: TableFacts, base: Snapshot, entries: Sequence[ManifestEntry]) -> tuple[DataSplit, ...]:
    """The splits of some files of a snapshot whose keys are young enough to be looked up."""
    if not entries:
        return ()
    splits = make_splits(
        entries, facts.schema, facts.options.scan, snapshot=base, deletion_files=facts.deletion_files(base)
    )
    ttl_ms = facts.options.bucket.index_ttl_ms
    if ttl_ms is None:
        return splits
    oldest_ms = facts.store.runtime.clock.local_now_ms() - ttl_ms
    return tuple(split for split in splits if newest_ms(facts, split.files) >= oldest_ms)


def keys_of(facts: TableFacts, split: DataSplit, shard: KeyShard) -> Generator[pa.RecordBatch]:
    """Return the primary key columns of the rows of a split; only keys of the shard.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    fields = facts.schema.select(facts.schema.primary_keys)
    types = [field.type for field in fields]
    rows = read_split(facts.store, facts.schemas, facts.schema, facts.options, split, fields)
    for batch in explaining_expiry_of_rows(facts.store, split, rows):
        yield shard.part_of(types, batch)


def live_rows(facts: TableFacts, splits: Sequence[DataSplit], shard: KeyShard) -> Iterator[IndexedRows]:
    """Return the keys of splits, and read several splits in parallel.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    numbers = {id(split): number for number, split in enumerate(splits)}

    def read(split: DataSplit) -> Generator[pa.RecordBatch]:
        for batch in keys_of(facts, split, shard):
            yield batch.append_column(_SPLIT, pa.array(np.full(batch.num_rows, numbers[id(split)])))

    for batch in read_in_order(splits, read, threads=facts.options.bucket.bootstrap_parallelism):
        if batch.num_rows:
            split = splits[batch.column(_SPLIT)[0].as_py()]
            keys = [stored_key(column) for column in batch.drop_columns([_SPLIT]).columns]
            yield indexed(facts, split, keys)


def indexed(facts: TableFacts, split: DataSplit, keys: Sequence[pa.Array]) -> IndexedRows:
    """Return the keys of a split, as columns of ``stored_key``, with their places."""
    return IndexedRows(
        keys=keys,
        partition=split.partition,
        bucket=split.bucket,
        written_ms=newest_ms(facts, split.files),
        snapshot=split.snapshot_id,
    )


def newest_ms(facts: TableFacts, files: Sequence[DataFileMeta]) -> int:
    """When the newest of some files was written, in local time."""
    times = [file.creation_time for file in files if file.creation_time is not None]
    return max(times, default=facts.store.runtime.clock.local_now_ms())
