"""What a scan reads and how it is cut into splits (format chapter 13, "Scan")."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import AnyOption, Operation, Option, unsupported
from table_format.options.values import MAX_LONG, choice, integer, optional, size, text

MODE = Option(
    "scan.mode",
    choice(
        "default",
        "latest-full",
        "full",
        "latest",
        "from-timestamp",
        "from-snapshot",
        "from-snapshot-full",
        "compacted-full",
        "from-creation-timestamp",
        "from-file-creation-time",
        "incremental",
    ),
    "default",
    "Where the scan starts; it follows from the other scan options. A batch scan of 'latest' and 'latest-full' reads "
    "the latest snapshot.",
    honoured=("default", "latest-full", "full", "latest", "from-timestamp", "from-snapshot", "from-snapshot-full"),
    fallback_keys=("log.scan",),
    blocks=(Operation.READ,),
)
SNAPSHOT_ID = Option("scan.snapshot-id", optional(integer(1, MAX_LONG)), None, "Read this snapshot.")
TAG_NAME = Option("scan.tag-name", optional(text), None, "Read the snapshot of this tag.")
TIMESTAMP_MILLIS = Option(
    "scan.timestamp-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read the latest snapshot committed at or before this time, in milliseconds since the epoch.",
    fallback_keys=("log.scan.timestamp-millis",),
)
TIMESTAMP = Option(
    "scan.timestamp",
    optional(text),
    None,
    "The same as a local date and time, such as '2026-01-31 12:00:00'.",
)
VERSION = Option("scan.version", optional(text), None, "Read the tag of this name or the snapshot of this id.")
SPLIT_TARGET_SIZE = Option("source.split.target-size", size(1), 128 * MIB, "Bytes of files read by one split.")
SPLIT_OPEN_FILE_COST = Option(
    "source.split.open-file-cost", size(), 4 * MIB, "A file counts at least this many bytes towards a split."
)


@dataclass(frozen=True, slots=True)
class ScanOptions:
    mode: str = MODE.field()
    snapshot_id: int | None = SNAPSHOT_ID.field()
    tag_name: str | None = TAG_NAME.field()
    timestamp_ms: int | None = TIMESTAMP_MILLIS.field()
    timestamp: str | None = TIMESTAMP.field()
    version: str | None = VERSION.field()
    split_target_size: int = SPLIT_TARGET_SIZE.field()
    split_open_file_cost: int = SPLIT_OPEN_FILE_COST.field()


TIME_TRAVEL: tuple[Option[int | None] | Option[str | None], ...] = (
    SNAPSHOT_ID,
    TAG_NAME,
    TIMESTAMP_MILLIS,
    TIMESTAMP,
    VERSION,
)
"""At most one of them may be given."""

REFUSED: tuple[AnyOption, ...] = (
    *(
        unsupported(key, optional(text), None, doc, Operation.READ)
        for key, doc in (
            ("scan.watermark", "Read the first snapshot with this watermark."),
            ("scan.file-creation-time-millis", "Read files made after a time."),
            ("scan.creation-time-millis", "Read what was made after a time."),
            ("scan.bucket", "Read one bucket."),
            ("scan.fallback-branch", "Read missing partitions from a branch."),
            ("scan.fallback-snapshot-branch", "Branch of a chain table."),
            ("scan.fallback-delta-branch", "Branch of a chain table."),
            ("scan.primary-branch", "Read from a branch first."),
            ("incremental-between", "Read the changes between two snapshots or tags."),
            ("incremental-between-timestamp", "Read the changes between two times."),
            ("incremental-to-auto-tag", "Read the changes up to an automatic tag."),
        )
    ),
    unsupported("incremental-between-scan-mode", text, "auto", "Which changes are read."),
    unsupported("incremental-between-tag-to-snapshot", text, "false", "Read tags as snapshots."),
)
