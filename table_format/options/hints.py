"""Options that are kept and tune only the Java engine: no value of theirs changes what a table holds."""

from __future__ import annotations

from typing import Any

from table_format.options.declare import Option, OptionPattern, hint
from table_format.options.values import boolean, integer, optional, size, text

_JAVA = "Tunes the Java engine only."

HINTS: tuple[Option[Any] | OptionPattern[Any], ...] = (
    hint("sort-engine", text, "loser-tree", "How the Java engine merges runs; the result is the same."),
    hint("read.batch-size", integer(1), 1024, "Rows of a batch in the Java readers."),
    hint("write.batch-size", integer(1), 1024, "Rows of a batch in the Java writers."),
    hint("write.batch-memory", size(), 128 << 20, _JAVA),
    hint("async-file-write", boolean, True, "Whether the Java engine writes files in another thread."),
    hint("file-reader-async-threshold", size(), 10 << 20, _JAVA),
    hint("sort-spill-threshold", optional(integer(1)), None, _JAVA),
    hint("sort-spill-buffer-size", size(), 64 << 20, _JAVA),
    hint("spill-compression", text, "zstd", _JAVA),
    hint("spill-compression.zstd-level", integer(1, 22), 1, _JAVA),
    hint("local-sort.max-num-file-handles", integer(1), 128, _JAVA),
    hint("page-size", size(1), 64 << 10, _JAVA),
    hint("cache-page-size", size(1), 64 << 10, _JAVA),
    hint("write-buffer-spillable", boolean, True, "Whether the Java write buffer may spill to disk."),
    hint("write-buffer-spill.max-disk-size", optional(size()), None, _JAVA),
    hint("write-buffer-for-append", boolean, False, _JAVA),
    hint("write-max-writers-to-spill", integer(1), 10, _JAVA),
    hint("local-merge-buffer-size", optional(size()), None, "Merge of the Java engine before a shuffle."),
    hint("scan.manifest.parallelism", optional(integer(1)), None, "Threads of the Java planner."),
    hint("scan.max-splits-per-task", integer(1), 10, _JAVA),
    hint("scan.plan-sort-partition", boolean, False, "Plans are in the order of partitions here in any case."),
    hint("continuous.discovery-interval", text, "10 s", "How often a streaming read of the Java engine looks."),
    hint("file-operation.thread-num", optional(integer(1)), None, "Threads of the Java engine."),
    hint("delete-file.thread-num", optional(integer(1)), None, "Threads of the Java engine."),
    hint("snapshot.expire.execution-mode", text, "sync", "Whether the Java engine expires in another thread."),
    hint("manifest.merge-optimize.enabled", boolean, True, _JAVA),
    hint("overwrite-upgrade", boolean, True, "Overwritten files go to the highest level in the Java engine."),
    hint("global-index.thread-num", integer(1), 32, _JAVA),
    hint("partition.expiration-check-interval", text, "1 h", "How often a job of the Java engine expires partitions."),
    hint("partition.idle-time-to-report-statistic", text, "0 ms", "Reports of Flink to a metastore."),
    hint("sort-compaction.local-sample.magnification", integer(1), 1000, _JAVA),
    OptionPattern("lookup.cache<setting>", text, "Caches of lookup joins in the Java engine.", hint=True),
    hint("lookup.hash-load-factor", text, "0.75", _JAVA),
    OptionPattern("local-kv-db.<setting>", text, _JAVA, hint=True),
    hint("sink.parallelism", optional(integer(1)), None, "Tasks of a Flink job."),
    hint("scan.parallelism", optional(integer(1)), None, "Tasks of a Flink job."),
    hint("scan.infer-parallelism", boolean, True, "Tasks of a Flink job."),
    hint("owner", optional(text), None, "Written by engines; kept."),
    hint("provider", optional(text), None, "Written by engines; kept."),
    hint("location", optional(text), None, "Written by engines; kept."),
    hint("is_managed_location", optional(text), None, "Written by engines; kept."),
    hint("transient_lastDdlTime", optional(text), None, "Written by engines; kept."),
)
