"""Long-lived changelogs, which outlive their snapshots (format chapter 03, section 3; Java ``ChangelogManager``).

An expired snapshot whose changes are still needed is kept as ``changelog/changelog-<id>`` with the same content. Of the
files that it names, only those of its changes are guaranteed to exist. The ids are consecutive up to the retained
snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from table_format.codecs.snapshot_json import decode_snapshot
from table_format.io.paths import changelog_id_of
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.numbered_files import NumberedFiles
from table_format.metastore.snapshot.hints import Hints
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import Snapshot
from table_format.options.stream import ChangelogProducer
from table_format.options.table_options import TableOptions


class KeptChanges(Enum):
    """The files of an expired snapshot that are kept, so that its changes can still be read."""

    NOTHING = "nothing"
    DELTAS = "what commits wrote"
    FILES = "changelog files"

    @classmethod
    def by(cls, options: TableOptions) -> KeptChanges:
        """Return the files that a table keeps."""
        if not options.expire.is_changelog_decoupled:
            return cls.NOTHING
        return cls.DELTAS if options.stream.changelog_producer is ChangelogProducer.NONE else cls.FILES


class ChangelogStore:
    """Finds, creates and deletes the long-lived changelogs of one branch."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._files = NumberedFiles(
            store,
            "changelog",
            store.paths.changelog_directory,
            store.paths.changelog,
            changelog_id_of,
            lambda data, path: decode_snapshot(data, path=path),
        )
        self.hints = Hints(store, store.paths.changelog_latest_hint, store.paths.changelog_earliest_hint)

    def __reduce__(self) -> tuple[object, ...]:
        return (ChangelogStore, (self._store,))

    def ids(self) -> Sequence[int]:
        """Return the existing ids, ascending."""
        return self._files.ids()

    def earliest_id(self) -> int | None:
        """Return the smallest id; ``None`` if there are no changelogs."""
        ids = self.ids()
        return ids[0] if ids else None

    def all(self) -> Iterator[Snapshot]:
        """Yield the existing changelogs, ascending; raises the same errors as ``find``."""
        for changelog_id in self.ids():
            if (found := self.find(changelog_id)) is not None:
                yield found

    def later_than(self, changelog_id: int) -> Iterator[Snapshot]:
        """Yield the changelogs after an id; raises the same errors as ``find``."""
        return (changelog for changelog in self.all() if changelog.id > changelog_id)

    def find(self, changelog_id: int) -> Snapshot | None:
        """Return the former snapshot with this id; ``None`` if its changelog is not kept.

        Raises:
            CorruptionError: the file is not the changelog with this id.
        """
        return self._files.find(changelog_id)

    def keep(self, snapshot_id: int) -> None:
        """Create the changelog of a snapshot that is about to be deleted, with the original bytes of the snapshot.

        An existing changelog, of an expiry that did not finish, is replaced. Nothing happens if the snapshot does not
        exist any more.

        Raises:
            CorruptionError: the snapshot cannot be read, so readers would refuse the changelog.
            OSError: the store failed.
        """
        with suppress(FileNotFoundError):
            source = self._store.paths.snapshot(snapshot_id)
            data = read_file(self._store.io, source)
            decode_snapshot(data, path=source)
            self._store.io.overwrite(self._store.paths.changelog(snapshot_id), data)
            self.hints.write_latest(snapshot_id)

    def delete(self, changelog_id: int) -> None:
        """Delete the changelog's file; do nothing if it does not exist."""
        self._files.delete(changelog_id)

    def remove_after(self, changelog_id: int) -> tuple[int, ...]:
        """Delete the changelogs after an id, newest first, and return their ids."""
        ids = self.ids()
        later = [number for number in ids if number > changelog_id]
        if later:
            kept = [number for number in ids if number <= changelog_id]
            if kept:
                self.hints.write_latest(kept[-1])
            else:
                self.hints.write_latest_unknown()
        for number in reversed(later):
            self.delete(number)
        return tuple(later)


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """The changes of a branch by id: those of retained snapshots, and the long-lived changelogs before them."""

    snapshots: SnapshotStore
    changelogs: ChangelogStore

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot of the changes with this id, retained or not; ``None`` if they do not exist."""
        return self.snapshots.find(snapshot_id) or self.changelogs.find(snapshot_id)

    def earliest_id(self) -> int | None:
        """Return the id of the earliest existing changes; ``None`` if there are none."""
        retained = self.snapshots.earliest_id()
        kept = self.changelogs.earliest_id()
        if retained is None or kept is None:
            return retained if kept is None else kept
        return min(retained, kept)
