"""Which commits leave the rows of a table as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.model.snapshot import CommitKind, Snapshot

SAME_ROWS: Final[Mapping[str, str]] = {"same-rows": "true"}
"""The property of a commit that replaces all files of a partition by others with the same rows."""


def keeps_rows(snapshot: Snapshot) -> bool:
    """Return whether a commit has only moved rows to other files. Rows that were on level 0 may be visible since."""
    moved = (CommitKind.COMPACT, CommitKind.ANALYZE)
    return snapshot.commit_kind in moved or SAME_ROWS.items() <= snapshot.properties.items()
