"""Indexes on single columns of a data file: built from columns, and evaluated to the rows that match a condition.

Format chapter 09; Java ``org.apache.paimon.fileindex``. An index type is a value of ``IndexType``; ``INDEX_TYPES``
contains the types of this version. ``codecs.file_index`` reads and writes the container of the indexes of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.kernels.file_index.bitmap import BitmapIndexes
from table_format.kernels.file_index.bloom_filter import BloomFilters
from table_format.kernels.file_index.bsi import BitSliceIndexes
from table_format.kernels.file_index.protocol import IndexType
from table_format.kernels.file_index.range_bitmap import RangeBitmaps

_TYPES: Final[tuple[IndexType, ...]] = (BloomFilters(), BitmapIndexes(), BitSliceIndexes(), RangeBitmaps())

INDEX_TYPES: Final[Mapping[str, IndexType]] = {each.declaration.identifier: each for each in _TYPES}
"""The index types by their names in options and files. Indexes of unknown types are ignored."""
