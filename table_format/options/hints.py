"""Options that are stored and tune only the Java engine. They do not change what a table holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from table_format.options.declare import Option, hint
from table_format.options.values import (
    MAX_LONG,
    boolean,
    choice,
    duration,
    integer,
    optional,
    probability,
    ratio,
    share,
    size,
    text,
)

_JAVA = "Tunes only the Java engine."
_BATCH = 1 << 20
"""Java takes the memory of a whole batch at once."""
_LOOKUP = "Caches of lookup joins in the Java engine."

SORT_ENGINE = hint(
    "sort-engine",
    choice("loser-tree", "min-heap"),
    "loser-tree",
    "How the Java engine merges sorted runs. The result is the same.",
)
LOCAL_MERGE_BUFFER = hint(
    "local-merge-buffer-size", optional(size()), None, "Buffer for merging in the Java engine before a shuffle."
)
READ_BATCH_SIZE = hint("read.batch-size", integer(1, _BATCH), 1024, "Rows per batch in the Java readers.")
WRITE_BUFFER_FOR_APPEND = hint("write-buffer-for-append", boolean, False, _JAVA)
_SPILLED = ("zstd", "lz4", "lzo")
SPILL_COMPRESSION: Option[str] = Option(
    "spill-compression",
    choice(*_SPILLED, "none"),
    "zstd",
    "Tunes only the Java engine, which fails with 'none' when it spills.",
    hint=True,
    honoured=_SPILLED,
)
SPILL_ZSTD_LEVEL = hint("spill-compression.zstd-level", integer(1, 22), 1, _JAVA)
PARTITION_EXPIRATION_CHECK_INTERVAL = hint(
    "partition.expiration-check-interval",
    duration,
    3_600_000,
    "How often a job of the Java engine expires partitions.",
)
PARTITION_REPORT_DELAY = hint(
    "partition.idle-time-to-report-statistic", duration, 0, "Reports of Flink jobs to a metastore."
)
LOOKUP_BLOOM_FILTER = hint("lookup.cache.bloom.filter.enabled", boolean, True, _LOOKUP)
LOOKUP_BLOOM_FILTER_FPP = hint(
    "lookup.cache.bloom.filter.fpp",
    replace(probability, edges=("1e-9", "0.6")),
    0.05,
    f"{_LOOKUP} At most 0.6.",
)
SORT_FILE_HANDLES = hint(
    "local-sort.max-num-file-handles", replace(integer(1), edges=("2", "3")), 128, f"{_JAVA} At least 2."
)
PAGE_SIZE = hint(
    "page-size",
    replace(size(1), edges=("64 b", "1 kb", "1 gb")),
    64 << 10,
    "Size of a page of memory in the Java engine, a power of two from 64 b to 1 gb. 'write-buffer-size' must have at "
    "least three pages.",
)

HINTS: tuple[Option[Any], ...] = (
    SORT_ENGINE,
    READ_BATCH_SIZE,
    hint("write.batch-size", integer(1, _BATCH), 1024, "Rows per batch in the Java writers."),
    hint("write.batch-memory", size(), 128 << 20, _JAVA),
    hint("async-file-write", boolean, True, "Whether the Java engine writes files in another thread."),
    hint("file-reader-async-threshold", size(), 10 << 20, _JAVA),
    hint("sort-spill-threshold", optional(integer(2)), None, _JAVA),
    hint("sort-spill-buffer-size", size(), 64 << 20, _JAVA),
    SPILL_COMPRESSION,
    SPILL_ZSTD_LEVEL,
    SORT_FILE_HANDLES,
    PAGE_SIZE,
    hint("cache-page-size", size(1), 64 << 10, _JAVA),
    hint(
        "write-buffer-spillable",
        boolean,
        True,
        "Whether the Java write buffer may spill to disk. In this library, a full buffer becomes a file.",
    ),
    hint("write-buffer-spill.max-disk-size", optional(size()), None, _JAVA),
    WRITE_BUFFER_FOR_APPEND,
    hint("write-max-writers-to-spill", integer(1), 10, _JAVA),
    LOCAL_MERGE_BUFFER,
    hint("scan.max-splits-per-task", integer(1), 10, _JAVA),
    hint("scan.plan-sort-partition", boolean, False, "Has no effect: this library always sorts plans by partition."),
    hint(
        "continuous.discovery-interval",
        duration,
        10_000,
        "How often a streaming read of the Java engine searches for new snapshots.",
    ),
    hint(
        "snapshot.expire.execution-mode",
        choice("sync", "async"),
        "sync",
        "Whether the Java engine expires snapshots in another thread.",
    ),
    hint("manifest.merge-optimize.enabled", boolean, True, _JAVA),
    hint("overwrite-upgrade", boolean, True, "Whether the Java engine moves overwritten files to the highest level."),
    PARTITION_EXPIRATION_CHECK_INTERVAL,
    PARTITION_REPORT_DELAY,
    hint("sort-compaction.local-sample.magnification", integer(1), 1000, _JAVA),
    hint("lookup.cache-rows", integer(0, MAX_LONG), 10_000, _LOOKUP),
    hint("lookup.cache-file-retention", duration, 3_600_000, _LOOKUP),
    hint("lookup.cache-max-disk-size", optional(size()), None, _LOOKUP),
    hint("lookup.cache-spill-compression", choice("zstd", "lz4", "lzo", "none"), "zstd", _LOOKUP),
    hint("lookup.cache-max-memory-size", size(), 256 << 20, _LOOKUP),
    hint("lookup.cache.high-priority-pool-ratio", share(), 0.25, _LOOKUP),
    LOOKUP_BLOOM_FILTER,
    LOOKUP_BLOOM_FILTER_FPP,
    hint("lookup.hash-load-factor", ratio(0, 1), 0.75, _JAVA),
    hint("local-kv-db.block-size", size(1), 4 << 10, _JAVA),
    hint("sink.parallelism", optional(integer(1)), None, "Tasks of a Flink job."),
    hint("scan.parallelism", optional(integer(1)), None, "Tasks of a Flink job."),
    hint("scan.infer-parallelism", boolean, True, "Tasks of a Flink job."),
    hint("owner", optional(text), None, "Written by engines; stored unchanged."),
    hint("provider", optional(text), None, "Written by engines; stored unchanged."),
    hint("location", optional(text), None, "Written by engines; stored unchanged."),
    hint("is_managed_location", optional(text), None, "Written by engines; stored unchanged."),
    hint("transient_lastDdlTime", optional(text), None, "Written by engines; stored unchanged."),
)
