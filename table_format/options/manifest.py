"""How manifests are written and merged (format chapter 04, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import WRITES, AnyOption, Option, unsupported
from table_format.options.values import boolean, choice, integer, size, word

FORMAT = Option(
    "manifest.format",
    choice("avro", "parquet", "orc"),
    "avro",
    "File format of manifests. It cannot change once the table has a snapshot: Paimon reads all of them in one format.",
)
COMPRESSION = Option(
    "manifest.compression",
    word(zstandard="zstd", uncompressed="none", null="none"),
    "zstd",
    "Codec of the manifests. `deflate` is only for Avro.",
    honoured=("zstd", "snappy", "deflate", "none"),
    blocks=WRITES,
)
COLUMNAR_CODECS = ("zstd", "snappy", "none")
"""The codecs of manifests in Parquet and ORC."""
TARGET_FILE_SIZE = Option("manifest.target-file-size", size(1), 8 * MIB, "Size at which a manifest file is closed.")
MERGE_MIN_COUNT = Option(
    "manifest.merge-min-count", integer(1), 30, "Number of small manifests at which they are merged."
)
FULL_COMPACTION_THRESHOLD = Option(
    "manifest.full-compaction-threshold-size",
    size(1),
    16 * MIB,
    "Total size of changed manifests at which all manifests are rewritten without deleted entries.",
)


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """How manifests are written and merged; sizes are bytes."""

    format: str = FORMAT.field()
    compression: str = COMPRESSION.field()
    target_file_size: int = TARGET_FILE_SIZE.field()
    merge_min_count: int = MERGE_MIN_COUNT.field()
    full_compaction_threshold: int = FULL_COMPACTION_THRESHOLD.field()


REFUSED: tuple[AnyOption, ...] = (
    unsupported("manifest.delete-file-drop-stats", boolean, False, "Drop statistics of deleted files."),
    unsupported("manifest-sort.enabled", boolean, False, "Sort manifest entries by partition."),
)
