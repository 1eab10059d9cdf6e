"""When and how files are compacted (format chapter 07, sections 2 and 3; chapter 11, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import AnyOption, Option, unsupported
from table_format.options.values import boolean, duration, integer, optional, ratio, size

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
FORCE_COMPACT = Option("commit.force-compact", boolean, False, "Every commit compacts what it wrote.")
FULL_COMPACTION_DELTA_COMMITS = Option(
    "full-compaction.delta-commits",
    optional(integer(1)),
    None,
    "Commits between full compactions, for streaming engines; a batch writer compacts fully with every commit when it "
    "is set.",
)


@dataclass(frozen=True, slots=True)
class CompactionOptions:
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


REFUSED: tuple[AnyOption, ...] = (
    unsupported("compaction.max.file-num", optional(integer(1)), None, "Small files at which 0.9 compacts."),
    unsupported("compaction.optimization-interval", optional(duration), None, "Time between full compactions."),
    unsupported("compaction.total-size-threshold", optional(size()), None, "Size below which all is compacted."),
    unsupported("compaction.incremental-size-threshold", optional(size()), None, "Size of new data to compact all."),
    unsupported("compaction.force-up-level-0", boolean, False, "Always compact level 0."),
    unsupported("compaction.force-rewrite-all-files", boolean, False, "Rewrite files that need no rewrite."),
    unsupported("compaction.file-num-limit", integer(1), 100_000, "Files of one compaction."),
    unsupported("compaction.offpeak.start.hour", integer(-1, 23), -1, "Begin of the quiet hours."),
    unsupported("compaction.offpeak.end.hour", integer(-1, 23), -1, "End of the quiet hours."),
    unsupported("compaction.offpeak-ratio", integer(0, 100), 0, "Size ratio in the quiet hours."),
    unsupported("compaction.skip-expired-partitions", boolean, False, "Do not compact expired partitions."),
)
