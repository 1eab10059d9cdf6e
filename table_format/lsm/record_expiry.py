"""Drops rows that are too old when a compaction reads them (format chapter 07, section 8; Java ``RecordLevelExpire``).

As in Java, expired rows are dropped before versions of a key are compared, and no changelog names them. Readers return
them until a compaction has read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from table_format.formats.bucket_files import BucketFiles
from table_format.model.arrow_calls import fill_null, greater, if_else
from table_format.model.data_file import DataFileMeta
from table_format.model.types import AnyTimestampType, BigIntType, DataField, InternalValue, IntType
from table_format.options.record_expiry import time_field
from table_format.pruning.file_bounds import FileBounds

_FIRST_MILLISECONDS: Final = 10**12
"""The lowest BIGINT that is a time in milliseconds."""

_NANOS_OF_A_MILLISECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """Which rows of a bucket have expired: those whose ``field`` is a time before ``oldest_s``, in epoch seconds."""

    field: DataField
    oldest_s: int
    bounds: FileBounds

    @classmethod
    def of(cls, bucket: BucketFiles) -> RecordExpiry | None:
        """Return which rows have expired now; ``None`` if rows of the table do not expire.

        Raises:
            InvalidOption: the column of the time is missing, or has another type.
        """
        options = bucket.options.record_expiry
        if options.expire_time_ms is None:
            return None
        field = time_field(bucket.schema, options)
        oldest_s = bucket.store.runtime.clock.now_ms() // 1000 - options.expire_time_ms // 1000
        return cls(field, oldest_s, FileBounds(bucket.schema, bucket.schemas, [field.name]))

    def is_in(self, file: DataFileMeta) -> bool:
        """Return whether a row of a file has expired, as its statistics say; without them, none is taken to have."""
        bounds = self.bounds.of_values(file).get(self.field.name)
        lowest = None if bounds is None else bounds.minimum
        return lowest is not None and self._seconds_of(lowest) < self.oldest_s

    def kept(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that have not expired."""
        for batch in batches:
            left = self.unexpired(batch)
            if left.num_rows:
                yield left

    def unexpired(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that have not expired."""
        is_kept = fill_null(greater(self._seconds(batch.column(self.field.name)), self.oldest_s - 1), True)
        return batch if pc.all(is_kept).as_py() else batch.filter(is_kept)

    def _seconds(self, times: pa.Array) -> pa.Array:
        if isinstance(self.field.type, IntType):
            return times.cast(pa.int64())
        if isinstance(self.field.type, BigIntType):
            return if_else(greater(times, _FIRST_MILLISECONDS - 1), pc.divide(times, 1000), times)
        zone = times.type.tz
        return pc.divide(times.cast(pa.timestamp("ms", zone), safe=False).cast(pa.int64()), 1000)

    def _seconds_of(self, time: InternalValue) -> int:
        number = cast("int", time)
        if isinstance(self.field.type, AnyTimestampType):
            return number // _NANOS_OF_A_MILLISECOND // 1000
        in_milliseconds = isinstance(self.field.type, BigIntType) and number >= _FIRST_MILLISECONDS
        return number // 1000 if in_milliseconds else number
