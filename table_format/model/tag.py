"""Tags: a name that keeps a snapshot (format chapter 03, section 4; Java ``org.apache.paimon.tag.Tag``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Tag:
    """The content of ``tag/tag-<name>``: a snapshot, and optionally its retention.

    ``create_time_ms`` is the writer's local wall-clock time in milliseconds, as if it were UTC. Either both it and
    ``time_retained_ms`` are set, or neither.
    """

    snapshot: Snapshot
    create_time_ms: int | None = None
    time_retained_ms: int | None = None
