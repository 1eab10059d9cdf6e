"""Bucket hashes of whole columns (format chapter 05, sections 4 and 5; Java ``BinaryRow.hashCode``, ``MurmurHashUtils``).

The hash is Murmur3 over the bytes of the row a bucket key would make. The rows are never made: the 4-byte words of all
rows of a cache-sized block are mixed at once, column by column, in the order in which they would stand in the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.row_words import (
    BytesColumn,
    FixedColumn,
    RowColumn,
    UInt32Array,
    VariableColumn,
    row_column,
)
from table_format.model.types import DataType

Words: TypeAlias = UInt32Array | int
"""One word of every row of a block; an ``int`` when all rows have the same."""

_BLOCK_ROWS: Final = 8192
_SEED: Final = 42
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_ADD: Final = 0xE6546B64
_MASK: Final = 0xFFFFFFFF
