"""A snapshot: one committed state of a table (format chapter 03; Java ``org.apache.paimon.Snapshot``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from table_format.secrets import redact, shown_options

CURRENT_SNAPSHOT_VERSION: Final = 3
FIRST_SNAPSHOT_ID: Final = 1
BATCH_COMMIT_IDENTIFIER: Final = 9_223_372_036_854_775_807
"""The commit identifier of jobs that commit only once with a unique commit user."""

NO_WATERMARK: Final = -(1 << 63)
"""The watermark that engines without watermarks write."""


class CommitKind(StrEnum):
    """The kind of a commit; the values are stored in snapshot files."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Snapshot:
    """The content of ``snapshot/snapshot-<id>``. Counts are physical rows, sizes are bytes, times are epoch ms."""

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    version: int = CURRENT_SNAPSHOT_VERSION
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    log_offsets: Mapping[int, int] = field(default_factory=dict)
    total_record_count: int | None = 0
    delta_record_count: int | None = 0
    changelog_record_count: int | None = 0
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    next_row_id: int | None = None
    uuid: str | None = None
    writer_version: str | None = None
    operation: str | None = None

    def __repr__(self) -> str:
        """What a user asks about a snapshot; its other members are the names and sizes of metadata files."""
        parts = [
            f"id={self.id}",
            self.commit_kind.value,
            f"time={shown_time(self.time_millis)}",
            f"total_record_count={self.total_record_count}",
            f"delta_record_count={self.delta_record_count}",
            f"schema_id={self.schema_id}",
            f"commit_user={redact(self.commit_user)!r}",
            f"commit_identifier={self.commit_identifier}",
        ]
        parts += [] if self.watermark is None else [f"watermark={self.watermark}"]
        parts += [f"properties={shown_options(self.properties)!r}"] if self.properties else []
        return f"Snapshot({', '.join(parts)})"

    def is_same(self, other: Snapshot) -> bool:
        """Return whether both are the same snapshot. After a rollback, ids are reused, but file names never are."""

        def names(snapshot: Snapshot) -> tuple[int, str, str]:
            return snapshot.id, snapshot.base_manifest_list, snapshot.delta_manifest_list

        return names(self) == names(other)

    def list_size(self, name: str) -> int | None:
        """Return the recorded size in bytes of the manifest list with this name; ``None`` if it is not recorded."""
        sizes = {
            self.changelog_manifest_list: self.changelog_manifest_list_size,
            self.delta_manifest_list: self.delta_manifest_list_size,
            self.base_manifest_list: self.base_manifest_list_size,
        }
        return sizes.get(name)


def shown_time(milliseconds: int) -> str:
    """Return an epoch time as text.

    >>> shown_time(1_500)
    '1970-01-01T00:00:01.500+00:00'
    """
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):  # no time in a calendar
        return str(milliseconds)
