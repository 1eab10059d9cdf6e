"""Chooses how many rows to decode at once, so that memory depends neither on the number of files nor on the row
width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from table_format.limits import MIB
from table_format.model.data_file import DataFileMeta
from table_format.model.types import NESTED, BinaryType, CharType, DataField, VarBinaryType, VarCharType

MAX_BATCH_ROWS: Final = 65_536

MAX_BATCH_BYTES: Final = 32 * MIB
"""The maximum decoded size of a batch of several rows. The stored size does not show how wide the rows become."""

UNMEASURED_BYTES: Final = 2 * MAX_BATCH_BYTES
"""The maximum size of the rows that are decoded before their width is known."""

_FIRST_ROWS: Final = 128
_GROWTH: Final = 16
"""The minimum number of rows in the first batch, and the maximum growth factor from one batch to the next."""

_TOTAL_BYTES: Final = 256 * MIB
"""The decoded size of the batches of all files that are read at the same time, in bytes."""

_MAX_FILE_BYTES: Final = 24 * MIB
"""The maximum decoded size of a batch of one of these files, in bytes."""

_MIN_FILE_BYTES: Final = 1 * MIB
"""The minimum decoded size of a batch of one of these files, in bytes, however many files there are."""

_EXPANSION: Final = 5
"""An estimate of the bytes in memory for each stored byte."""

_OF_ANY_WIDTH: Final = (CharType, VarCharType, BinaryType, VarBinaryType, *NESTED)


def batch_rows_of(files: Sequence[DataFileMeta], fields: Sequence[DataField], *, side_by_side: int = 1) -> int:
    """Return the rows per batch for these columns of the files, of which ``side_by_side`` are read at the same time."""
    row_bytes = 8 * len(fields) + 1
    if any(map(is_of_any_width, fields)):
        row_bytes += _EXPANSION * max((file.file_size // max(file.row_count, 1) for file in files), default=0)
    budget = max(_MIN_FILE_BYTES, min(_MAX_FILE_BYTES, _TOTAL_BYTES // side_by_side))
    return max(1, min(MAX_BATCH_ROWS, budget // row_bytes))


def is_of_any_width(field: DataField) -> bool:
    """Return whether the size of one value of the column is unlimited."""
    return isinstance(field.type, _OF_ANY_WIDTH)


def sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the batch in slices of at most ``MAX_BATCH_BYTES``, or of one row, without copying."""
    if batch.num_rows <= 1 or batch.nbytes <= MAX_BATCH_BYTES:
        yield batch
        return
    half = batch.num_rows // 2
    yield from sliced(batch.slice(0, half))
    yield from sliced(batch.slice(half))


class MeasuredRows:
    """The number of rows to decode next, at most ``most``, estimated from the width of earlier rows.

    A column that repeats one long text takes almost no space in the file. The first rows are therefore decoded to
    measure them. Their number is chosen so that they take at most ``UNMEASURED_BYTES`` if each takes ``widest_bytes``,
    the upper bound for a row.
    """

    def __init__(self, most: int, *, widest_bytes: int) -> None:
        self._most = most
        self.rows = min(most, max(_FIRST_ROWS, UNMEASURED_BYTES // max(1, widest_bytes)))

    def add(self, batch: pa.RecordBatch) -> None:
        """Update the estimate with a decoded batch."""
        row_bytes = max(1, batch.nbytes // max(1, batch.num_rows))
        self.rows = max(1, min(self._most, self.rows * _GROWTH, MAX_BATCH_BYTES // row_bytes))
