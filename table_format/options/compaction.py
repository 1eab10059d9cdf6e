"""When and how files are compacted (format chapter 07, sections 2 and 3; chapter 11, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.options.declare import AnyOption, Option, unsupported
from table_format.options.values import boolean, choice, duration, integer, optional, ratio, size

MAX_LEVELS: Final = 10_000
"""Limit of levels: writers in Java hold a list of all levels of each bucket."""

WRITE_ONLY = Option(
    "write-only",
    boolean,
    False,
    "Writers neither compact nor expire snapshots; a separate job does.",
    fallback_keys=("write.compaction-skip",),
)
TRIGGER = Option(
    "num-sorted-run.compaction-trigger",
    integer(1),
    5,
    "Number of sorted runs of a bucket at which it is compacted. A value of 10000 or more requires 'num-levels', whose "
    "default depends on it.",
)
STOP_TRIGGER = Option(
    "num-sorted-run.stop-trigger",
    optional(integer(1)),
    None,
    "Number of sorted runs at which a writer waits for compaction; by default the compaction trigger plus 3.",
)
NUM_LEVELS = Option(
    "num-levels",
    optional(integer(2)),
    None,
    "Number of levels of the LSM tree, at most 10000; by default the compaction trigger plus 1.",
    honoured=range(2, MAX_LEVELS + 1),
)
MAX_SIZE_AMPLIFICATION = Option(
    "compaction.max-size-amplification-percent",
    integer(0),
    200,
    "Total size of all newer runs, in percent of the oldest run, at which all runs are compacted.",
)
SIZE_RATIO = Option(
    "compaction.size-ratio",
    integer(0),
    1,
    "Percentage by which a run may be larger than the newer runs and still be compacted with them.",
)
SMALL_FILE_RATIO = Option(
    "compaction.small-file-ratio",
    ratio(0.0, 1.0),
    0.7,
    "Share of 'target-file-size' below which a file of an append table is small.",
)
MIN_FILE_NUM = Option(
    "compaction.min.file-num", integer(1), 5, "Number of small files at which an append table compacts them."
)
DELETE_RATIO = Option(
    "compaction.delete-ratio-threshold",
    ratio(0.0, 1.0),
    0.2,
    "Share of deleted rows above which a file of an append table is compacted, whatever its size.",
)
ZORDER_TEXT_BYTES = Option(
    "zorder.var-length-contribution",
    integer(1, 256),
    8,
    "Number of bytes, after the common prefix, that a string or binary column contributes to the z-order of a sort "
    "compaction.",
)
FORCE_COMPACT = Option("commit.force-compact", boolean, False, "A commit always waits for the compaction that is due.")
FULL_COMPACTION_DELTA_COMMITS = Option(
    "full-compaction.delta-commits",
    optional(integer(1)),
    None,
    "Every Nth commit runs a full compaction of the buckets that these N commits wrote, during the commit. Commits are "
    "counted in the table, whichever writer makes them.",
)
OPTIMIZATION_INTERVAL = Option(
    "compaction.optimization-interval",
    optional(duration),
    None,
    "Interval after which a bucket with more than one sorted run is fully compacted, by a write to it or by the "
    "compaction job. The last full compaction has the time of the newest file on the highest level.",
)
TOTAL_SIZE_THRESHOLD = Option(
    "compaction.total-size-threshold", optional(size()), None, "Size below which a bucket is always fully compacted."
)
INCREMENTAL_SIZE_THRESHOLD = Option(
    "compaction.incremental-size-threshold",
    optional(size()),
    None,
    "Total size of all files below the highest level of a bucket above which the bucket is fully compacted.",
)
FORCE_UP_LEVEL_0 = Option(
    "compaction.force-up-level-0",
    boolean,
    False,
    "Every compaction moves level 0 up, whatever the number of sorted runs.",
)
FORCE_REWRITE_ALL_FILES = Option(
    "compaction.force-rewrite-all-files", boolean, False, "Compaction also rewrites files that do not need it."
)
OFFPEAK_START_HOUR = Option(
    "compaction.offpeak.start.hour",
    integer(-1, 23),
    -1,
    "First hour of the off-peak period, in local time; -1 for none.",
)
OFFPEAK_END_HOUR = Option(
    "compaction.offpeak.end.hour", integer(-1, 23), -1, "Hour at which the off-peak period ends; -1 for none."
)
OFFPEAK_RATIO = Option(
    "compaction.offpeak-ratio",
    integer(0, 100),
    0,
    "Value that is added to 'compaction.size-ratio' during the off-peak period.",
)
LOOKUP_WAIT = Option(
    "lookup-wait",
    boolean,
    True,
    "A commit waits for its compaction on a lookup table (deletion vectors, first-row, force-lookup, lookup "
    "changelog). With 'false', rows and changelog become visible after a later commit or the compaction job has "
    "compacted them, and a commit waits only if there are more than 'num-sorted-run.stop-trigger' + 1 sorted runs.",
    fallback_keys=("changelog-producer.lookup-wait",),
)
LOOKUP_COMPACT = Option(
    "lookup-compact",
    choice("radical", "gentle"),
    "radical",
    "Whether a lookup table moves level 0 up with each compaction ('radical'), or only when enough files have "
    "accumulated ('gentle').",
)
LOOKUP_COMPACT_MAX_INTERVAL = Option(
    "lookup-compact.max-interval",
    optional(integer(1)),
    None,
    "Number of level-0 files at which a gentle compaction moves them up; at least the compaction trigger, by default "
    "twice the trigger.",
)


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """When a bucket is compacted, and how much."""

    write_only: bool = WRITE_ONLY.field()
    trigger: int = TRIGGER.field()
    explicit_stop_trigger: int | None = STOP_TRIGGER.field()
    explicit_num_levels: int | None = NUM_LEVELS.field()
    max_size_amplification_percent: int = MAX_SIZE_AMPLIFICATION.field()
    size_ratio: int = SIZE_RATIO.field()
    small_file_ratio: float = SMALL_FILE_RATIO.field()
    min_file_num: int = MIN_FILE_NUM.field()
    delete_ratio: float = DELETE_RATIO.field()
    zorder_text_bytes: int = ZORDER_TEXT_BYTES.field()
    force_compact: bool = FORCE_COMPACT.field()
    full_compaction_delta_commits: int | None = FULL_COMPACTION_DELTA_COMMITS.field()
    optimization_interval_ms: int | None = OPTIMIZATION_INTERVAL.field()
    total_size_threshold: int | None = TOTAL_SIZE_THRESHOLD.field()
    incremental_size_threshold: int | None = INCREMENTAL_SIZE_THRESHOLD.field()
    force_up_level_0: bool = FORCE_UP_LEVEL_0.field()
    force_rewrite_all_files: bool = FORCE_REWRITE_ALL_FILES.field()
    offpeak_start_hour: int = OFFPEAK_START_HOUR.field()
    offpeak_end_hour: int = OFFPEAK_END_HOUR.field()
    offpeak_ratio: int = OFFPEAK_RATIO.field()
    lookup_wait: bool = LOOKUP_WAIT.field()
    lookup_compact: str = LOOKUP_COMPACT.field()
    explicit_lookup_max_interval: int | None = LOOKUP_COMPACT_MAX_INTERVAL.field()

    @property
    def stop_trigger(self) -> int:
        """The stop trigger; at least the trigger.

        >>> CompactionOptions().stop_trigger, CompactionOptions().num_levels
        (8, 6)
        """
        stop = self.trigger + 3 if self.explicit_stop_trigger is None else self.explicit_stop_trigger
        return max(stop, self.trigger)

    @property
    def num_levels(self) -> int:
        """The number of levels, which are 0 to this minus 1."""
        return self.trigger + 1 if self.explicit_num_levels is None else self.explicit_num_levels

    @property
    def lookup_max_interval(self) -> int | None:
        """The number of level-0 files at which a gentle compaction by lookup takes them; ``None`` if every
        compaction does.

        >>> CompactionOptions().lookup_max_interval, CompactionOptions(lookup_compact="gentle").lookup_max_interval
        (None, 10)
        """
        if self.lookup_compact != "gentle":
            return None
        given = self.explicit_lookup_max_interval
        return max(self.trigger, 2 * self.trigger if given is None else given)

    def size_ratio_at(self, hour: int) -> int:
        """Return the size ratio at an hour of the day (Java ``OffPeakHours``).

        >>> night = CompactionOptions(offpeak_start_hour=22, offpeak_end_hour=6, offpeak_ratio=20)
        >>> [night.size_ratio_at(hour) for hour in (21, 22, 0, 5, 6)]
        [1, 21, 21, 21, 1]
        """
        start, end = self.offpeak_start_hour, self.offpeak_end_hour
        if -1 in (start, end) or start == end:
            return self.size_ratio
        quiet = start <= hour < end if start < end else hour < end or start <= hour
        return self.size_ratio + self.offpeak_ratio if quiet else self.size_ratio


REFUSED: tuple[AnyOption, ...] = (
    unsupported(
        "compaction.max.file-num",
        optional(integer(1)),
        None,
        "Maximum number of small files before version 0.9 compacts.",
    ),
    unsupported("compaction.file-num-limit", integer(1), 100_000, "Maximum number of files of one compaction."),
    unsupported("compaction.skip-expired-partitions", boolean, False, "Do not compact expired partitions."),
)
