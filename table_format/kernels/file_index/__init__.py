"""Indexes over single columns of a data file: from columns to bytes, and from bytes to rows that meet a condition.

Format chapter 09; Java ``org.apache.paimon.fileindex``. A type of index is a value of ``IndexType``; those that this
version knows are in ``INDEX_TYPES``. What lies around them in a file is ``codecs.file_index``.
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
"""By the name they have in options and in files. An index of another type is left alone and excludes nothing."""
