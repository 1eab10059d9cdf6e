"""How a commit is published (format chapter 10)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import AnyOption, Option, unsupported
from table_format.options.values import boolean, duration, integer, optional, text

MAX_RETRIES = Option("commit.max-retries", integer(0), 10, "Attempts after the first when other writers win.")
MIN_RETRY_WAIT = Option("commit.min-retry-wait", duration, 10, "First wait between attempts; it doubles.")
MAX_RETRY_WAIT = Option("commit.max-retry-wait", duration, 10_000, "Longest wait between attempts.")
TIMEOUT = Option("commit.timeout", optional(duration), None, "Time after which no further attempt is made.")
ATTEMPT_TIMEOUT = Option(
    "commit.attempt-timeout",
    duration,
    300_000,
    "Time after reading the latest snapshot within which the next is published, or the attempt begins again. Known "
    "to this library only; it must stay far below snapshot.time-retained.",
)
REQUEST_TIMEOUT = Option(
    "commit.request-timeout",
    duration,
    60_000,
    "Time within which the store answers the publishing request. Known to this library only.",
)
FORCE_CREATE_SNAPSHOT = Option(
    "commit.force-create-snapshot", boolean, False, "A commit without changes makes a snapshot all the same."
)
DYNAMIC_PARTITION_OVERWRITE = Option(
    "dynamic-partition-overwrite",
    boolean,
    True,
    "An overwrite without a partition replaces the partitions that the new rows touch, and not the whole table.",
)
USER_PREFIX = Option("commit.user-prefix", optional(text), None, "Put before the commit user of batch commits.")


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How often and how long a commit is tried."""

    max_retries: int = MAX_RETRIES.field()
    min_retry_wait_ms: int = MIN_RETRY_WAIT.field()
    max_retry_wait_ms: int = MAX_RETRY_WAIT.field()
    timeout_ms: int | None = TIMEOUT.field()
    attempt_ms: int = ATTEMPT_TIMEOUT.field()
    request_ms: int = REQUEST_TIMEOUT.field()
    force_create_snapshot: bool = FORCE_CREATE_SNAPSHOT.field()
    dynamic_partition_overwrite: bool = DYNAMIC_PARTITION_OVERWRITE.field()
    user_prefix: str | None = USER_PREFIX.field()


REFUSED: tuple[AnyOption, ...] = (
    unsupported("snapshot.ignore-empty-commit", optional(boolean), None, "Whether empty commits make snapshots."),
    unsupported("commit.callbacks", text, "", "Java classes called after a commit."),
    unsupported("commit.callback.#.param", optional(text), None, "Their parameters."),
    unsupported("tag.callbacks", text, "", "Java classes called after a tag."),
    unsupported("tag.callback.#.param", optional(text), None, "Their parameters."),
    unsupported("commit.discard-duplicate-files", boolean, False, "Drop files that are committed already."),
    unsupported("commit.strict-mode.last-safe-snapshot", optional(integer(-1)), None, "Detect foreign commits."),
)
