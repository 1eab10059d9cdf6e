"""What an expiry must know: what goes with some snapshots, and what must stay (format chapter 10, section 9).

This is the reading half. Whatever must stay and cannot be read is an error; whatever would go and cannot be read is
left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from table_format.errors import CorruptionError, MissingFile
from table_format.io.table_store import TableStore
from table_format.metastore.branch_needs import BranchNeeds, needs_of_other_branches
from table_format.metastore.consumers import first_needed_snapshot
from table_format.metastore.deletions import (
    FileKey,
    MetadataNames,
    added_files,
    file_key,
    metadata_names,
    removed_files,
    without_changelog,
)
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.manifests import ManifestStore
from table_format.metastore.partitions import Partitions
from table_format.metastore.plan import live_files
from table_format.metastore.retention import ExpiryRange, Retention, expiry_range
from table_format.metastore.schemas import SchemaStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.metastore.tags import TagStore
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.table_options import TableOptions

_LONGEST_LOOK: Final = 256
"""Snapshots whose kind is asked one by one; beyond, the latest state is read instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryFacts:
    """What a plan rests on: the snapshots that go, the one that stays, and what must not be touched.

    ``removed`` are the files the deltas of (begin, end] took out, ``changelog`` the changelog files of [begin, end),
    ``names`` the metadata of the snapshots that go, ``needed`` that of what stays.
    """

    snapshots: Sequence[Snapshot]
    removed: Sequence[ManifestEntry]
    changelog: Sequence[ManifestEntry]
    protected: frozenset[FileKey]
    needed: MetadataNames
    names: MetadataNames
    unreadable: tuple[str, ...] = ()


class ExpiryReader:
    """Reads what an expiry of one table must know."""

    def __init__(
        self, store: TableStore, options: TableOptions, snapshots: SnapshotStore, manifests: ManifestStore
    ) -> None:
        self._store = store
        self._options = options
        self._manifests = manifests
        self.snapshots = snapshots

    @cached_property
    def _schema(self) -> TableSchema:
        return SchemaStore(self._store).latest()

    @property
    def partitions(self) -> Partitions:
        """The partitions of the table."""
        return Partitions(self._schema, self._options)

    def choose(self, rules: Retention) -> ExpiryRange | None:
        """The snapshots that may go; ``None`` for a table without any."""
        earliest, latest = self.snapshots.earliest_id(), self.snapshots.latest_id()
        if earliest is None or latest is None:
            return None
        needed = first_needed_snapshot(self._store)
        return expiry_range(rules, earliest=earliest, latest=latest, time_of=self._time_of, first_needed=needed)

    def _time_of(self, snapshot_id: int) -> int | None:
        snapshot = self.snapshots.find(snapshot_id)
        return None if snapshot is None else snapshot.time_millis

    def tags(self) -> Mapping[str, Snapshot]:
        """The tagged snapshots by name of the tag."""
        return {name: tag.snapshot for name, tag in TagStore(self._store).all().items()}

    def facts(self, found: ExpiryRange, tagged: Mapping[str, Snapshot]) -> ExpiryFacts:
        """What goes with the snapshots of the range, and what stays.

        Raises:
            CorruptionError: what must stay cannot be read.
        """
        end = self.snapshots.load(found.end)
        going = [s for s in map(self.snapshots.find, found.ids) if s is not None]
        unreadable: list[str] = []
        removed = self._removed((*going[1:], end), unreadable)
        changelog: list[ManifestEntry] = []
        names = MetadataNames()
        for snapshot in going:
            changelog += self._entries(self._manifests.changelog_manifests, snapshot, unreadable) or ()
            names.add(metadata_names(snapshot, self._manifests, passing_over=CorruptionError))
        branches = needs_of_other_branches(self._store, self._manifests)
        tags = {name: snapshot for name, snapshot in tagged.items() if snapshot.id < end.id}
        return ExpiryFacts(
            snapshots=going,
            removed=removed,
            changelog=changelog,
            protected=branches.files | (self._protected(found, end, tags, removed) if removed else frozenset()),
            needed=self._needed(end, tags, branches),
            names=names,
            unreadable=tuple(unreadable),
        )

    def _entries(
        self,
        manifests_of: Callable[[Snapshot], Sequence[ManifestFileMeta]],
        snapshot: Snapshot,
        unreadable: list[str],
    ) -> Sequence[ManifestEntry] | None:
        try:
            return [entry for manifest in manifests_of(snapshot) for entry in self._manifests.read(manifest)]
        except MissingFile:
            return None  # an expiry that did not finish went past here, and its data files were deleted first
        except CorruptionError as e:
            unreadable.append(e.path)
            return None

    def _removed(self, snapshots: Iterable[Snapshot], unreadable: list[str]) -> Sequence[ManifestEntry]:
        """The files that the deltas of successive snapshots took out and did not bring back."""
        removed: dict[FileKey, ManifestEntry] = {}
        for snapshot in snapshots:
            delta = self._entries(self._manifests.delta_manifests, snapshot, unreadable)
            if delta is None:
                removed.clear()  # nobody knows whether it brought any of them back
                continue
            for key in added_files(delta) & removed.keys():
                del removed[key]
            removed.update((file_key(entry), entry) for entry in removed_files(delta))
        return tuple(removed.values())

    def _needed(self, end: Snapshot, tags: Mapping[str, Snapshot], branches: BranchNeeds) -> MetadataNames:
        needed = metadata_names(end, self._manifests)
        needed.add(branches.names)
        for name, snapshot in tags.items():
            with _naming_tag(name):
                needed.add(metadata_names(without_changelog(snapshot), self._manifests))
        return needed

    def _protected(
        self, found: ExpiryRange, end: Snapshot, tags: Mapping[str, Snapshot], removed: Sequence[ManifestEntry]
    ) -> set[FileKey]:
        """Files of the nearest tag before each snapshot, and what the history that stays brought back."""
        wanted = FileFilter(
            partitions=frozenset(entry.partition for entry in removed),
            buckets=frozenset(entry.bucket for entry in removed),
        )
        files: set[FileKey] = set()
        for name in nearest_tags({name: tag.id for name, tag in tags.items()}, range(found.begin + 1, found.end + 1)):
            with _naming_tag(name):
                files |= self._live(tags[name], wanted)
        return files | self._brought_back(end, wanted)

    def _brought_back(self, end: Snapshot, wanted: FileFilter) -> set[FileKey]:
        """Files that snapshots after ``end`` may have added though earlier ones had removed them.

        Java's rollback to an old state as a new snapshot does that, under the kind OVERWRITE; nothing else does.
        """
        latest = self.snapshots.latest()
        if latest is None or latest.id == end.id:
            return set()
        if latest.id - end.id > _LONGEST_LOOK:
            return self._live(latest, wanted)
        later = (self.snapshots.find(snapshot_id) for snapshot_id in range(end.id + 1, latest.id + 1))
        files: set[FileKey] = set()
        for snapshot in later:
            if snapshot is not None and snapshot.commit_kind is CommitKind.OVERWRITE:
                files |= added_files(self._manifests.delta_entries(snapshot))
        return files

    def _live(self, snapshot: Snapshot, wanted: FileFilter) -> set[FileKey]:
        plan = live_files(self._manifests, snapshot, schema=self._schema, schemas={}, filter=wanted)
        return {file_key(entry) for entry in plan.entries}


def nearest_tags(tags: Mapping[str, int], ids: Iterable[int]) -> Sequence[str]:
    """For each snapshot id the tag of the nearest snapshot before it; each tag once.

    A file removed by snapshot n that any earlier tag has is one the nearest has, since no file comes back.

    >>> nearest_tags({"a": 1, "b": 5, "c": 9}, range(4, 8))
    ['a', 'b']
    """
    ordered = sorted(tags.items(), key=lambda tag: (tag[1], tag[0]))
    found: dict[str, None] = {}
    for snapshot_id in ids:
        before = [name for name, tagged in ordered if tagged < snapshot_id]
        if before:
            found[before[-1]] = None
    return list(found)


@contextmanager
def _naming_tag(name: str) -> Iterator[None]:
    try:
        yield
    except CorruptionError as e:
        e.add_note(f"tag '{name}' needs this file; restore it, or delete the tag")
        raise
