"""How long snapshots and changelogs live (format chapter 10, section 9; Java ``ExpireConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import MAX_INT, boolean, duration, integer, optional

NUM_RETAINED_MIN = Option(
    "snapshot.num-retained.min", integer(1), 10, "Minimum number of snapshots to keep, whatever their age."
)
NUM_RETAINED_MAX = Option(
    "snapshot.num-retained.max",
    integer(1),
    MAX_INT,
    "Maximum number of snapshots to keep. Further snapshots stay while they are younger than the age below which no "
    "snapshot expires, by default 15 minutes (see 'snapshot.time-retained'). The report of an expiry counts them, and "
    "a warning is logged.",
)
TIME_RETAINED = Option(
    "snapshot.time-retained",
    duration,
    3_600_000,
    "Age at which a snapshot can expire. Whatever this value, a snapshot never expires before two and a half times the "
    "sum of 'commit.attempt-timeout' and 'commit.request-timeout' (by default 15 minutes), because a writer may still "
    "build on it.",
)
DELETE_THREADS = Option(
    "file-operation.thread-num",
    optional(integer(1)),
    None,
    "Number of files that expiry and the deletion of tags and branches delete in parallel, at most 64; by default one "
    "after another.",
    fallback_keys=("delete-file.thread-num",),
)
LIMIT = Option("snapshot.expire.limit", integer(1), 50, "Maximum number of snapshots that one expiry removes.")
CLEAN_EMPTY_DIRECTORIES = Option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Delete the partition and bucket directories that an expiry leaves empty.",
    fallback_keys=("snapshot.expire.clean-empty-directories",),
)
CONSUMER_EXPIRATION_TIME = Option(
    "consumer.expiration-time",
    optional(duration),
    None,
    "Time after which a consumer without progress is deleted, so that it no longer protects snapshots from expiry.",
)


CHANGELOG_NUM_RETAINED_MIN = Option(
    "changelog.num-retained.min",
    optional(integer(1)),
    None,
    "Minimum number of commits whose changes are kept, whatever their age; by default the number of snapshots. With a "
    "higher number, changes are kept as long-lived changelogs after their snapshots expire. Until the table has had "
    "this many snapshots, commits of Apache Paimon 1.4 end with an error of their expiry.",
)
CHANGELOG_NUM_RETAINED_MAX = Option(
    "changelog.num-retained.max",
    optional(integer(1)),
    None,
    "Maximum number of commits whose changes are kept, including those of snapshots; by default the number of "
    "snapshots.",
)
CHANGELOG_TIME_RETAINED = Option(
    "changelog.time-retained",
    optional(duration),
    None,
    "Age at which the changes of a commit can expire; by default the age of snapshots.",
)
CONSUMER_CHANGELOG_ONLY = Option(
    "consumer.changelog-only",
    boolean,
    False,
    "Consumers protect only changes from expiry, not snapshots. It has no effect unless changes are kept longer than "
    "snapshots.",
)


@dataclass(frozen=True, slots=True)
class ExpireOptions:
    """Which snapshots are kept, and how many expire at once."""

    num_retained_min: int = NUM_RETAINED_MIN.field()
    num_retained_max: int = NUM_RETAINED_MAX.field()
    time_retained_ms: int = TIME_RETAINED.field()
    limit: int = LIMIT.field()
    delete_threads: int | None = DELETE_THREADS.field()
    clean_empty_directories: bool = CLEAN_EMPTY_DIRECTORIES.field()
    consumer_retained_ms: int | None = CONSUMER_EXPIRATION_TIME.field()
    own_changelog_min: int | None = CHANGELOG_NUM_RETAINED_MIN.field()
    own_changelog_max: int | None = CHANGELOG_NUM_RETAINED_MAX.field()
    own_changelog_ms: int | None = CHANGELOG_TIME_RETAINED.field()
    consumers_keep_changelogs_only: bool = CONSUMER_CHANGELOG_ONLY.field()

    @property
    def changelog_num_retained_min(self) -> int:
        """The minimum number of commits whose changes are kept."""
        return self.num_retained_min if self.own_changelog_min is None else self.own_changelog_min

    @property
    def changelog_num_retained_max(self) -> int:
        """The maximum number of commits whose changes are kept."""
        return self.num_retained_max if self.own_changelog_max is None else self.own_changelog_max

    @property
    def changelog_retained_ms(self) -> int:
        """The age at which changes may expire."""
        return self.time_retained_ms if self.own_changelog_ms is None else self.own_changelog_ms

    @property
    def is_changelog_decoupled(self) -> bool:
        """Whether changes outlive their snapshots.

        >>> ExpireOptions(own_changelog_ms=86_400_000).is_changelog_decoupled, ExpireOptions().is_changelog_decoupled
        (True, False)
        """
        return (
            self.changelog_num_retained_max > self.num_retained_max
            or self.changelog_num_retained_min > self.num_retained_min
            or self.changelog_retained_ms > self.time_retained_ms
        )
