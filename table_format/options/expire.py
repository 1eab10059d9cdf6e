"""How long snapshots live (format chapter 10, section 9)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import AnyOption, Option, unsupported
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


@dataclass(frozen=True, slots=True)
class ExpireOptions:
    num_retained_min: int = NUM_RETAINED_MIN.field()
    num_retained_max: int = NUM_RETAINED_MAX.field()
    time_retained_ms: int = TIME_RETAINED.field()
    limit: int = LIMIT.field()
    clean_empty_directories: bool = CLEAN_EMPTY_DIRECTORIES.field()
    consumer_retained_ms: int | None = CONSUMER_EXPIRATION_TIME.field()


REFUSED: tuple[AnyOption, ...] = (
    unsupported("changelog.num-retained.min", optional(integer(1)), None, "Changelogs kept whatever their age."),
    unsupported("changelog.num-retained.max", optional(integer(1)), None, "Changelogs kept at most."),
    unsupported("changelog.time-retained", optional(duration), None, "Age from which a changelog may be expired."),
)
