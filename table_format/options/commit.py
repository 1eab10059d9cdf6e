"""How a commit is published (format chapter 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.options.declare import AnyOption, Option, unsupported
from table_format.options.values import boolean, duration, duration_within, integer, optional, text

_of_a_store: Final = duration_within(100)
"""The shortest allowed timeout: no store reliably answers faster."""

MAX_RETRIES = Option("commit.max-retries", integer(0), 10, "Number of further attempts if other writers commit first.")
MIN_RETRY_WAIT = Option(
    "commit.min-retry-wait", duration, 10, "First wait between two attempts. It doubles with each attempt."
)
MAX_RETRY_WAIT = Option("commit.max-retry-wait", duration, 10_000, "Longest wait between two attempts.")
TIMEOUT = Option("commit.timeout", optional(duration), None, "Time after which no further attempt starts.")
ATTEMPT_TIMEOUT = Option(
    "commit.attempt-timeout",
    _of_a_store,
    300_000,
    "Time within which an attempt must publish its snapshot after it has read the latest one; otherwise the attempt "
    "starts again. Only this library uses it. It must stay far below 'snapshot.time-retained'.",
)
REQUEST_TIMEOUT = Option(
    "commit.request-timeout",
    _of_a_store,
    60_000,
    "Time within which the store answers the request that publishes a snapshot. Only this library uses it.",
)
FORCE_CREATE_SNAPSHOT = Option(
    "commit.force-create-snapshot", boolean, False, "A commit without changes also creates a snapshot."
)
DYNAMIC_PARTITION_OVERWRITE = Option(
    "dynamic-partition-overwrite",
    boolean,
    True,
    "An overwrite without a partition replaces only the partitions that occur in the new rows, not the whole table.",
)
USER_PREFIX = Option("commit.user-prefix", optional(text), None, "Prefix of the commit user of batch commits.")


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How often and how long a commit is retried."""

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
    unsupported("snapshot.ignore-empty-commit", optional(boolean), None, "Whether empty commits create snapshots."),
    unsupported("commit.callbacks", text, "", "Java classes called after a commit."),
    unsupported("commit.callback.#.param", optional(text), None, "Parameters of these classes."),
    unsupported("tag.callbacks", text, "", "Java classes called after a tag."),
    unsupported("tag.callback.#.param", optional(text), None, "Parameters of these classes."),
    unsupported("commit.discard-duplicate-files", boolean, False, "Drop files that are already committed."),
    unsupported("commit.strict-mode.last-safe-snapshot", optional(integer(-1)), None, "Detect commits of other users."),
)
