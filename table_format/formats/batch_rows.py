"""How many rows to decode at once, so that memory depends neither on the number of files nor on the width of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.limits import MIB
from table_format.model.data_file import DataFileMeta
from table_format.model.types import NESTED, BinaryType, CharType, DataField, VarBinaryType, VarCharType

MAX_BATCH_ROWS: Final = 65_536

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
    if any(isinstance(f.type, _OF_ANY_WIDTH) for f in fields):
        row_bytes += _EXPANSION * max((file.file_size // max(file.row_count, 1) for file in files), default=0)
    budget = max(_MIN_FILE_BYTES, min(_MAX_FILE_BYTES, _TOTAL_BYTES // side_by_side))
    return max(1, min(MAX_BATCH_ROWS, budget // row_bytes))
