"""What a scan reads and how it is cut into splits (format chapter 13, "Scan")."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import AnyOption, Operation, Option, unsupported
from table_format.options.values import MAX_LONG, boolean, choice, integer, optional, size, text

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
    "Where the scan starts; without it that follows from the other scan options. A batch scan reads one state, or with "
    "'incremental' changes. A stream begins with such a state; with 'latest', 'from-timestamp' and 'from-snapshot' "
    "without one.",
    fallback_keys=("log.scan",),
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
VERSION = Option(
    "scan.version",
    optional(text),
    None,
    "Read the tag of this name, the snapshot of this id, or with 'watermark-<n>' the one of this watermark.",
)
WATERMARK = Option(
    "scan.watermark", optional(integer(0, MAX_LONG)), None, "Read the first snapshot whose watermark is at least this."
)
FILE_CREATION_TIME_MILLIS = Option(
    "scan.file-creation-time-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read of the latest snapshot only the files made at or after this time; compaction makes new files.",
)
CREATION_TIME_MILLIS = Option(
    "scan.creation-time-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read the first snapshot committed at or after this time; without one that follows an earlier one, the files made "
    "since.",
)
INCREMENTAL_BETWEEN = Option(
    "incremental-between",
    optional(text),
    None,
    "Read the changes between two snapshots ('1,3' are those of 2 and 3), or the difference between two tags.",
)
INCREMENTAL_BETWEEN_TIMESTAMP = Option(
    "incremental-between-timestamp",
    optional(text),
    None,
    "Read the changes committed after one time and until another, in milliseconds since the epoch or as local times.",
)
INCREMENTAL_SCAN_MODE = Option(
    "incremental-between-scan-mode",
    choice("auto", "delta", "changelog", "diff"),
    "auto",
    "What changes are: the rows that commits wrote ('delta'), the changelog files, or what differs between the two "
    "states ('diff'); 'auto' takes changelogs where the table has a changelog-producer, else deltas.",
)
INCREMENTAL_TAG_TO_SNAPSHOT = Option(
    "incremental-between-tag-to-snapshot",
    boolean,
    False,
    "Read between two tags as between their snapshots, instead of comparing them.",
)
FALLBACK_BRANCH = Option(
    "scan.fallback-branch",
    optional(text),
    None,
    "A batch reads partitions that the table has not from this branch; it is an error when there is none. Changes and "
    "streams are those of the table itself.",
)
FALLBACK_READ_FAIL_FAST = Option(
    "scan.fallback-branch.read-fail-fast",
    boolean,
    False,
    "Whether the Java engine reports files of the fallback branch that it cannot read; here that is always an error.",
)
SPLIT_TARGET_SIZE = Option("source.split.target-size", size(1), 128 * MIB, "Bytes of files read by one split.")
SPLIT_OPEN_FILE_COST = Option(
    "source.split.open-file-cost", size(), 4 * MIB, "A file counts at least this many bytes towards a split."
)


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What is read: from where on, up to where, and how it is split."""

    mode: str = MODE.field()
    snapshot_id: int | None = SNAPSHOT_ID.field()
    tag_name: str | None = TAG_NAME.field()
    timestamp_ms: int | None = TIMESTAMP_MILLIS.field()
    timestamp: str | None = TIMESTAMP.field()
    version: str | None = VERSION.field()
    watermark: int | None = WATERMARK.field()
    file_creation_time_ms: int | None = FILE_CREATION_TIME_MILLIS.field()
    creation_time_ms: int | None = CREATION_TIME_MILLIS.field()
    incremental_between: str | None = INCREMENTAL_BETWEEN.field()
    incremental_between_timestamp: str | None = INCREMENTAL_BETWEEN_TIMESTAMP.field()
    incremental_scan_mode: str = INCREMENTAL_SCAN_MODE.field()
    incremental_tag_to_snapshot: bool = INCREMENTAL_TAG_TO_SNAPSHOT.field()
    fallback_branch: str | None = FALLBACK_BRANCH.field()
    fallback_read_fail_fast: bool = FALLBACK_READ_FAIL_FAST.field()
    split_target_size: int = SPLIT_TARGET_SIZE.field()
    split_open_file_cost: int = SPLIT_OPEN_FILE_COST.field()


TIME_TRAVEL: tuple[Option[int | None] | Option[str | None], ...] = (
    SNAPSHOT_ID,
    TAG_NAME,
    TIMESTAMP_MILLIS,
    TIMESTAMP,
    VERSION,
    WATERMARK,
)
"""Each names one snapshot, which is read in its own schema."""

STARTING_POINTS: tuple[Option[int | None] | Option[str | None], ...] = (
    *TIME_TRAVEL,
    FILE_CREATION_TIME_MILLIS,
    CREATION_TIME_MILLIS,
    INCREMENTAL_BETWEEN,
    INCREMENTAL_BETWEEN_TIMESTAMP,
)
"""At most one of them may be given."""

REFUSED: tuple[AnyOption, ...] = (
    *(
        unsupported(key, optional(text), None, doc, Operation.READ)
        for key, doc in (
            ("scan.bucket", "Read one bucket."),
            ("scan.fallback-snapshot-branch", "Branch of a chain table."),
            ("scan.fallback-delta-branch", "Branch of a chain table."),
            ("scan.primary-branch", "Read from a branch first."),
            ("incremental-to-auto-tag", "Read the changes up to an automatic tag."),
        )
    ),
)
