"""Key lookup: finds the rows of older runs that have the keys of a batch, and their positions.

The reference (Java ``LookupLevels``) copies each file to a local hash file. Here, keys arrive in order, batch by batch,
so each older run is read once in parallel with them. Files whose key range or indexes exclude all keys are not opened,
row groups that cannot contain a key are not read, and memory is one batch for each run. If few keys are looked up in a
large file, its key columns are read first, and the other columns only for the matching rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.formats.data_file_reader import POSITION
from table_format.indexes.deletion_vectors import DeletionVectorSource
from table_format.kernels.compiled import Int64Array
from table_format.kernels.key_bounds import key_array, sorted_keys
from table_format.kernels.key_words import integers
from table_format.kernels.merge import LEVEL, MergeSpec, RunCursor, grouped
from table_format.kernels.merge_order import RowIds
from table_format.lsm.key_filter import KeyFilter, KeysInFile
from table_format.lsm.key_span import KeySpan
from table_format.lsm.keys import KeyRange, KeyRangeOf
from table_format.lsm.levels import SortedRun
from table_format.model.arrow_calls import concat_batches
from table_format.model.data_file import DataFileMeta
from table_format.model.types import DataField

_MIN_ROWS_FOR_KEYS_FIRST: Final = 20_000
_MIN_ROWS_OF_A_KEY: Final = 64
"""Key columns are read first in files with at least this many rows, and at least this many rows for each key."""

_POSITIONS_AT_ONCE: Final = 1 << 20
"""The maximum number of rows of a file that are read by position; a position takes 8 bytes."""

_FILE: Final = "_FILE"


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Rows in key order, with ``_LEVEL``, and the file and the position of each."""

    rows: pa.RecordBatch
    files: tuple[DataFileMeta, ...]
    file_numbers: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]

    def by_file(self) -> Iterator[tuple[DataFileMeta, npt.NDArray[np.int64]]]:
        """Yield each file with the positions that were found in it."""
        for number in np.unique(self.file_numbers):
            yield self.files[number], self.positions[self.file_numbers == number]


class Lookup:
    """Looks up keys in older runs. The keys must be unique and in order, within a batch and from batch to batch."""

    def __init__(
        self,
        bucket: BucketFiles,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        *,
        key_files: Sequence[DataFileMeta],
        key_range: KeyRangeOf,
        deletions: DeletionVectorSource | None = None,
    ) -> None:
        """``key_files`` are the files whose keys may be looked up; ``fields`` are the columns of the returned rows."""
        self._bucket = bucket
        self._key_columns = bucket.schema.trimmed_primary_keys
        self._deletions = deletions
        self._key_files = key_files
        self._key_range = key_range
        self._fields = fields
        self._files: list[DataFileMeta] = []
        spans = [key_range(file) for file in key_files]
        self._older = [files for run in runs if (files := _overlapping_files(run.files, spans, key_range))]
        self._span = KeySpan.of(bucket.schema.field(self._key_columns[0]), key_files, key_range)
        self._cursors: list[RunCursor] = []
        self._by_key = MergeSpec(self._key_columns, by_sequence_number=False)

    def find(self, keys: pa.RecordBatch) -> LookupResult | None:
        """Return the newest older row of each of these keys that has one; ``None`` if there is no such row.

        Raises:
            CorruptionError: a file is missing or damaged.
        """
        if keys.num_rows == 0:
            return None
        bound = sorted_keys(keys, self._key_columns).key(keys.num_rows - 1)
        missing = keys.select(list(self._key_columns))
        pieces: list[pa.RecordBatch] = []
        for at in range(len(self._older)):
            if not missing.num_rows:
                break
            cursor, found = self._cursor(at), []
            # Later keys are higher, so the rows that are not read now are skipped later.
            while missing.num_rows and not cursor.is_exhausted and (part := cursor.take_up_to(bound)) is not None:
                rows, left = self._matching(part, missing)
                found.extend(rows)
                missing = missing if left is None else missing.filter(pa.array(left))
            pieces.extend(found)
        return self._in_order(pieces) if pieces else None

    def _cursor(self, at: int) -> RunCursor:
        """Return the position in an older run. A run is not read before a key is looked for in it."""
        if at == len(self._cursors):
            overlapping = [file for files in self._older for file in files]
            rows = batch_rows_of(overlapping, self._fields, side_by_side=len(self._older))
            self._cursors.append(RunCursor(self._walk(self._older[at], self._fields, rows), self._key_columns))
        return self._cursors[at]

    @cached_property
    def _key_filter(self) -> KeyFilter | None:
        overlapping = [file for files in self._older for file in files]
        return KeyFilter.of(self._bucket, self._key_files, overlapping, self._key_range)

    def _matching(
        self, part: pa.RecordBatch, keys: pa.RecordBatch
    ) -> tuple[list[pa.RecordBatch], npt.NDArray[np.bool_] | None]:
        """Return the rows with one of the keys, and the keys that are not yet found, if they have changed."""
        rows, answered = self._pairs(part, keys)
        if rows.size == 0:
            return [], None
        left = np.ones(keys.num_rows, np.bool_)
        left[answered] = False
        return [part.take(rows)], left

    def _pairs(self, part: pa.RecordBatch, keys: pa.RecordBatch) -> tuple[RowIds, RowIds]:
        """Return the rows with one of the keys, and the number of the key of each."""
        ours, theirs = (self._integers(batch) for batch in (part, keys))
        if ours is not None and theirs is not None:
            at = np.searchsorted(ours, theirs)
            answered = np.flatnonzero(ours[np.minimum(at, ours.size - 1)] == theirs)
            return at[answered], answered
        order, starts = grouped([part, keys], self._by_key)
        matched = starts[np.diff(np.append(starts, order.size)) == 2]
        return order[matched], order[matched + 1] - part.num_rows

    def _integers(self, batch: pa.RecordBatch) -> Int64Array | None:
        """Return the key column if the key is a single 64-bit number, else ``None``."""
        return integers(key_array(batch, self._key_columns[0])) if len(self._key_columns) == 1 else None

    def _in_order(self, pieces: Sequence[pa.RecordBatch]) -> LookupResult:
        rows = concat_batches(pieces)
        if len(pieces) > 1:
            rows = rows.take(grouped(pieces, self._by_key)[0])
        plain = rows.select([name for name in rows.schema.names if name not in (_FILE, POSITION)])
        numbers, positions = (rows.column(rows.schema.get_field_index(name)).to_numpy() for name in (_FILE, POSITION))
        return LookupResult(plain, tuple(self._files), numbers, positions)

    def _walk(
        self, files: Sequence[DataFileMeta], fields: Sequence[DataField], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        for file in files:
            keys = None if self._key_filter is None else self._key_filter.may_be_in(file)
            if keys is not None and keys.keys.num_rows == 0:
                continue
            number = len(self._files)
            self._files.append(file)
            for batch in self._rows(file, fields, keys, batch_rows):
                marked = batch.append_column(LEVEL, pa.array(np.full(batch.num_rows, file.level, np.int32)))
                yield marked.append_column(_FILE, pa.array(np.full(batch.num_rows, number, np.int32)))

    def _rows(
        self, file: DataFileMeta, fields: Sequence[DataField], keys: KeysInFile | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file in order, with their positions; rows without one of the keys may be left out."""
        bucket = self._bucket
        read = partial(
            bucket.reader().read,
            bucket.partition,
            bucket.bucket,
            file,
            deleted=None if self._deletions is None else self._deletions.of(file),
            batch_rows=batch_rows,
            with_positions=True,
        )
        if keys is None:
            yield from self._rows_in_span(file, fields, read)
        elif file.row_count < max(_MIN_ROWS_FOR_KEYS_FIRST, _MIN_ROWS_OF_A_KEY * keys.keys.num_rows):
            yield from read(fields, predicate=keys.predicate)
        else:
            matched = [
                found
                for batch in read(keys.fields, predicate=keys.predicate)
                if (found := _matching_rows(keys, batch)).num_rows
            ]
            if {f.name for f in fields} == set(self._key_columns):
                yield from matched
            elif matched:
                # Read all columns at once, because pages without a selected row are not decoded.
                met = np.concatenate([found.column(POSITION).to_numpy() for found in matched])
                yield from read(fields, selected=BitMap(met))

    def _rows_in_span(
        self, file: DataFileMeta, fields: Sequence[DataField], read: Callable[..., Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows between the first and the last key of the lookup, and perhaps some more."""
        span = self._span
        condition = None if span is None else span.condition(file)
        if span is None or condition is None:
            yield from read(fields)
        elif file.row_count < _MIN_ROWS_FOR_KEYS_FIRST or len(fields) < 2 or not span.is_narrow_in(file):
            yield from read(fields, predicate=condition)
        else:
            inside = range(0)
            for batch in read((span.field,), predicate=condition):
                found = batch.filter(span.contains(batch)).column(POSITION).to_numpy()
                if found.size:
                    inside = range(inside.start if inside else int(found[0]), int(found[-1]) + 1)
            for start in range(inside.start, inside.stop, _POSITIONS_AT_ONCE):
                part = range(start, min(start + _POSITIONS_AT_ONCE, inside.stop))
                yield from read(fields, selected=BitMap(part))


def _overlapping_files(
    files: Sequence[DataFileMeta], spans: Sequence[KeyRange], key_range: KeyRangeOf
) -> tuple[DataFileMeta, ...]:
    overlaps: Callable[[KeyRange, KeyRange], bool] = lambda a, b: a[0] <= b[1] and b[0] <= a[1]  # noqa: E731
    return tuple(file for file in files if any(overlaps(key_range(file), span) for span in spans))


def _matching_rows(keys: KeysInFile, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(keys.matches_of(batch))
