"""Indexes over single columns of a data file: from columns to bytes, and from bytes to rows that meet a condition.

Format chapter 09; Java ``org.apache.paimon.fileindex``. A type of index is a value of ``IndexType``; those that this
version knows are in ``INDEX_TYPES``. What lies around them in a file is ``codecs.file_index``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.kernels.file_index.bloom_filter import BloomFilters
from table_format.kernels.file_index.protocol import IndexType

INDEX_TYPES: Final[Mapping[str, IndexType]] = {
    index_type.declaration.identifier: index_type for index_type in (BloomFilters(),)
}
"""By the name they have in options and in files. An index of another type is left alone and excludes nothing."""
