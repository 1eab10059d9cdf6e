"""Which partition and bucket each row belongs to (format chapter 05, section 5; chapter 11).

The work is columnar: each row gets a number for its partition and bucket, and one stable sort groups the rows. Python
only loops over groups. Rows of a bucket keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.codecs.binary_row import serialize_row
from table_format.io.paths import POSTPONE_BUCKET
from table_format.kernels.bucket_functions import hive_buckets, mod_buckets
from table_format.kernels.hashing import fixed_buckets, row_hashes
from table_format.kernels.values import values_of
from table_format.model.bucket_id import BucketId
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.bucket import BucketOptions
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware, bucket_mode

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RoutedRows:
    """Rows of one bucket. ``partition`` is a serialised BinaryRow."""

    partition: bytes
    bucket: int
    rows: pa.RecordBatch

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the rows."""
        return BucketId(self.partition, self.bucket)


def route(batch: pa.RecordBatch, schema: TableSchema, bucketing: BucketOptions) -> Iterator[RoutedRows]:
    """Split a batch by partition and bucket. Without fixed buckets, all rows of a partition stay together."""
    if not batch.num_rows:
        return
    partitions = _partition_codes(batch, schema.partition_keys)
    buckets = _buckets(batch, schema, bucketing)
    groups = _combined(partitions, buckets)
    order, starts = arranged(groups)
    rows = batch if order is None else batch.take(order)
    buckets = buckets if order is None else buckets[order]
    stops = np.append(starts[1:], batch.num_rows)
    serialised = _partitions_at(rows, schema, starts)
    for start, stop, partition in zip(starts.tolist(), stops.tolist(), serialised, strict=True):
        yield RoutedRows(partition, int(buckets[start]), rows.slice(start, stop - start))


def split_by_bucket(piece: RoutedRows, buckets: npt.NDArray[np.int16]) -> Iterator[RoutedRows]:
    """Split the rows of one partition by their given buckets."""
    order, starts = arranged(buckets)
    rows = piece.rows if order is None else piece.rows.take(order)
    numbers = buckets if order is None else buckets[order]
    stops = np.append(starts[1:], rows.num_rows)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield RoutedRows(piece.partition, int(numbers[start]), rows.slice(start, stop - start))


def bucket_numbers(fields: Sequence[DataField], columns: Sequence[pa.Array], count: int, function: str) -> Codes:
    """The bucket of each row, one of ``count``, from its bucket key columns by a ``bucket-function.type``."""
    types = [f.type for f in fields]
    match function:
        case "mod":
            buckets = mod_buckets(types[0], columns[0], count)
        case "hive":
            buckets = hive_buckets(types, columns, count)
        case _:
            buckets = fixed_buckets(row_hashes(types, columns), count)
    return buckets.astype(np.int64)


def _buckets(batch: pa.RecordBatch, schema: TableSchema, bucketing: BucketOptions) -> Codes:
    mode = bucket_mode(schema, bucketing)
    match mode:
        case Fixed(1):
            # Also without a bucket key: append tables of version 0.7 and older have none.
            return np.zeros(batch.num_rows, np.int64)
        case Fixed(count):
            keys = schema.select(schema.bucket_keys)
            return bucket_numbers(keys, [batch.column(f.name) for f in keys], count, bucketing.function)
        case Postponed():
            return np.full(batch.num_rows, POSTPONE_BUCKET, np.int64)
        case Dynamic() | Unaware() | CrossPartition():
            return np.zeros(batch.num_rows, np.int64)
    assert_never(mode)


def numbered_partitions(batch: pa.RecordBatch, schema: TableSchema) -> tuple[Codes, list[bytes]]:
    """For each row the number of its partition, and the partitions by number."""
    codes = _partition_codes(batch, schema.partition_keys)
    _, firsts, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return numbers.astype(np.int64), _partitions_at(batch, schema, firsts)


def arranged(groups: npt.NDArray[np.integer[Any]]) -> tuple[npt.NDArray[np.int64] | None, Codes]:
    """Return the stable order that groups equal numbers (``None`` if they are grouped), and the start of each group."""
    if (groups == groups[0]).all():
        return None, np.zeros(1, np.int64)
    order = np.argsort(groups, kind="stable")
    arranged = groups[order]
    return order, np.concatenate(([0], np.flatnonzero(arranged[1:] != arranged[:-1]) + 1))


def _partition_codes(batch: pa.RecordBatch, keys: Sequence[str]) -> Codes:
    """Return a number for each row, equal for rows with equal partition columns."""
    codes = np.zeros(batch.num_rows, np.int64)
    for key in keys:
        encoded = batch.column(key).dictionary_encode(null_encoding="encode")
        codes = _combined(codes, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    return codes


def _combined(left: Codes, right: Codes) -> Codes:
    """Return small numbers for pairs: products of many columns would overflow."""
    width = int(right.max()) + 1
    pairs = left * width + right
    if pairs.max() < len(pairs):
        return pairs
    numbers: Codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def _partitions_at(rows: pa.RecordBatch, schema: TableSchema, starts: Codes) -> list[bytes]:
    fields = schema.partition_fields
    types = [f.type for f in fields]
    if not fields:
        return [serialize_row((), ())] * len(starts)
    columns = [values_of(rows.column(f.name).take(starts), f.type) for f in fields]
    return [serialize_row(types, values) for values in zip(*columns, strict=True)]
