"""What an expiry must know: what goes with some snapshots, and what must stay (format chapter 10, section 9).

This is the reading half. Whatever must stay and cannot be read is an error; whatever would go and cannot be read is
left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from table_format.errors import CorruptionError, MissingFile
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import BranchNeeds, needs_of_changelogs, needs_of_other_branches
from table_format.metastore.expiry.retention import ExpiryRange, Retention, changelog_range, expiry_range
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.consumers import first_needed_snapshot
from table_format.metastore.references.snapshot_files import (
    FileKey,
    MetadataNames,
    added_files,
    as_changelog,
    file_key,
    is_change,
    metadata_names,
    removed_files,
    without_changelog,
)
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.changelog_store import ChangeHistory, ChangelogStore, KeptChanges
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.table_options import TableOptions

_LONGEST_LOOK: Final = 256
"""Snapshots whose kind is asked one by one; beyond, the latest state is read instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryFacts:
    """What a plan rests on: the snapshots that go, the one that stays, and what must not be touched.

    ``removed`` are the files that the deltas took out, ``changelog`` the changelog files that go, ``names`` the
    metadata of the snapshots that go, ``needed`` that of what stays. ``snapshots`` may be long-lived changelogs.
    """

    snapshots: Sequence[Snapshot]
    removed: Sequence[ManifestEntry]
    changelog: Sequence[ManifestEntry]
    protected: frozenset[FileKey]
    needed: MetadataNames
    names: MetadataNames
    kept_changes: KeptChanges = KeptChanges.NOTHING
    unreadable: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Of the data and changelog files that go."""
        gone = (e for e in (*self.removed, *self.changelog) if file_key(e) not in self.protected)
        return sum({file_key(e): e.file.file_size for e in gone}.values())


class ExpiryReader:
    """Reads what an expiry of one table must know."""

    def __init__(
        self, store: TableStore, options: TableOptions, snapshots: SnapshotStore, manifests: ManifestStore
    ) -> None:
        self._store = store
        self._options = options
        self._manifests = manifests
        self.snapshots = snapshots
        self.changelogs = ChangelogStore(store)
        self._tags_read: frozenset[str] = frozenset()

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
        expire = self._options.expire
        spares = expire.consumers_keep_changelogs_only and expire.is_changelog_decoupled
        needed = None if spares else first_needed_snapshot(self._store)
        time_of = _times(self.snapshots.find)
        found = expiry_range(rules, earliest=earliest, latest=latest, time_of=time_of, first_needed=needed)
        run = self.snapshots.ids() if found.ids else ()
        if not run or run[0] <= found.begin:
            return found
        # The hint leads to a snapshot below a hole.
        return expiry_range(rules, earliest=run[0], latest=latest, time_of=time_of, first_needed=needed)

    def choose_changelogs(self, rules: Retention) -> ExpiryRange | None:
        """The long-lived changelogs that may go; ``None`` for a table without any."""
        latest, ids = self.snapshots.latest_id(), self.changelogs.ids()
        if latest is None or not ids:
            return None
        return changelog_range(
            rules,
            earliest=ids[0],
            last=ids[-1],
            latest=latest,
            time_of=_times(self.changelogs.find),
            first_needed=first_needed_snapshot(self._store),
        )

    def tags(self) -> Mapping[str, Snapshot]:
        """What is kept apart from the history, by what keeps it: tagged snapshots, and those below a hole in the ids.

        A rollback that has not come to its end puts a snapshot there, which is its target.
        """
        tags = TagStore(self._store).all()
        self._tags_read = frozenset(tags)
        found = {f"tag '{name}'": tag.snapshot for name, tag in tags.items()}
        alone = ((i, self.snapshots.find(i)) for i in self.snapshots.lone_ids())
        return found | {f"snapshot {i}": snapshot for i, snapshot in alone if snapshot is not None}

    def is_overtaken(self, found: ExpiryRange) -> bool:
        """Whether files may be missing because somebody else deletes: another expiry, or the deletion of a tag."""
        tags = TagStore(self._store)
        if tags.names_being_deleted() or frozenset(tags.names()) != self._tags_read:
            return True
        if any(notice.end > found.begin for notice in self.snapshots.notices()):
            return True
        return not all(map(self.snapshots.exists, (found.begin, found.end)))

    def facts(self, found: ExpiryRange, tagged: Mapping[str, Snapshot]) -> ExpiryFacts:
        """What goes with the snapshots of the range, and what stays.

        Raises:
            CorruptionError: what must stay cannot be read.
        """
        kept = KeptChanges.by(self._options)
        end = self.snapshots.load(found.end)
        going = [s for s in map(self.snapshots.find, found.ids) if s is not None]
        unreadable: list[str] = []
        removed = self._removed((*going[1:], end), unreadable)
        if kept is KeptChanges.DELTAS:
            removed = [entry for entry in removed if not is_change(entry)]
        changelog: list[ManifestEntry] = []
        names = MetadataNames()
        for snapshot in going:
            if kept is KeptChanges.NOTHING:
                changelog += self._entries(self._manifests.changelog_manifests, snapshot, unreadable) or ()
            names.add(self._names_that_go(snapshot, kept))
        needs = self._other_needs(kept)
        kept_apart = self._placed(tagged, end)
        ids = range(found.begin + 1, found.end + 1)
        return ExpiryFacts(
            snapshots=going,
            removed=removed,
            changelog=changelog,
            protected=needs.files | (self._protected(ids, end, kept_apart, removed) if removed else frozenset()),
            needed=self._needed(end, kept_apart, needs),
            names=names,
            kept_changes=kept,
            unreadable=tuple(unreadable),
        )

    def changelog_facts(self, found: ExpiryRange, tagged: Mapping[str, Snapshot]) -> ExpiryFacts:
        """What goes with the long-lived changelogs of the range, and what stays.

        A manifest that one of them names and a later one needs is named by the next, or by the earliest snapshot, too.

        Raises:
            CorruptionError: what must stay cannot be read.
        """
        end = self.snapshots.load(next(iter(self.snapshots.ids()), found.end))
        going = [c for c in map(self.changelogs.find, found.ids) if c is not None]
        unreadable: list[str] = []
        removed = [entry for entry in self._removed(going, unreadable) if is_change(entry)]
        changelog: list[ManifestEntry] = []
        names = MetadataNames()
        for gone in going:
            changelog += self._entries(self._manifests.changelog_manifests, gone, unreadable) or ()
            names.add(metadata_names(as_changelog(gone), self._manifests, passing_over=CorruptionError))
        needs = needs_of_other_branches(self._store, self._manifests)
        kept_apart = self._placed(tagged, end)
        needed = self._needed(end, kept_apart, needs)
        first = next((i for i in self.changelogs.ids() if i >= found.end), found.end)
        for stays in (self.changelogs.find(first), self.snapshots.find(self.snapshots.earliest_id() or first)):
            if stays is not None:
                needed.add(metadata_names(as_changelog(stays), self._manifests, passing_over=MissingFile))
        return ExpiryFacts(
            snapshots=going,
            removed=removed,
            changelog=changelog,
            protected=needs.files
            | (self._protected(found.ids, going[-1], kept_apart, removed) if removed else frozenset()),
            needed=needed,
            names=names,
            unreadable=tuple(unreadable),
        )

    def _names_that_go(self, snapshot: Snapshot, kept: KeptChanges) -> MetadataNames:
        if kept is not KeptChanges.NOTHING:
            snapshot = without_changelog(snapshot)
        names = metadata_names(snapshot, self._manifests, passing_over=CorruptionError)
        if kept is KeptChanges.DELTAS:
            # Manifests of the base hold what earlier commits wrote, so they stay as long as the changelog.
            names.manifests.clear()
            names.manifest_lists.clear()
        return names

    def _other_needs(self, kept: KeptChanges) -> BranchNeeds:
        needs = needs_of_other_branches(self._store, self._manifests)
        if kept is KeptChanges.NOTHING and self.changelogs.ids():
            # Changelogs of a time when they were to be kept longer: nobody has told them to go.
            own = needs_of_changelogs(self._store, self._manifests)
            needs.names.add(own.names)
            return BranchNeeds(needs.names, needs.files | own.files)
        return needs

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

    def _placed(self, tagged: Mapping[str, Snapshot], end: Snapshot) -> _KeptApart:
        """What is kept apart and not by the history from ``end`` on, and whether it has a place in that history."""
        before: dict[str, Snapshot] = {}
        astray: dict[str, Snapshot] = {}
        listed = frozenset(self.snapshots.listed_ids())
        for name, snapshot in tagged.items():
            retained = self.snapshots.find(snapshot.id) if snapshot.id in listed else None
            if retained is not None and retained.is_same(snapshot):
                if snapshot.id < end.id:
                    before[name] = snapshot
            elif retained is not None or snapshot.id >= end.id:
                # Of a history that was given up, or its id is damaged: nobody can tell what lies near it.
                astray[name] = snapshot
            else:
                before[name] = snapshot
        if self.snapshots.is_being_rewritten():
            # Snapshots need not follow each other, so each is asked for itself.
            later = ((i, self.snapshots.find(i)) for i in sorted(listed) if i >= end.id)
            astray |= {f"snapshot {i}": snapshot for i, snapshot in later if snapshot is not None}
        times = [s.time_millis for s in sorted((*before.values(), end), key=lambda s: s.id)]
        if times != sorted(times):
            return _KeptApart({}, astray | before)
        return _KeptApart(before, astray)

    def _needed(self, end: Snapshot, kept_apart: _KeptApart, needs: BranchNeeds) -> MetadataNames:
        needed = MetadataNames()
        for state in self._up_to_a_whole_one(end):
            needed.add(metadata_names(state, self._manifests, passing_over=MissingFile))
        needed.add(needs.names)
        for name, snapshot in kept_apart.all.items():
            passing_over = MissingFile if self._may_lack_files(name) else None
            with _naming(name):
                needed.add(metadata_names(without_changelog(snapshot), self._manifests, passing_over=passing_over))
        return needed

    def _up_to_a_whole_one(self, end: Snapshot) -> Iterator[Snapshot]:
        """``end``, and while files of these are gone with another expiry those after it.

        A manifest that a later snapshot shares with one before ``end`` is named by all in between.

        Raises:
            MissingFile: the table is damaged, or others expire faster than this reads.
        """
        yield end
        try:
            metadata_names(end, self._manifests)
        except MissingFile as error:
            if not self.snapshots.is_expiring(end.id):
                raise
            later = (self.snapshots.find(i) for i in self.snapshots.listed_ids() if i > end.id)
            for state in (state for state in later if state is not None):
                yield state
                with suppress(MissingFile):
                    metadata_names(state, self._manifests)
                    return
            raise error from None

    def _may_lack_files(self, name: str) -> bool:
        """Whether what is kept apart is half gone, and rightly so."""
        tag = _tag_named(name)
        return tag is None or TagStore(self._store).is_being_deleted(tag)

    def _protected(
        self, ids: Iterable[int], end: Snapshot, kept_apart: _KeptApart, removed: Sequence[ManifestEntry]
    ) -> set[FileKey]:
        """Files of the nearest tag before each of the snapshots, and what the history after ``end`` brought back."""
        wanted = FileFilter(
            partitions=frozenset(entry.partition for entry in removed),
            buckets=frozenset(entry.bucket for entry in removed),
        )
        files: set[FileKey] = set()
        nearest = nearest_tags({name: tag.id for name, tag in kept_apart.before.items()}, ids)
        for name in (*nearest, *kept_apart.astray):
            with _naming(name):
                try:
                    files |= self._live(kept_apart.all[name], wanted)
                except MissingFile:
                    if not self._may_lack_files(name):
                        raise
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
        history = ChangeHistory(self.snapshots, self.changelogs)
        later = (history.find(snapshot_id) for snapshot_id in range(end.id + 1, latest.id + 1))
        files: set[FileKey] = set()
        for snapshot in later:
            if snapshot is not None and snapshot.commit_kind is CommitKind.OVERWRITE:
                files |= self._added_by(snapshot)
        return files

    def _added_by(self, snapshot: Snapshot) -> set[FileKey]:
        try:
            return added_files(self._manifests.delta_entries(snapshot))
        except MissingFile:
            if self.snapshots.exists(snapshot.id):
                raise
            return set()  # a changelog of which only changelog files are kept

    def _live(self, snapshot: Snapshot, wanted: FileFilter) -> set[FileKey]:
        plan = live_files(self._manifests, snapshot, schema=self._schema, schemas={}, filter=wanted)
        return {file_key(entry) for entry in plan.entries}


def _times(find: Callable[[int], Snapshot | None]) -> Callable[[int], int | None]:
    def time_of(snapshot_id: int) -> int | None:
        snapshot = find(snapshot_id)
        return None if snapshot is None else snapshot.time_millis

    return time_of


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


@dataclass(frozen=True, slots=True)
class _KeptApart:
    """Snapshots that something apart from the history keeps, by what keeps them: those that have a place in it before
    some snapshot, and those of which nobody can tell.
    """

    before: Mapping[str, Snapshot]
    astray: Mapping[str, Snapshot]

    @property
    def all(self) -> Mapping[str, Snapshot]:
        return {**self.before, **self.astray}


def _tag_named(name: str) -> str | None:
    """The tag that a keeper is; ``None`` for a lone snapshot."""
    return name.removeprefix("tag '").removesuffix("'") if name.startswith("tag ") else None


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except CorruptionError as e:
        e.add_note(f"{name} needs this file; restore it, or delete the {name.partition(' ')[0]}")
        raise
