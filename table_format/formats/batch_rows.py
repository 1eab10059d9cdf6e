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
"""Decoded bytes of a batch of more than one row: what a file stores does not tell how wide its rows become."""

UNMEASURED_BYTES: Final = 2 * MAX_BATCH_BYTES
"""What rows may take that are decoded before it is known how wide they are."""

_FIRST_ROWS: Final = 128
_GROWTH: Final = 16
"""Rows to begin with at least, and how many times as many the next batch may have."""

_TOTAL_BYTES: Final = 256 * MIB
"""Decoded batches of all files read side by side, ..."""

_MAX_FILE_BYTES: Final = 24 * MIB
"""... of one of them at most, ..."""

_MIN_FILE_BYTES: Final = 1 * MIB
"""... and at least, however many there are."""

_EXPANSION: Final = 5
"""Bytes in memory for each stored byte, as a guess."""

_OF_ANY_WIDTH: Final = (CharType, VarCharType, BinaryType, VarBinaryType, *NESTED)


def batch_rows_of(files: Sequence[DataFileMeta], fields: Sequence[DataField], *, side_by_side: int = 1) -> int:
    """Rows of a batch of those columns of the files, of which so many are read at the same time."""
    row_bytes = 8 * len(fields) + 1
    if any(map(is_of_any_width, fields)):
        row_bytes += _EXPANSION * max((file.file_size // max(file.row_count, 1) for file in files), default=0)
    budget = max(_MIN_FILE_BYTES, min(_MAX_FILE_BYTES, _TOTAL_BYTES // side_by_side))
    return max(1, min(MAX_BATCH_ROWS, budget // row_bytes))


def is_of_any_width(field: DataField) -> bool:
    """Whether one value of the column may take as much memory as it likes."""
    return isinstance(field.type, _OF_ANY_WIDTH)


def sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of ``MAX_BATCH_BYTES`` at most, or of one row; nothing is copied."""
    if batch.num_rows <= 1 or batch.nbytes <= MAX_BATCH_BYTES:
        yield batch
        return
    half = batch.num_rows // 2
    yield from sliced(batch.slice(0, half))
    yield from sliced(batch.slice(half))


class MeasuredRows:
    """The number of rows to decode next, at most ``most``, estimated from the width of earlier rows.

    A column that repeats one long text stores next to nothing, so the first rows are decoded to see: so many that they
    take ``UNMEASURED_BYTES`` if each has ``widest_bytes``, which no row exceeds.
    """

    def __init__(self, most: int, *, widest_bytes: int) -> None:
        self._most = most
        self.rows = min(most, max(_FIRST_ROWS, UNMEASURED_BYTES // max(1, widest_bytes)))

    def add(self, batch: pa.RecordBatch) -> None:
        """Learn from a decoded batch."""
        row_bytes = max(1, batch.nbytes // max(1, batch.num_rows))
        self.rows = max(1, min(self._most, self.rows * _GROWTH, MAX_BATCH_BYTES // row_bytes))
