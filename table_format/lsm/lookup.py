"""Key lookup: the rows of older runs that have the keys of a batch, and where they lie (Java ``LookupLevels``).

The reference copies each file it looks into to a local hash file. Here keys come in order, batch after batch, so each
older run is walked alongside once: files outside the range of the keys are not opened, row groups that cannot hold one
of them are not read, and memory is a batch for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.formats.data_file_reader import POSITION
from table_format.indexes.deletion_vectors import Deletions
from table_format.kernels.key_bounds import sorted_keys
from table_format.kernels.merge import LEVEL, MergeSpec, RunCursor, grouped
from table_format.kernels.values import values_of
from table_format.lsm.keys import KeyRange, KeyRangeOf
from table_format.lsm.levels import SortedRun
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import In, Predicate
from table_format.model.types import DataField, DoubleType, FloatType

MAX_LISTED_KEYS: Final = 1000
"""Row groups are chosen by the keys themselves when there are no more of them than this."""

_FILE: Final = "_FILE"


@dataclass(frozen=True, slots=True)
class Found:
    """Rows in key order, with ``_LEVEL``, and for each the file it lies in and its position there."""

    rows: pa.RecordBatch
    files: tuple[DataFileMeta, ...]
    file_numbers: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]

    def by_file(self) -> Iterator[tuple[DataFileMeta, npt.NDArray[np.int64]]]:
        """The positions that were found in each file."""
        for number in np.unique(self.file_numbers):
            yield self.files[number], self.positions[self.file_numbers == number]


class Lookup:
    """Looks keys up in older runs; the keys of each batch must be unique, in order, and after those of the last."""

    def __init__(
        self,
        bucket: BucketFiles,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        *,
        among: Sequence[DataFileMeta],
        key_range: KeyRangeOf,
        deletions: Deletions | None = None,
    ) -> None:
        """``among`` are the files whose keys may be asked for; ``fields`` is what is wanted of a row found."""
        self._bucket = bucket
        self._key_columns = bucket.schema.trimmed_primary_keys
        self._deletions = deletions
        self._files: list[DataFileMeta] = []
        spans = [key_range(file) for file in among]
        predicate: Predicate | None = None
        chosen = [(run, files) for run in runs if (files := _touched(run.files, spans, key_range))]
        if chosen:
            predicate = _keys_as_predicate(bucket, among)
        rows = batch_rows_of([f for _, files in chosen for f in files], fields, side_by_side=max(len(chosen), 1))
        self._cursors = [
            RunCursor(self._walk(files, fields, predicate, rows), self._key_columns) for _, files in chosen
        ]
        self._by_key = MergeSpec(self._key_columns, by_sequence_number=False)

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing left to be found."""
        return all(cursor.is_exhausted for cursor in self._cursors)

    def find(self, keys: pa.RecordBatch) -> Found | None:
        """The newest of the older rows of each of these keys; ``None`` when there is none at all.

        Raises:
            CorruptionError: a file is missing or damaged.
        """
        if keys.num_rows == 0 or self.is_exhausted:
            return None
        bound = sorted_keys(keys, self._key_columns).key(keys.num_rows - 1)
        missing = keys.select(list(self._key_columns))
        pieces: list[pa.RecordBatch] = []
        for cursor in self._cursors:
            found = []
            while not cursor.is_exhausted and (part := cursor.take_up_to(bound)) is not None:
                rows, left = self._matching(part, missing)
                found.extend(rows)
                missing = missing if left is None else missing.filter(pa.array(left))
            pieces.extend(found)
        return self._in_order(pieces) if pieces else None

    def _matching(
        self, part: pa.RecordBatch, keys: pa.RecordBatch
    ) -> tuple[list[pa.RecordBatch], npt.NDArray[np.bool_] | None]:
        """The rows with one of the keys, and which keys are still to be found, if that has changed."""
        if keys.num_rows == 0:
            return [], None
        order, starts = grouped([part, keys], self._by_key)
        met = starts[np.diff(np.append(starts, order.size)) == 2]
        if met.size == 0:
            return [], None
        left = np.ones(keys.num_rows, np.bool_)
        left[order[met + 1] - part.num_rows] = False
        return [part.take(pa.array(order[met]))], left

    def _in_order(self, pieces: Sequence[pa.RecordBatch]) -> Found:
        rows = pa.concat_batches(pieces)
        if len(pieces) > 1:
            rows = rows.take(pa.array(grouped(pieces, self._by_key)[0]))
        plain = rows.select([name for name in rows.schema.names if name not in (_FILE, POSITION)])
        numbers, positions = (rows.column(rows.schema.get_field_index(name)).to_numpy() for name in (_FILE, POSITION))
        return Found(plain, tuple(self._files), numbers, positions)

    def _walk(
        self, files: Sequence[DataFileMeta], fields: Sequence[DataField], predicate: Predicate | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        reader, bucket = self._bucket.reader(), self._bucket
        for file in files:
            number = len(self._files)
            self._files.append(file)
            batches = reader.read(
                bucket.partition,
                bucket.bucket,
                file,
                fields,
                predicate=predicate,
                deleted=None if self._deletions is None else self._deletions.of(file),
                batch_rows=batch_rows,
                with_positions=True,
            )
            for batch in batches:
                marked = batch.append_column(LEVEL, pa.array(np.full(batch.num_rows, file.level, np.int8)))
                yield marked.append_column(_FILE, pa.array(np.full(batch.num_rows, number, np.int32)))


def _touched(
    files: Sequence[DataFileMeta], spans: Sequence[KeyRange], key_range: KeyRangeOf
) -> tuple[DataFileMeta, ...]:
    overlaps: Callable[[KeyRange, KeyRange], bool] = lambda a, b: a[0] <= b[1] and b[0] <= a[1]  # noqa: E731
    return tuple(file for file in files if any(overlaps(key_range(file), span) for span in spans))


def _keys_as_predicate(bucket: BucketFiles, among: Sequence[DataFileMeta]) -> Predicate | None:
    """A condition on the first key column that all keys meet; ``None`` when there are too many for it to help."""
    field = bucket.schema.select(bucket.schema.trimmed_primary_keys[:1])[0]
    if isinstance(field.type, FloatType | DoubleType) or sum(file.row_count for file in among) > MAX_LISTED_KEYS:
        return None
    reader = bucket.reader()
    values = {
        value
        for file in among
        for batch in reader.read(bucket.partition, bucket.bucket, file, (field,))
        for value in values_of(batch.column(0), field.type)
    }
    return In(field.name, tuple(values))
