"""What a scan reads and how it is divided into splits (format chapter 13, "Scan")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
    "Where the scan starts; by default the other scan options determine it. A batch scan reads one state, or changes "
    "with 'incremental'. A stream starts with such a state, except with 'latest', 'from-timestamp' and "
    "'from-snapshot'.",
    fallback_keys=("log.scan",),
)
SNAPSHOT_ID = Option("scan.snapshot-id", optional(integer(1, MAX_LONG)), None, "Read this snapshot.")
TAG_NAME = Option("scan.tag-name", optional(text), None, "Read the snapshot of this tag.")
TIMESTAMP_MILLIS = Option(
    "scan.timestamp-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read the latest snapshot committed at or before this time, in milliseconds since 1970.",
    fallback_keys=("log.scan.timestamp-millis",),
)
TIMESTAMP = Option(
    "scan.timestamp",
    optional(text),
    None,
    "The same time as 'scan.timestamp-millis', as a local date and time, such as '2026-01-31 12:00:00'.",
)
VERSION = Option(
    "scan.version",
    optional(text),
    None,
    "Read the tag with this name, the snapshot with this id, or with 'watermark-<n>' the snapshot of this watermark. "
    "Only for a single read: Apache Paimon cannot alter a table that stores it.",
)
WATERMARK = Option(
    "scan.watermark", optional(integer(0, MAX_LONG)), None, "Read the first snapshot whose watermark is at least this."
)
FILE_CREATION_TIME_MILLIS = Option(
    "scan.file-creation-time-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read only the files of the latest snapshot that were created at or after this time. Compaction creates new files.",
)
CREATION_TIME_MILLIS = Option(
    "scan.creation-time-millis",
    optional(integer(0, MAX_LONG)),
    None,
    "Read the first snapshot committed at or after this time. If it does not follow an earlier snapshot, read the "
    "files created since this time.",
)
INCREMENTAL_BETWEEN = Option(
    "incremental-between",
    optional(text),
    None,
    "Read the changes between two snapshots ('1,3' selects the changes of 2 and 3), or the difference between two "
    "tags.",
)
INCREMENTAL_BETWEEN_TIMESTAMP = Option(
    "incremental-between-timestamp",
    optional(text),
    None,
    "Read the changes committed after one time and up to another, in milliseconds since the epoch or as local times.",
)
INCREMENTAL_TO_AUTO_TAG = Option(
    "incremental-to-auto-tag",
    optional(text),
    None,
    "Read the difference between the automatic tag before this one and this one, such as '2026-11-29'. Nothing if "
    "either tag does not exist.",
)
INCREMENTAL_SCAN_MODE = Option(
    "incremental-between-scan-mode",
    choice("auto", "delta", "changelog", "diff"),
    "auto",
    "Which changes to read: the rows that commits wrote ('delta'), the changelog files ('changelog'), or the "
    "difference between the two states ('diff'). 'auto' reads changelogs of snapshots that were written with a "
    "changelog-producer, and deltas of others.",
)
INCREMENTAL_TAG_TO_SNAPSHOT = Option(
    "incremental-between-tag-to-snapshot",
    boolean,
    False,
    "Read the changes between the snapshots of two tags, instead of comparing the tags.",
)
FALLBACK_BRANCH = Option(
    "scan.fallback-branch",
    optional(text),
    None,
    "A batch read takes partitions that the table lacks from this branch, which must exist. Reads of changes and "
    "streams use only the table itself.",
)
FALLBACK_READ_FAIL_FAST = Option(
    "scan.fallback-branch.read-fail-fast",
    boolean,
    False,
    "Whether the Java engine reports files of the fallback branch that it cannot read. In this library, this is "
    "always an error.",
    hint=True,
)
MANIFEST_PARALLELISM = Option(
    "scan.manifest.parallelism",
    optional(integer(1)),
    None,
    "Number of manifests that a plan reads in parallel, at most 64; by default one after another.",
)
SPLIT_TARGET_SIZE = Option("source.split.target-size", size(1), 128 * MIB, "Target size of the files of one split.")
SPLIT_OPEN_FILE_COST = Option(
    "source.split.open-file-cost", size(), 4 * MIB, "Minimum size that a file counts towards a split."
)


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What a scan reads, and how it is divided into splits."""

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
    incremental_to_auto_tag: str | None = INCREMENTAL_TO_AUTO_TAG.field()
    incremental_scan_mode: str = INCREMENTAL_SCAN_MODE.field()
    incremental_tag_to_snapshot: bool = INCREMENTAL_TAG_TO_SNAPSHOT.field()
    fallback_branch: str | None = FALLBACK_BRANCH.field()
    fallback_read_fail_fast: bool = FALLBACK_READ_FAIL_FAST.field()
    manifest_parallelism: int | None = MANIFEST_PARALLELISM.field()
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
    INCREMENTAL_TO_AUTO_TAG,
)
"""At most one of them may be given."""

STATE_KEYS: Final = frozenset(key for option in (MODE, *STARTING_POINTS) for key in option.keys)
"""The keys of all options that say which state of a table a scan shows."""

REFUSED: tuple[AnyOption, ...] = (
    *(
        unsupported(key, optional(text), None, doc, Operation.READ)
        for key, doc in (
            ("scan.bucket", "Read one bucket."),
            ("scan.fallback-snapshot-branch", "Branch of a chain table."),
            ("scan.fallback-delta-branch", "Branch of a chain table."),
            ("scan.primary-branch", "Read from a branch first."),
        )
    ),
)
