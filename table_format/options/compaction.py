"""When and how files are compacted (format chapter 07, sections 2 and 3; chapter 11, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import AnyOption, Option, unsupported
from table_format.options.values import boolean, choice, duration, integer, optional, ratio, size

WRITE_ONLY = Option(
    "write-only",
    boolean,
    False,
    "Writers neither compact nor expire; a job of its own does.",
    fallback_keys=("write.compaction-skip",),
)
TRIGGER = Option(
    "num-sorted-run.compaction-trigger", integer(1), 5, "Number of sorted runs of a bucket at which it is compacted."
)
STOP_TRIGGER = Option(
    "num-sorted-run.stop-trigger",
    optional(integer(1)),
    None,
    "Number of sorted runs at which a writer waits for compaction; the trigger plus 3 when absent.",
)
NUM_LEVELS = Option("num-levels", optional(integer(2)), None, "Levels of the LSM tree; the trigger plus 1 when absent.")
MAX_SIZE_AMPLIFICATION = Option(
    "compaction.max-size-amplification-percent",
    integer(0),
    200,
    "Size of all newer runs, in percent of the oldest, at which everything is compacted.",
)
SIZE_RATIO = Option(
    "compaction.size-ratio", integer(0), 1, "Percentage by which a run may be larger and still join the newer ones."
)
SMALL_FILE_RATIO = Option(
    "compaction.small-file-ratio",
    ratio(0.0, 1.0),
    0.7,
    "A file of an append table below this share of target-file-size is small.",
)
MIN_FILE_NUM = Option(
    "compaction.min.file-num", integer(1), 5, "Number of small files of an append table at which they are compacted."
)
DELETE_RATIO = Option(
    "compaction.delete-ratio-threshold",
    ratio(0.0, 1.0),
    0.2,
    "A file of an append table of whose rows a larger share is marked as deleted is compacted whatever its size.",
)
ZORDER_TEXT_BYTES = Option(
    "zorder.var-length-contribution",
    integer(1, 256),
    8,
    "Bytes that a string or binary column contributes to the z-order of a sort compaction, behind what all share.",
)
FORCE_COMPACT = Option(
    "commit.force-compact", boolean, False, "A commit waits for the compaction that is due, however it would run else."
)
FULL_COMPACTION_DELTA_COMMITS = Option(
    "full-compaction.delta-commits",
    optional(integer(1)),
    None,
    "Of so many commits one compacts fully what they wrote, within the commit; commits are counted in the table, so it "
    "does not matter which writer makes them.",
)
OPTIMIZATION_INTERVAL = Option(
    "compaction.optimization-interval",
    optional(duration),
    None,
    "Time after which a bucket with more than one sorted run is compacted fully, when it is written to or by the "
    "compaction job. The last time is that of the youngest file on the highest level.",
)
TOTAL_SIZE_THRESHOLD = Option(
    "compaction.total-size-threshold", optional(size()), None, "A bucket smaller than this is always compacted fully."
)
INCREMENTAL_SIZE_THRESHOLD = Option(
    "compaction.incremental-size-threshold",
    optional(size()),
    None,
    "Size of what lies below the highest level of a bucket above which it is compacted fully.",
)
FORCE_UP_LEVEL_0 = Option(
    "compaction.force-up-level-0", boolean, False, "Every compaction moves level 0 up, whatever the number of runs."
)
FORCE_REWRITE_ALL_FILES = Option(
    "compaction.force-rewrite-all-files", boolean, False, "Compaction also rewrites files that need no rewrite."
)
OFFPEAK_START_HOUR = Option(
    "compaction.offpeak.start.hour", integer(-1, 23), -1, "First of the quiet hours, of local time; -1 for none."
)
OFFPEAK_END_HOUR = Option(
    "compaction.offpeak.end.hour", integer(-1, 23), -1, "The hour at which the quiet hours end; -1 for none."
)
OFFPEAK_RATIO = Option(
    "compaction.offpeak-ratio", integer(0, 100), 0, "What is added to compaction.size-ratio in the quiet hours."
)
LOOKUP_WAIT = Option(
    "lookup-wait",
    boolean,
    True,
    "A commit waits for its compaction where that looks rows up (deletion vectors, first-row, force-lookup, changelog "
    "by lookup). Without, rows and changelog are seen once a later commit or the compaction job has compacted them; a "
    "commit waits only when the runs are more than num-sorted-run.stop-trigger and one.",
    fallback_keys=("changelog-producer.lookup-wait",),
)
LOOKUP_COMPACT = Option(
    "lookup-compact",
    choice("radical", "gentle"),
    "radical",
    "Whether a table that compacts by lookup moves level 0 up with each compaction, or when enough has gathered.",
)
LOOKUP_COMPACT_MAX_INTERVAL = Option(
    "lookup-compact.max-interval",
    optional(integer(1)),
    None,
    "Number of level-0 files at which a gentle compaction moves them up; never below the trigger, and twice that when "
    "absent.",
)


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """When a bucket is compacted, and how much of it."""

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
        """Never below the trigger.

        >>> CompactionOptions().stop_trigger, CompactionOptions().num_levels
        (8, 6)
        """
        stop = self.trigger + 3 if self.explicit_stop_trigger is None else self.explicit_stop_trigger
        return max(stop, self.trigger)

    @property
    def num_levels(self) -> int:
        """Levels 0 to this minus 1."""
        return self.trigger + 1 if self.explicit_num_levels is None else self.explicit_num_levels

    @property
    def lookup_max_interval(self) -> int | None:
        """Level-0 files at which a gentle compaction by lookup moves them up; ``None`` when each one does.

        >>> CompactionOptions().lookup_max_interval, CompactionOptions(lookup_compact="gentle").lookup_max_interval
        (None, 10)
        """
        if self.lookup_compact != "gentle":
            return None
        given = self.explicit_lookup_max_interval
        return max(self.trigger, 2 * self.trigger if given is None else given)

    def size_ratio_at(self, hour: int) -> int:
        """The size ratio at an hour of the day (Java ``OffPeakHours``).

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
    unsupported("compaction.max.file-num", optional(integer(1)), None, "Small files at which 0.9 compacts."),
    unsupported("compaction.file-num-limit", integer(1), 100_000, "Files of one compaction."),
    unsupported("compaction.skip-expired-partitions", boolean, False, "Do not compact expired partitions."),
)
