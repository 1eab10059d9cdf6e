"""Rows of a cross-partition table with the places of their keys, which assigners may have chosen (format chapter 11,
2).

Java ``crosspartition.ExistingProcessor``: a row may go to another partition than its own, and a delete has the
partition that its key leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.key_moves import Numbers
from table_format.kernels.values import array_of
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.commit import CommitMessage
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import GivenBuckets, missing_places
from table_format.table.placement.routing import RoutedRows, arranged

_BUCKET_BITS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of the rows of a batch: ``rows`` are their positions in it, in the order in which they are written.

    ``partition`` holds numbers, and ``named`` maps a number to its partition. ``is_elsewhere`` marks rows that do not
    go to the partition they name, ``is_retract`` those of them that are written as deletes.
    """

    rows: Numbers
    partition: Numbers
    bucket: Numbers
    is_elsewhere: npt.NDArray[np.bool_]
    is_retract: npt.NDArray[np.bool_]
    named: Callable[[int], bytes]


def rows_at(facts: TableFacts, rows: pa.RecordBatch, places: Places) -> Iterator[RoutedRows]:
    """Return the rows to write, by partition and bucket. Rows of one bucket have the order of the places."""
    if not len(places.rows):
        return
    if len(places.rows) != rows.num_rows or places.is_retract.any():
        rows = rows.take(places.rows)
    if places.is_retract.any():
        kinds = rows.column(VALUE_KIND.name).to_numpy()
        kinds = np.where(places.is_retract, np.int8(RowKind.DELETE.value), kinds)
        rows = _with_column(rows, VALUE_KIND.name, pa.array(kinds))
    if places.is_elsewhere.any():
        rows = _with_partitions(facts, rows, places)
    numbers: npt.NDArray[np.int64] = places.partition << _BUCKET_BITS | places.bucket
    order, starts = arranged(numbers)
    if order is not None:
        rows, numbers = rows.take(order), numbers[order]
    stops = np.append(starts[1:], rows.num_rows)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        number = int(numbers[start])
        partition = places.named(number >> _BUCKET_BITS)
        yield RoutedRows(partition, number & ((1 << _BUCKET_BITS) - 1), rows.slice(start, stop - start))


class GivenPlacement:
    """Rows of a cross-partition table have a column with the places that assigners have chosen."""

    def __init__(self, facts: TableFacts, given: GivenBuckets, *, replacing: bool) -> None:
        self._facts = facts
        self._given = given
        self._base = None if replacing else snapshot_identity(given.base)
        self.given_column: Final = given.column

    def open(self) -> None:
        """See ``Placement``: the index of keys is the assigners'."""

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """See ``Placement``: the snapshot is the one that the assigners chose by."""

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """See ``Placement``: the commit has to know by which snapshot the places were chosen."""
        return (replace(message, key_places_base=self._base) for message in messages)

    def forget(self) -> None:
        """See ``Placement``."""

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:
        """See ``Placement``; ``given`` is made by ``place_column``."""
        if not isinstance(given, pa.StructArray):
            raise missing_places(self._given)
        partitions = given.field(_PARTITION).dictionary_encode()
        how = given.field(_HOW).to_numpy(zero_copy_only=False)
        places = Places(
            rows=np.arange(rows.num_rows),
            partition=partitions.indices.to_numpy().astype(np.int64),
            bucket=given.field(_BUCKET).to_numpy(zero_copy_only=False).astype(np.int64),
            is_elsewhere=how >= _ELSEWHERE,
            is_retract=how == _RETRACT,
            named=cast("list[bytes]", partitions.dictionary.to_pylist()).__getitem__,
        )
        yield from rows_at(self._facts, rows, places)


# --- places as a column of the rows -----------------------------------------------------------------------------------

_PARTITION, _BUCKET, _HOW = "partition", "bucket", "how"
_ELSEWHERE, _RETRACT = 1, 2

PLACE_TYPE = pa.struct([(_PARTITION, pa.binary()), (_BUCKET, pa.int32()), (_HOW, pa.int8())])


def place_column(places: Places) -> pa.StructArray:
    """Return the places as one column for the rows."""
    numbers, positions = np.unique(places.partition, return_inverse=True)
    partitions = pa.array([places.named(number) for number in numbers.tolist()], pa.binary())
    how = np.where(places.is_retract, _RETRACT, np.where(places.is_elsewhere, _ELSEWHERE, 0)).astype(np.int8)
    columns: list[pa.Array] = [partitions.take(positions), pa.array(places.bucket.astype(np.int32)), pa.array(how)]
    return pa.StructArray.from_arrays(columns, fields=list(PLACE_TYPE))


def _with_partitions(facts: TableFacts, rows: pa.RecordBatch, places: Places) -> pa.RecordBatch:
    numbers, positions = np.unique(places.partition, return_inverse=True)
    values = [facts.partitions.values(places.named(number)) for number in numbers.tolist()]
    for field, column in zip(facts.schema.partition_fields, zip(*values, strict=True), strict=True):
        rows = _with_column(rows, field.name, array_of(column, field.type).take(positions))
    return rows


def _with_column(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    position = rows.schema.get_field_index(name)
    return rows.set_column(position, rows.schema.field(position), column)
