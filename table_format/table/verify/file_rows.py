"""Checks the rows of one data file against its metadata, batch by batch and by column.

Statistics must enclose the values, keys ascend within the key range, numbers and kinds be the recorded ones, and each
row belong to its partition and bucket. A contradiction consists of a check, what was expected, and what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.counted import counted
from table_format.formats.measured_bounds import MeasuredBounds
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.hashing import row_hashes
from table_format.kernels.key_words import SortColumn, encode
from table_format.kernels.values import values_of
from table_format.lsm.keys import Key, key_ranges, sort_key
from table_format.lsm.runs import is_add
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import NESTED, AnyTimestampType, DataField
from table_format.pruning.file_bounds import FileBounds
from table_format.table.placement.routing import bucket_numbers, numbered_partitions

Contradiction: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RowExpectations:
    """The expected partition and bucket of rows. ``bucket_count`` is ``None`` if no hash determines the bucket.

    ``hashes`` are those of the keys in the hash index of the bucket; ``None`` if there is no index. With
    ``collects_hashes``, the hashes of the keys are kept.
    """

    bucket_id: BucketId
    bucket_count: int | None = None
    bucket_function: str = "default"
    hashes: npt.NDArray[np.int32] | None = None
    collects_hashes: bool = False


class FileRows:
    """Checks the rows of one file with the columns ``fields``, in order."""

    def __init__(self, file: DataFileMeta, schema: TableSchema, expected: RowExpectations) -> None:
        self._file = file
        self._schema = schema
        self._expected = expected
        system = (SEQUENCE_NUMBER, VALUE_KIND) if schema.is_primary_key_table else ()
        self.fields: tuple[DataField, ...] = (*schema.fields, *system)
        self._bounds = MeasuredBounds(schema.fields)
        self._counts: dict[str, int] = {"rows": 0, "deletes": 0, "elsewhere": 0, "partition": 0, "unindexed": 0}
        self._sequence: tuple[int, int] | None = None
        self._last: list[pa.Array] | None = None
        self._first_key: Key | None = None
        self._unsorted_at: int | None = None
        self.key_hashes: list[npt.NDArray[np.int32]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows of the file."""
        if not batch.num_rows:
            return
        self._bounds.add(batch.select(self._schema.field_names))
        self._add_partition(batch)
        self._add_bucket(batch)
        if self._schema.is_primary_key_table:
            self._add_system(batch)
            if self._is_sorted and self._keeps_keys:
                self._add_keys(batch)
        self._counts["rows"] += batch.num_rows

    def contradictions(self) -> Iterator[Contradiction]:
        """Return what the rows contradict, after all rows were added."""
        file, counts = self._file, self._counts
        if counts["rows"] != file.row_count:
            yield "row count", counted(file.row_count, "row"), counted(counts["rows"], "row")
        if counts["partition"]:
            yield "partition", "rows of the partition", f"{counted(counts['partition'], 'row')} of others"
        if counts["elsewhere"]:
            expected = f"keys whose hash is that of the bucket, of {self._expected.bucket_count}"
            yield "bucket of keys", expected, f"{counted(counts['elsewhere'], 'row')} of other buckets"
        if counts["unindexed"]:
            yield "hash index", "the hash of each key", f"{counted(counts['unindexed'], 'row')} without"
        is_counted = self._schema.is_primary_key_table and file.delete_row_count is not None
        if is_counted and counts["deletes"] != file.delete_row_count:
            found = counted(counts["deletes"], "delete")
            yield "delete row count", counted(file.delete_row_count or 0, "delete"), found
        if self._sequence is not None:
            low, high = self._sequence
            if low < file.min_sequence_number or high > file.max_sequence_number:
                expected = f"numbers from {file.min_sequence_number} to {file.max_sequence_number}"
                yield "sequence numbers", expected, f"{low} to {high}"
        if self._unsorted_at is not None:
            found = f"a key that does not ascend near row {self._unsorted_at}"
            yield "order", "rows with ascending keys, each once", found
        elif self._first_key is not None:
            yield from self._outside_key_range(self._first_key)
        yield from self._outside_statistics()

    @property
    def _is_sorted(self) -> bool:
        return self._expected.bucket_id.bucket >= 0

    @cached_property
    def _keeps_keys(self) -> bool:
        """Whether keys are read as they were written."""
        return self._keeps(self._schema.select((*self._schema.trimmed_primary_keys, *self._schema.bucket_keys)))

    def _keeps(self, columns: Sequence[DataField]) -> bool:
        """Return whether these columns are read as they were written: ORC files change timestamps before 1970."""
        has_timestamps = any(isinstance(f.type, AnyTimestampType) for f in columns)
        return not (self._file.file_name.endswith(".orc") and has_timestamps)

    @cached_property
    def _keys(self) -> tuple[DataField, ...]:
        return self._schema.select(self._schema.trimmed_primary_keys)

    def _add_partition(self, batch: pa.RecordBatch) -> None:
        if not (self._schema.partition_keys and self._keeps(self._schema.partition_fields)):
            return
        numbers, partitions = numbered_partitions(batch, self._schema)
        wrong = [number for number, found in enumerate(partitions) if found != self._expected.bucket_id.partition]
        if wrong:
            self._counts["partition"] += int(np.isin(numbers, wrong).sum())

    def _add_bucket(self, batch: pa.RecordBatch) -> None:
        expected = self._expected
        if not self._keeps_keys:
            return
        if expected.bucket_count is not None:
            keys = self._schema.select(self._schema.bucket_keys)
            columns = [batch.column(field.name) for field in keys]
            buckets = bucket_numbers(keys, columns, expected.bucket_count, expected.bucket_function)
            self._counts["elsewhere"] += int((buckets != expected.bucket_id.bucket).sum())
        if expected.hashes is None and not expected.collects_hashes:
            return
        types = [field.type for field in self._keys]
        hashes = row_hashes(types, [batch.column(field.name) for field in self._keys])
        if expected.hashes is not None:
            self._counts["unindexed"] += int((~np.isin(hashes, expected.hashes)).sum())
        if expected.collects_hashes:
            self.key_hashes.append(np.unique(hashes))

    def _add_system(self, batch: pa.RecordBatch) -> None:
        numbers = pc.min_max(batch.column(SEQUENCE_NUMBER.name))
        low, high = numbers["min"].as_py(), numbers["max"].as_py()
        before = self._sequence or (low, high)
        self._sequence = min(before[0], low), max(before[1], high)
        self._counts["deletes"] += batch.num_rows - is_add(batch.column(VALUE_KIND.name)).true_count

    def _add_keys(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(field.name) for field in self._keys]
        if self._first_key is None:
            self._first_key = self._key_at(columns, 0)
        joined: list[tuple[pa.Array, ...]] = [(column,) for column in columns]
        if self._last is not None:
            joined = [(last, column) for last, column in zip(self._last, columns, strict=True)]
        if self._unsorted_at is None:
            wrong = _first_not_ascending([SortColumn(pieces) for pieces in joined])
            if wrong is not None:
                self._unsorted_at = self._counts["rows"] + wrong
        self._last = [column.slice(len(column) - 1) for column in columns]

    def _key_at(self, columns: list[pa.Array], row: int) -> Key:
        return sort_key([values_of(c.slice(row, 1), f.type)[0] for c, f in zip(columns, self._keys, strict=True)])

    def _outside_key_range(self, first: Key) -> Iterator[Contradiction]:
        recorded = key_ranges(self._schema)(self._file)
        found = first, self._key_at(self._last or [], 0)
        # The bounds that other engines write may be wider than the remaining keys.
        if found[0] < recorded[0] or found[1] > recorded[1]:
            expected = f"keys from {_shown(recorded[0])} to {_shown(recorded[1])}"
            yield "key range", expected, f"{_shown(found[0])} to {_shown(found[1])}"

    def _outside_statistics(self) -> Iterator[Contradiction]:
        measured = dict(zip(self._schema.field_names, self._bounds.result(), strict=True))
        plain = [field.name for field in self._schema.fields if not isinstance(field.type, NESTED)]
        bounds = FileBounds(self._schema, {self._schema.id: self._schema}, plain)
        recorded: Mapping[str, ColumnBounds] = bounds.of_values(self._file)
        for name, stored in recorded.items():
            yield from _outside(name, stored, measured[name])


def _outside(name: str, stored: ColumnBounds, measured: ColumnBounds) -> Iterator[Contradiction]:
    check = f"statistics of column '{name}'"
    expected, found = stored.null_count, measured.null_count
    if expected is not None and found is not None and found != expected:
        yield check, counted(expected, "null"), counted(found, "null")
    low: Any = measured.minimum
    high: Any = measured.maximum
    if low is not None and stored.minimum is not None and low < stored.minimum:
        yield check, f"values from {stored.minimum!r} on", f"{low!r}"
    if high is not None and stored.maximum is not None and high > stored.maximum:
        yield check, f"values up to {stored.maximum!r}", f"{high!r}"


def _first_not_ascending(columns: list[SortColumn]) -> int | None:
    """Return the first row that is not greater than the previous one, by all columns."""
    count = sum(len(piece) for piece in columns[0].pieces)
    if count < 2:
        return None
    ascends = np.zeros(count - 1, np.bool_)
    equal = np.ones(count - 1, np.bool_)
    for words in encode(columns):
        ascends |= equal & (words[:-1] < words[1:])
        equal &= words[:-1] == words[1:]
    wrong = np.flatnonzero(~ascends)
    return int(wrong[0]) + 1 if len(wrong) else None


def _shown(key: Key) -> str:
    return f"({', '.join('null' if rank == 0 else repr(value) for rank, value in key)})"
