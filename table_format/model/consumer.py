"""The progress of a consumer, which reads the changes of a table (Java ``Consumer``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsumerProgress:
    """The id of the snapshot that a consumer reads next, and the delta manifest list of the snapshot before it.

    Ids are used again after a rollback; names of manifest lists are not. ``passed`` is ``None`` if it is not known:
    other writers do not record it.
    """

    next_snapshot: int
    passed: str | None = None
