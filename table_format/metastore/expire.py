"""Expiry of old snapshots with the files only they need (format chapter 10, section 9; Java ``ExpireSnapshotsImpl``).

Everything that must stay is read before the first file is deleted; when any of it cannot be read nothing is deleted.
Where a snapshot's own delta cannot be read, its files stay behind as orphans. What is deleted is first a plan, which a
dry run returns.

A file removed by snapshot n is still needed by n - 1, so expiring [begin, end) deletes what the deltas of (begin, end]
removed. It stays when the nearest tag before n, another branch, or the retained history has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from table_format.errors import CorruptionError, MissingFile, UnsupportedFeature
from table_format.io.table_store import TableStore
from table_format.metastore.branch_needs import BranchNeeds, needs_of_other_branches
from table_format.metastore.consumers import first_needed_snapshot
from table_format.metastore.deletions import (
    DataPaths,
    Deletions,
    FileKey,
    MetadataNames,
    file_key,
    metadata_names,
    removed_files,
    without_changelog,
)
from table_format.metastore.manifests import ManifestStore
from table_format.metastore.partitions import Partitions
from table_format.metastore.plan import live_files
from table_format.metastore.retention import ExpiryRange, Retention, default_retain_floor_ms, expiry_range
from table_format.metastore.schemas import SchemaStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.metastore.tags import TagStore
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions

_DECOUPLING = ("changelog.num-retained.min", "changelog.num-retained.max", "changelog.time-retained")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryReport:
    """What an expiry deleted, or would delete.

    ``kept_by`` says what keeps the earliest snapshot that stays; ``unreadable`` are broken files whose snapshots' data
    files were left alone; ``bytes`` counts data and changelog files.
    """

    snapshot_ids: tuple[int, ...] = ()
    deletions: Deletions = field(default_factory=Deletions)
    kept_by: str = ""
    unreadable: tuple[str, ...] = ()
    bytes: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryFacts:
    """What a plan rests on: the snapshots that go, the one that stays, and what must not be touched.

    ``removed`` are the files the deltas of (begin, end] took out, ``changelog`` the changelog files of [begin, end).
    """

    snapshots: Sequence[Snapshot]
    removed: Sequence[ManifestEntry]
    changelog: Sequence[ManifestEntry]
    protected: frozenset[FileKey]
    needed: MetadataNames
    names: MetadataNames


def expire_snapshots(
    store: TableStore,
    options: TableOptions,
    *,
    dry_run: bool = False,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_ms: int | None = None,
    limit: int | None = None,
    retain_floor_ms: int | None = None,
) -> ExpiryReport:
    """Delete the oldest snapshots that the options let go; arguments replace the table's options.

    ``older_than_ms`` is an epoch time: a snapshot may go when its successor is older. ``retain_floor_ms`` is an age
    below which nothing goes; give 0 only when nobody else writes to the table.

    Raises:
        InvalidOption: the bounds contradict each other.
        UnsupportedFeature: changelogs are to outlive their snapshots.
        CorruptionError: what must stay cannot be determined; nothing was deleted.
        OSError: the store failed; what was not deleted is deleted the next time.
    """
    _refuse_decoupled(options)
    expiry = _Expiry(store, options)
    now_ms = store.runtime.clock.now_ms()
    floor_ms = default_retain_floor_ms(options.commit) if retain_floor_ms is None else retain_floor_ms
    defaults = options.expire
    rules = Retention(
        retain_min=defaults.num_retained_min if retain_min is None else retain_min,
        retain_max=defaults.num_retained_max if retain_max is None else retain_max,
        older_than_ms=now_ms - defaults.time_retained_ms if older_than_ms is None else older_than_ms,
        floor_ms=now_ms - floor_ms + 1,
        limit=defaults.limit if limit is None else limit,
    )
    found = expiry.choose(rules)
    if found is None or not found.ids:
        return ExpiryReport(kept_by="" if found is None else found.kept_by, dry_run=dry_run)
    tags = expiry.tags()
    report = expiry.plan(found, tags, dry_run=dry_run)
    if dry_run:
        return report
    # Said before the tags are looked at for the last time: a tag made later finds its snapshot going, and one made
    # earlier is seen.
    expiry.snapshots.announce_earliest(found.end)
    tags_now = expiry.tags()
    if tags_now != tags:
        report = expiry.plan(found, tags_now, dry_run=False)
    report.deletions.apply(store)
    return report


def plan_deletions(facts: ExpiryFacts, store: TableStore, paths: DataPaths, *, clean_directories: bool) -> Deletions:
    """The files that go with the snapshots; a pure function of the facts."""
    metadata = facts.names.deletions_except(facts.needed, store)
    data_files = paths.files_of(facts.removed, facts.protected)
    changelog_files = paths.files_of(facts.changelog, facts.protected)
    directories = paths.directories_of((*data_files, *changelog_files)) if clean_directories else ()
    return Deletions(
        data_files=data_files,
        changelog_files=changelog_files,
        empty_directories=directories,
        manifests=metadata.manifests,
        index_files=metadata.index_files,
        statistics=metadata.statistics,
        manifest_lists=metadata.manifest_lists,
        index_manifests=metadata.index_manifests,
        snapshots=tuple(store.paths.snapshot(snapshot.id) for snapshot in facts.snapshots),
    )


def _refuse_decoupled(options: TableOptions) -> None:
    for key in _DECOUPLING:
        if key in options.raw:
            message = (
                f"option '{key}' lets changelogs outlive their snapshots, which this version cannot do when it "
                "expires; expire with the tool that set it, or remove the option"
            )
            raise UnsupportedFeature(key, message)


class _Expiry:
    """The reading half of an expiry."""

    def __init__(self, store: TableStore, options: TableOptions) -> None:
        self._store = store
        self._options = options
        self._schema: TableSchema = SchemaStore(store).latest()
        self._manifests = ManifestStore(store, options)
        self._partitions = Partitions(self._schema, options)
        self.snapshots = SnapshotStore(store)

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

    def plan(self, found: ExpiryRange, tagged: Mapping[str, Snapshot], *, dry_run: bool) -> ExpiryReport:
        """Everything that goes with the snapshots of the range."""
        end = self.snapshots.load(found.end)
        going = [s for s in map(self.snapshots.find, found.ids) if s is not None]
        unreadable: list[str] = []
        removed: list[ManifestEntry] = []
        for snapshot in (*going[1:], end):
            removed += removed_files(self._entries(self._manifests.delta_manifests, snapshot, unreadable))
        changelog: list[ManifestEntry] = []
        names = MetadataNames()
        for snapshot in going:
            changelog += self._entries(self._manifests.changelog_manifests, snapshot, unreadable)
            names.add(metadata_names(snapshot, self._manifests, passing_over=CorruptionError))
        branches = needs_of_other_branches(self._store, self._manifests)
        tags = {name: snapshot for name, snapshot in tagged.items() if snapshot.id < end.id}
        needed = self._needed(end, tags, branches)
        protected = self._protected(found, end, tags) | branches.files if removed or changelog else frozenset()
        facts = ExpiryFacts(
            snapshots=going, removed=removed, changelog=changelog, protected=protected, needed=needed, names=names
        )
        clean = self._options.expire.clean_empty_directories
        deletions = plan_deletions(
            facts, self._store, DataPaths(self._store, self._partitions), clean_directories=clean
        )
        gone = (e for e in (*removed, *changelog) if file_key(e) not in protected)
        return ExpiryReport(
            snapshot_ids=tuple(s.id for s in going),
            deletions=deletions,
            kept_by=found.kept_by,
            unreadable=tuple(unreadable),
            bytes=sum({file_key(e): e.file.file_size for e in gone}.values()),
            dry_run=dry_run,
        )

    def _entries(
        self,
        manifests_of: Callable[[Snapshot], Sequence[ManifestFileMeta]],
        snapshot: Snapshot,
        unreadable: list[str],
    ) -> Sequence[ManifestEntry]:
        try:
            return [entry for manifest in manifests_of(snapshot) for entry in self._manifests.read(manifest)]
        except MissingFile:
            return ()  # an expiry that did not finish went past here, and its data files were deleted first
        except CorruptionError as e:
            unreadable.append(e.path)
            return ()

    def _needed(self, end: Snapshot, tags: Mapping[str, Snapshot], branches: BranchNeeds) -> MetadataNames:
        needed = metadata_names(end, self._manifests)
        needed.add(branches.names)
        for name, snapshot in tags.items():
            with _naming_tag(name):
                needed.add(metadata_names(without_changelog(snapshot), self._manifests))
        return needed

    def _protected(self, found: ExpiryRange, end: Snapshot, tags: Mapping[str, Snapshot]) -> frozenset[FileKey]:
        """Files of the nearest tag before each snapshot, and, to be sure, of the history that stays."""
        files: set[FileKey] = set()
        for name in nearest_tags({name: tag.id for name, tag in tags.items()}, range(found.begin + 1, found.end + 1)):
            with _naming_tag(name):
                files |= self._live(tags[name])
        files |= self._live(end)
        latest = self.snapshots.latest()
        if latest is not None and latest.id != end.id:
            files |= self._live(latest)
        return frozenset(files)

    def _live(self, snapshot: Snapshot) -> set[FileKey]:
        plan = live_files(self._manifests, snapshot, schema=self._schema, schemas={})
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
