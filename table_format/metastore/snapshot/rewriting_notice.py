"""The notice that the history of a branch is being replaced by another, as a fast-forward does.

While it exists, even if its process has died, snapshots need not follow each other. Every method raises ``OSError`` if
the store fails.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from table_format.io.paths import is_rewriting_notice
from table_format.io.table_store import TableStore


@dataclass(frozen=True, slots=True)
class RewritingNotice:
    """The notice of one branch; ``apart`` means that the new history does not begin with a snapshot of the old one."""

    store: TableStore

    def exists(self) -> bool:
        """Return whether the history is being replaced, or was when the process died."""
        children = self.store.io.list(self.store.paths.snapshot_directory)
        return any(is_rewriting_notice(child.name) for child in children)

    def create(self, *, apart: bool) -> None:
        """Announce the replacement; do nothing if a crashed attempt has announced it."""
        with suppress(FileExistsError):
            self.store.io.create(self.store.paths.rewriting_notice(apart=apart), b"")

    def begins_apart(self) -> bool:
        """Return whether a crashed attempt has announced a history that begins apart."""
        return self.store.io.status(self.store.paths.rewriting_notice(apart=True)) is not None

    def delete(self) -> None:
        """Delete the notice, because the replacement is complete."""
        for apart in (False, True):
            self.store.io.delete(self.store.paths.rewriting_notice(apart=apart))
