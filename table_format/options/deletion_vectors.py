"""Merge on write: rows marked as deleted by position (format chapter 08, section 2; chapter 07, section 7)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import Option
from table_format.options.values import boolean, size

ENABLED = Option(
    "deletion-vectors.enabled",
    boolean,
    False,
    "Mark deleted rows by position, so that readers do not have to merge.",
)
MODIFIABLE = Option(
    "deletion-vectors.modifiable",
    boolean,
    False,
    "Allow changes of 'deletion-vectors.enabled' at any time. With 'false', it can change only while no rows must be "
    "merged on read and none are marked as deleted, as after a full compaction.",
)
BITMAP64 = Option("deletion-vectors.bitmap64", boolean, False, "Write 64-bit deletion vectors.")
MERGE_ON_READ = Option(
    "deletion-vectors.merge-on-read",
    boolean,
    False,
    "Readers of a primary-key table with deletion vectors also merge level 0. With 'false', rows become visible when "
    "they are compacted. Apache Paimon before 2.0 ignores it, and shows fewer rows.",
)
INDEX_FILE_TARGET_SIZE = Option(
    "deletion-vector.index-file.target-size",
    size(1),
    2 * MIB,
    "Size at which a new file with deletion vectors is started, in tables without buckets. A bucket always has one "
    "such file.",
)


@dataclass(frozen=True, slots=True)
class DeletionVectorOptions:
    """Whether deleted rows are marked in deletion vectors, and how these are stored."""

    enabled: bool = ENABLED.field()
    merge_on_read: bool = MERGE_ON_READ.field()
    bitmap64: bool = BITMAP64.field()
    modifiable: bool = MODIFIABLE.field()
    index_file_target_size: int = INDEX_FILE_TARGET_SIZE.field()
