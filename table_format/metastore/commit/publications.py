"""The publications of a committer, including uncertain ones. Only this module decides which files may be deleted.

A publication is recorded before the first request for its snapshot. It is removed only when it is certain that no
request took effect or still can. So after an interrupt between any two steps it is still recorded: the snapshot may
exist, and its files stay until the store has been searched.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from table_format.errors import CommitOutcomeUnknown, TableFormatError
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from table_format.runtime import Clock

REMEMBERED: Final = 8
"""The number of ended publications whose files are remembered; one commit creates at most two."""

Key: TypeAlias = tuple[int, CommitKind]
"""Commit identifier and kind, which identify one snapshot of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One snapshot whose creation was requested.

    ``files`` are the names of the files that it adds to the table. It was first requested after snapshot ``since`` and
    last as ``attempted_id``; no request takes effect after the monotonic time ``last_effect_ms``. ``is_reported`` is
    true if an error has reported its outcome as unknown.
    """

    key: Key
    files: frozenset[str]
    since: int
    attempted_id: int
    last_effect_ms: int
    is_reported: bool = False

    def after(self, before: Publication | None) -> Publication:
        """Return this publication combined with an earlier one of the same key that has not ended."""
        if before is None:
            return self
        return replace(
            self,
            files=self.files | before.files,
            since=min(self.since, before.since),
            last_effect_ms=max(self.last_effect_ms, before.last_effect_ms),
        )


class Publications:
    """The publications of one committer: those that may still take effect, and the last ended ones."""

    def __init__(self, snapshots: SnapshotStore, clock: Clock, user: str) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._user = user
        self._open: dict[Key, Publication] = {}
        self._published: deque[tuple[Publication, Snapshot]] = deque(maxlen=REMEMBERED)
        self._left: deque[Publication] = deque(maxlen=REMEMBERED)

    def open(self, key: Key) -> Publication | None:
        """Return the publication with this key whose outcome is not settled."""
        return self._open.get(key)

    def begin(self, publication: Publication) -> None:
        """Record a publication. Call this before its snapshot is requested."""
        self._open[publication.key] = publication

    def refused(self, key: Key, before: Publication | None) -> None:
        """Record that no request since ``before`` took effect or still can; ``before`` itself remains uncertain."""
        if before is None:
            self._open.pop(key, None)
        else:
            self._open[key] = before

    def published(self, publication: Publication, snapshot: Snapshot) -> None:
        """Record that the publication became this snapshot."""
        # First add it there, then remove it here, so that an interrupt in between leaves it in at least one place.
        self._published.append((publication, snapshot))
        self._open.pop(publication.key, None)

    def leave(self, key: Key) -> None:
        """Stop tracking a publication; its files stay, whether a snapshot names them or not."""
        if (publication := self._open.get(key)) is not None:
            self._left.append(publication)
            self._open.pop(key, None)

    def published_as(self, key: Key, files: frozenset[str]) -> Snapshot | None:
        """Return the snapshot that an earlier call published with exactly these files, if it is remembered.

        A caller that was interrupted after the publication repeats the same work.
        """
        if not files:
            return None
        return next((snapshot for done, snapshot in self._published if (done.key, done.files) == (key, files)), None)

    def begun_before(self, key: Key, files: frozenset[str]) -> Publication | None:
        """Return an unsettled publication of the same work.

        The commit identifier identifies the work. Without identifiers, the files identify it: different files are
        different work, and the earlier publication is settled first.

        Raises:
            CommitOutcomeUnknown: earlier work without an identifier cannot be settled.
        """
        before = self._open.get(key)
        if before is None or key[0] != BATCH_COMMIT_IDENTIFIER or before.is_reported or before.files == files:
            return before
        self._settle(before)
        return None

    def refuse_reported(self) -> None:
        """Refuse to continue after an error reported the outcome of a commit as unknown.

        Raises:
            CommitOutcomeUnknown: the outcome of a commit is unknown; the error is about the first one.
        """
        for publication in self._open.values():
            if publication.is_reported:
                raise self._unknown(publication, "ask filter_committed")

    def outcome(self, key: Key) -> Snapshot | None:
        """Return the snapshot that an unsettled publication became; ``None`` if it certainly had no effect.

        Raises:
            CommitOutcomeUnknown: the outcome is not known.
        """
        publication = self._open.get(key)
        return None if publication is None else self._settle(publication)

    def named_files(self) -> frozenset[str]:
        """Return the files of this committer that a snapshot names; its other files are not in any snapshot.

        The store is searched for interrupted publications.

        Raises:
            CommitOutcomeUnknown: the outcome of one of them is not known.
        """
        self.refuse_reported()
        for publication in tuple(self._open.values()):
            self._settle(publication)
        ended = [*(publication for publication, _ in self._published), *self._left]
        return frozenset(name for publication in ended for name in publication.files)

    def has_requested(self, identifier: int, files: frozenset[str]) -> bool:
        """Return whether a commit with this identifier is unsettled, or was published with exactly these files."""
        return any(key[0] == identifier for key in self._open) or any(
            done.key[0] == identifier and done.files == files for done, _ in self._published
        )

    def find(self, key: Key, since: int, latest_id: int) -> tuple[Snapshot | None, int | None]:
        """Return the user's snapshot with this key after ``since``, or the id of one that expired before that."""
        wanted = (self._user, *key)
        return self._snapshots.newest(
            lambda s: (s.commit_user, s.commit_identifier, s.commit_kind) == wanted, up_to=latest_id, after=since
        )

    def _settle(self, publication: Publication) -> Snapshot | None:
        """Return the snapshot that an interrupted publication became, if any.

        Raises:
            CommitOutcomeUnknown: the outcome is not known.
        """
        try:
            latest_id = self._snapshots.latest_id() or 0
            snapshot, expired_id = self.find(publication.key, publication.since, latest_id)
        except (OSError, TableFormatError) as error:
            raise self._unknown(publication, f"history cannot be read ({error})") from error
        if snapshot is not None:
            self.published(publication, snapshot)
            return snapshot
        if expired_id is not None:
            raise self._unknown(publication, f"snapshot {expired_id} has expired in the meantime")
        # If another snapshot has the id, no request can take effect any more.
        if publication.attempted_id > latest_id and self._clock.monotonic_ms() <= publication.last_effect_ms:
            raise self._unknown(publication, "the request may still take effect")
        self._open.pop(publication.key, None)
        return None

    def _unknown(self, publication: Publication, why: str) -> CommitOutcomeUnknown:
        identifier, kind = publication.key
        message = (
            f"It is not known whether the {kind.value} of user '{self._user}' with identifier {identifier} was "
            f"published after snapshot {publication.since}: {why}. Its files must stay"
        )
        return CommitOutcomeUnknown(self._user, identifier, publication.since + 1, message)
