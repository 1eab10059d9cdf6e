"""Plans a rollback: finds what it removes, and the snapshot before the commits of a job.

A job marks its commits with a user or with properties, such as the id of its run. A rollback to the snapshot before the
first of them undoes the job. It also undoes later commits of others, so the plan names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from table_format.counted import counted
from table_format.errors import ConflictError, InvalidInputError, SnapshotNotFound
from table_format.io.table_store import TableStore
from table_format.metastore.history.rollback import find_snapshot
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot

_CHANGES_NO_ROW = frozenset({CommitKind.COMPACT, CommitKind.ANALYZE})
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """Selects commits: those of a user, those with some properties, or both.

    >>> match = CommitMatch(properties={"run": "r1"})
    >>> str(match)
    "run='r1'"
    """

    commit_user: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.commit_user is None and not self.properties:
            message = "expected a commit user or properties of the commits to undo, found neither"
            raise InvalidInputError(message)

    def matches(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot is one of these commits."""
        if self.commit_user not in (None, snapshot.commit_user):
            return False
        return all(snapshot.properties.get(key) == value for key, value in self.properties.items())

    def __str__(self) -> str:
        parts = [] if self.commit_user is None else [f"commit user '{self.commit_user}'"]
        return ", ".join([*parts, *(f"{key}={value!r}" for key, value in self.properties.items())])


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What a rollback to ``target`` would remove: snapshots, oldest first, and tags by name.

    ``others`` are the removed snapshots that changed rows and do not belong to the undone job. For a rollback to a
    given snapshot, there are none.
    """

    target: Snapshot
    removed: tuple[Snapshot, ...] = ()
    others: tuple[Snapshot, ...] = ()
    tags: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"back to snapshot {self.target.id}; {counted(len(self.removed), 'snapshot')} and "
            f"{counted(len(self.tags), 'tag')} would be deleted"
        ]
        lines += [f"snapshot {_shown(snapshot)}" for snapshot in self.removed]
        lines += [f"tag '{name}'" for name in self.tags]
        if self.others:
            lines.append(f"of others: {', '.join(str(snapshot.id) for snapshot in self.others)}")
        return "\n".join(lines)

    def require_no_others(self, match: CommitMatch) -> None:
        """Refuse to undo commits of others.

        Raises:
            ConflictError: there are such commits; the message names their snapshots.
        """
        if not self.others:
            return
        named = "; ".join(_shown(snapshot) for snapshot in self.others[:_SHOWN])
        more = len(self.others) - _SHOWN
        message = (
            f"a rollback to snapshot {self.target.id}, before the commits with {match}, would also undo what "
            f"others committed since: snapshot {named}{f' and {more} more' if more > 0 else ''}. Nothing was changed; "
            "set including_others to true to undo that too"
        )
        raise ConflictError(message)


def plan_rollback(store: TableStore, target: Snapshot, match: CommitMatch | None = None) -> RollbackPlan:
    """Plan a rollback to a snapshot; with a ``match``, the plan names the commits of others.

    Raises:
        CorruptionError: a snapshot or a tag cannot be read.
    """
    snapshots = SnapshotStore(store)
    found = (snapshots.find(snapshot_id) for snapshot_id in snapshots.listed_ids() if snapshot_id > target.id)
    removed = tuple(snapshot for snapshot in found if snapshot is not None)
    return RollbackPlan(
        target=target,
        removed=removed,
        others=() if match is None else tuple(s for s in removed if _is_of_others(s, match)),
        tags=tuple(sorted(name for name, tag in TagStore(store).all().items() if tag.snapshot.id > target.id)),
    )


def plan_rollback_before(store: TableStore, match: CommitMatch) -> RollbackPlan:
    """Plan the rollback to the snapshot before the first retained one that matches.

    Raises:
        SnapshotNotFound: no retained snapshot matches, or the table had no snapshot before.
        SnapshotExpired: the snapshot before it has expired, and no tag keeps it.
    """
    snapshots = SnapshotStore(store)
    found = (snapshots.find(snapshot_id) for snapshot_id in snapshots.ids())
    first = next((snapshot for snapshot in found if snapshot is not None and match.matches(snapshot)), None)
    if first is None:
        message = f"{store.paths.root}: no retained snapshot is of a commit with {match}"
        raise SnapshotNotFound(message)
    if first.id == FIRST_SNAPSHOT_ID:
        message = (
            f"{store.paths.root}: the commit with {match} created snapshot {first.id}, and the table has no "
            "earlier snapshot to go back to; truncate the table instead"
        )
        raise SnapshotNotFound(message)
    return plan_rollback(store, find_snapshot(store, first.id - 1), match)


def _is_of_others(snapshot: Snapshot, match: CommitMatch) -> bool:
    return snapshot.commit_kind not in _CHANGES_NO_ROW and not match.matches(snapshot)


def _shown(snapshot: Snapshot) -> str:
    properties = "".join(f", {key}={value}" for key, value in sorted(snapshot.properties.items()))
    return f"{snapshot.id} ({snapshot.commit_kind.value} by '{snapshot.commit_user}'{properties})"
