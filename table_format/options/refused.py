"""Options of the format for features that this version does not support. Only their defaults are accepted."""

from __future__ import annotations

from typing import Any

from table_format.options import commit, compaction, files, manifest, merge, postpone, scan
from table_format.options.declare import (
    READ_AND_WRITE,
    WRITES,
    Operation,
    Option,
    OptionPattern,
    unsupported,
)
from table_format.options.values import boolean, duration, integer, optional, text

_Options = tuple[Option[Any] | OptionPattern[Any], ...]

_CHANGELOG: _Options = (
    unsupported("delete.force-produce-changelog", boolean, False, "DELETE writes a changelog.", *WRITES),
    unsupported("lookup.remote-file.enabled", boolean, False, "Remote lookup files."),
    unsupported("key-value.sequence_number.enabled", boolean, False, "Show sequence numbers."),
    unsupported("table-read.sequence-number.enabled", boolean, False, "Show sequence numbers."),
)
_INDEXES: _Options = (
    OptionPattern("file-index.<type>.columns", text, "Columns with a file index of another type.", supported=False),
    OptionPattern("file-index.<type>.<column>.<setting>", text, "A setting of an index of this type.", supported=False),
    unsupported("global-index.thread-num", integer(1), 32, "Threads that build global indexes."),
    OptionPattern("global-index.<setting>", text, "Global indexes.", supported=False),
    OptionPattern("scalar-index.<setting>", text, "Scalar indexes.", supported=False),
    OptionPattern("vector-index.<setting>", text, "Vector indexes.", supported=False),
    OptionPattern("full-text-index.<setting>", text, "Full text indexes.", supported=False),
    OptionPattern("pk-<kind>.index.columns", text, "Indexes of key columns.", supported=False),
)
_BUCKETS: _Options = (
    *postpone.REFUSED,
    OptionPattern("postpone.<setting>", text, "Settings for batches that are not postponed.", supported=False),
)
_TAGS: _Options = (
    OptionPattern("tag.<setting>", text, "Settings for files and callbacks of tags.", supported=False),
    OptionPattern("consumer.<setting>", text, "Settings for consumers of streaming reads.", supported=False),
    unsupported("metastore.tag-to-partition", optional(text), None, "Tags as partitions in a metastore."),
    unsupported("metastore.tag-to-partition.preview", text, "none", "Tags as partitions in a metastore."),
    unsupported(
        "scan.plan-auto-tag-for-read.time-retained",
        optional(duration),
        None,
        "Create a tag for the snapshot that is read.",
    ),
)
_PARTITIONS: _Options = (
    OptionPattern("partition.<setting>", text, "Expiry and completion of partitions.", supported=False),
    unsupported("end-input.check-partition-expire", boolean, False, "Drop old partitions at the end of a job."),
)
_STREAMING: _Options = (
    unsupported("snapshot.watermark-idle-timeout", optional(duration), None, "Watermarks of idle jobs."),
    unsupported("stream-scan-mode", text, "none", "Scan of a compaction job."),
    unsupported("batch-scan-mode", text, "none", "Scan of a compaction job.", Operation.READ),
    unsupported(
        "write.sequence-number-init-mode", text, "scan", "How the first sequence number is determined.", Operation.WRITE
    ),
)
ROW_TRACKING_ENABLED = unsupported(
    "row-tracking.enabled",
    boolean,
    False,
    "Row ids, shown by the system table `$row_tracking`.",
    *WRITES,
    immutable=True,
)
_TABLES: _Options = (
    ROW_TRACKING_ENABLED,
    OptionPattern("row-tracking.<setting>", text, "Row ids.", supported=False),
    unsupported("data-evolution.enabled", boolean, False, "Files by columns.", *READ_AND_WRITE, immutable=True),
    OptionPattern("data-evolution.<setting>", text, "Files by columns.", supported=False),
    unsupported("chain-table.enabled", boolean, False, "Chain of snapshot and delta.", *READ_AND_WRITE),
    OptionPattern("chain-table.<setting>", text, "Chain of snapshot and delta.", supported=False),
    OptionPattern("clustering.<setting>", text, "Clustering of rows across files.", supported=False),
    OptionPattern("sink.clustering.<setting>", text, "Clustering of rows across files.", supported=False),
    unsupported("sort-compaction.range-strategy", text, "size", "Clustering of rows across files."),
    OptionPattern("variant.<setting>", text, "Columns of type VARIANT.", supported=False),
    *(
        OptionPattern(f"{name}<setting>", text, "Columns of type BLOB.", supported=False, immutable=True)
        for name in ("blob-", "blob.")
    ),
    OptionPattern("vector<setting>", text, "Columns of type VECTOR.", supported=False),
    OptionPattern("format-table.<setting>", text, "Format tables.", supported=False),
    unsupported("field-delimiter", optional(text), None, "Separator of CSV files."),
    unsupported("query-auth.enabled", boolean, False, "Authorization rules of a catalog server.", Operation.READ),
    OptionPattern("visibility-callback.<setting>", text, "Wait until a commit is visible.", supported=False),
    unsupported("auto-create", boolean, False, "Create missing storage."),
    unsupported("branch", text, "main", "Branch to read and write; name it in the table name instead."),
    unsupported("scan.ignore-corrupt-files", boolean, False, "Skip files that cannot be read."),
    unsupported("scan.ignore-lost-files", boolean, False, "Skip files that are missing."),
    unsupported(
        "write.merge-schema.explicit-cast",
        boolean,
        False,
        "Whether 'write.merge-schema' may also make type changes that require an explicit cast of stored values.",
        Operation.WRITE,
    ),
)

REFUSED: _Options = (
    *files.REFUSED,
    *manifest.REFUSED,
    *merge.REFUSED,
    *compaction.REFUSED,
    *commit.REFUSED,
    *scan.REFUSED,
    *_CHANGELOG,
    *_INDEXES,
    *_BUCKETS,
    *_TAGS,
    *_PARTITIONS,
    *_STREAMING,
    *_TABLES,
)
