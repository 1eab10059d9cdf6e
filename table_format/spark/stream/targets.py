"""The table that a query writes, and whether it still has the rows of earlier micro-batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from table_format.errors import SnapshotNotFound, TableReplaced
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.snapshot import Snapshot
from table_format.spark.stream.target_notes import TargetNote, read_note, write_note
from table_format.table.facts import TableFacts

TARGET: Final = "paimon.target"
"""The option with the identity of the table to which the sink of ``format("paimon")`` writes on Connect."""

_NEW_CHECKPOINT: Final = "start the query with a new checkpoint"


@dataclass
class Target:
    """The table that a query with a checkpoint writes.

    Its last snapshot is in the checkpoint, so that a query that starts again knows it. ``last`` is that of this run.
    """

    facts: TableFacts
    checkpoint: str
    last: TargetNote | None = None

    def with_identity(self, identity: str | None) -> Target:
        """Return the table that had this identity when the query was started."""
        if identity is None:
            return self
        return replace(self, facts=replace(self.facts, store=replace(self.facts.store, identity=identity)))

    def require_intact(self, commit_user: str) -> None:
        """Refuse to write to a table that lacks the rows of earlier micro-batches.

        Raises:
            TableReplaced: the table was dropped and created again, or the checkpoint is that of a query into another
                table.
            TableNotFound: the table was dropped.
            SnapshotNotFound: the table was rolled back.
        """
        name = self.facts.name
        try:
            require_same_table(self.facts.store)
        except TableReplaced as error:
            raise self._replaced() from error
        note = self.last or read_note(self.checkpoint, commit_user)
        if note is None:
            return
        if self._is_other(note):
            raise self._other_than(note)
        if self.facts.snapshots.has_removed(note.snapshot):
            message = (
                f"{name}: the table was rolled back, or a branch has replaced its snapshots, after a streaming query "
                f"wrote to it. Snapshot {note.snapshot_id} is no longer in its history, so it lacks the rows of "
                f"micro-batch {note.batch}; {_NEW_CHECKPOINT}"
            )
            raise SnapshotNotFound(message)

    def note(self, snapshot: Snapshot) -> None:
        """Note the last snapshot with rows of the query."""
        store = self.facts.store
        self.last = TargetNote(
            commit_user=snapshot.commit_user,
            table=store.paths.root,
            identity=store.identity,
            branch=store.paths.branch,
            batch=snapshot.commit_identifier,
            snapshot_id=snapshot.id,
            delta_manifest_list=snapshot.delta_manifest_list,
        )
        write_note(self.checkpoint, self.last)

    def _is_other(self, note: TargetNote) -> bool:
        """Return whether the note is about another table. A table may have been moved, and keeps its identity."""
        store = self.facts.store
        is_known = note.identity is not None and store.identity is not None
        return note.branch != store.paths.branch or (is_known and note.identity != store.identity)

    def _other_than(self, note: TargetNote) -> TableReplaced:
        paths = self.facts.store.paths
        if (note.table, note.branch) == (paths.root, paths.branch):
            return self._replaced()
        where = note.table if note.branch == paths.branch else f"{note.table}, branch '{note.branch}'"
        message = (
            f"{self.facts.name}: the checkpoint {self.checkpoint} is that of a query into another table, {where}, so "
            f"this table lacks the rows of earlier micro-batches; {_NEW_CHECKPOINT}"
        )
        return TableReplaced(message)

    def _replaced(self) -> TableReplaced:
        message = (
            f"{self.facts.name}: the table was dropped and created again after a streaming query wrote to it, so it "
            f"lacks the rows of earlier micro-batches; {_NEW_CHECKPOINT}"
        )
        return TableReplaced(message)
