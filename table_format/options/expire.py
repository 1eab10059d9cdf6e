"""How long snapshots and changelogs live (format chapter 10, section 9; Java ``ExpireConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import MAX_INT, boolean, duration, integer, optional

NUM_RETAINED_MIN = Option("snapshot.num-retained.min", integer(1), 10, "Snapshots kept whatever their age.")
NUM_RETAINED_MAX = Option("snapshot.num-retained.max", integer(1), MAX_INT, "Snapshots kept at most.")
TIME_RETAINED = Option(
    "snapshot.time-retained",
    duration,
    3_600_000,
    "Age from which a snapshot may be expired. Whatever this says, nothing younger than two and a half times "
    "commit.attempt-timeout and commit.request-timeout together goes.",
)
LIMIT = Option("snapshot.expire.limit", integer(1), 50, "Snapshots expired in one go.")
CLEAN_EMPTY_DIRECTORIES = Option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Delete partition and bucket directories that expiry leaves empty.",
    fallback_keys=("snapshot.expire.clean-empty-directories",),
)
CONSUMER_EXPIRATION_TIME = Option(
    "consumer.expiration-time",
    optional(duration),
    None,
    "Consumers that have recorded no progress for that long are forgotten, so that they keep nothing from expiry.",
)


CHANGELOG_NUM_RETAINED_MIN = Option(
    "changelog.num-retained.min",
    optional(integer(1)),
    None,
    "Commits whose changes are kept whatever their age; without a value as many as snapshots. More than that, and "
    "changes outlive their snapshots as long-lived changelogs.",
)
CHANGELOG_NUM_RETAINED_MAX = Option(
    "changelog.num-retained.max",
    optional(integer(1)),
    None,
    "Commits whose changes are kept at most, those of the snapshots included; without a value as many as snapshots.",
)
CHANGELOG_TIME_RETAINED = Option(
    "changelog.time-retained",
    optional(duration),
    None,
    "Age from which the changes of a commit may be expired; without a value that of snapshots.",
)
CONSUMER_CHANGELOG_ONLY = Option(
    "consumer.changelog-only",
    boolean,
    False,
    "Consumers keep only changes from expiry, not snapshots; where changes do not outlive snapshots it has no effect.",
)


@dataclass(frozen=True, slots=True)
class ExpireOptions:
    """Which snapshots are kept, and how many go at once."""

    num_retained_min: int = NUM_RETAINED_MIN.field()
    num_retained_max: int = NUM_RETAINED_MAX.field()
    time_retained_ms: int = TIME_RETAINED.field()
    limit: int = LIMIT.field()
    clean_empty_directories: bool = CLEAN_EMPTY_DIRECTORIES.field()
    consumer_retained_ms: int | None = CONSUMER_EXPIRATION_TIME.field()
    own_changelog_min: int | None = CHANGELOG_NUM_RETAINED_MIN.field()
    own_changelog_max: int | None = CHANGELOG_NUM_RETAINED_MAX.field()
    own_changelog_ms: int | None = CHANGELOG_TIME_RETAINED.field()
    consumers_keep_changelogs_only: bool = CONSUMER_CHANGELOG_ONLY.field()

    @property
    def changelog_num_retained_min(self) -> int:
        """Commits whose changes are kept whatever their age."""
        return self.num_retained_min if self.own_changelog_min is None else self.own_changelog_min

    @property
    def changelog_num_retained_max(self) -> int:
        """Commits whose changes are kept at most."""
        return self.num_retained_max if self.own_changelog_max is None else self.own_changelog_max

    @property
    def changelog_retained_ms(self) -> int:
        """Age from which changes may be expired."""
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
