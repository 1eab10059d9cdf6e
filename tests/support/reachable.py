"""What of a table on disk is reachable: from snapshots, tags and long-lived changelogs of every branch.

A model of its own, beside that of expiry and of the cleaning of orphans: state by state, with nothing shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from table_format import Table
from table_format.io.file_io import FileIO
from table_format.metastore.references.branch_list import branch_names
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.model.data_file import FileSource
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts


class Reachable:
    """Paths that must be there, and paths that may: what a list names that is kept only for a part of it."""

    def __init__(self, table: Table) -> None:
        self.needed: set[str] = set()
        self.allowed: set[str] = set()
        for branch in ("main", *branch_names(table.store)):
            paths = table.store.paths.for_branch(branch)
            self._branch(replace(table, store=replace(table.store, paths=paths)).facts)

    def _branch(self, facts: TableFacts) -> None:
        store, paths = facts.store, facts.store.paths
        self.allowed |= {paths.latest_hint, paths.earliest_hint}
        self.allowed |= {paths.changelog_latest_hint, paths.changelog_earliest_hint}
        for directory in (paths.schema_directory, paths.consumer_directory, paths.tag_directory):
            self.needed |= set(files_below(store.io, directory))
        ids = facts.snapshots.listed_ids()
        if ids and changes_are_deltas(facts) and facts.options.expire.is_changelog_decoupled:
            # What the earliest removed goes when it has become a changelog and goes itself.
            self.allowed |= set(_data_files(facts, _commits_work(facts, facts.snapshots.load(ids[0]))))
        for snapshot_id in ids:
            self.needed.add(paths.snapshot(snapshot_id))
            self._state(facts, facts.snapshots.load(snapshot_id))
        for tag in TagStore(facts.store).all().values():
            self._state(facts, replace(tag.snapshot, changelog_manifest_list=None))
        for name in (f.name for f in store.io.list(paths.changelog_directory) if f.name.startswith("changelog-")):
            snapshot_id = int(name.removeprefix("changelog-"))
            self.needed.add(paths.changelog(snapshot_id))
            self._changelog(facts, snapshot_id)

    def _state(self, facts: TableFacts, snapshot: Snapshot) -> None:
        self._lists(facts, snapshot.base_manifest_list, snapshot.delta_manifest_list)
        entries = facts.live_files(snapshot).entries
        self.needed |= set(_data_files(facts, entries))
        self._changelog_files(facts, snapshot)
        if snapshot.index_manifest is not None:
            self.needed.add(facts.store.paths.manifest(snapshot.index_manifest))
            for entry in facts.manifests.index_entries(snapshot):
                self.needed.add(facts.index_path(entry.partition, entry.bucket, entry.index_file.file_name))
        if snapshot.statistics is not None:
            self.needed.add(facts.store.paths.statistics(snapshot.statistics))

    def _changelog(self, facts: TableFacts, snapshot_id: int) -> None:
        changelog = ChangelogStore(facts.store).find(snapshot_id)
        assert changelog is not None
        paths, io = facts.store.paths, facts.store.io
        self._changelog_files(facts, changelog)
        if changes_are_deltas(facts):
            self._lists(facts, changelog.delta_manifest_list)
            entries = _commits_work(facts, changelog)
            self.needed |= set(_data_files(facts, (e for e in entries if e.kind is FileKind.ADD)))
            self.allowed |= set(_data_files(facts, entries))
        self.allowed |= {paths.manifest(n) for n in (changelog.base_manifest_list, changelog.delta_manifest_list)}
        if changes_are_deltas(facts) and io.status(paths.manifest(changelog.base_manifest_list)):
            self.allowed |= {
                paths.manifest(m.file_name) for m in facts.manifests.read_list(changelog.base_manifest_list)
            }

    def _changelog_files(self, facts: TableFacts, snapshot: Snapshot) -> None:
        if snapshot.changelog_manifest_list is not None:
            self._lists(facts, snapshot.changelog_manifest_list)
            for manifest in facts.manifests.changelog_manifests(snapshot):
                self.needed |= set(_data_files(facts, facts.manifests.read(manifest)))

    def _lists(self, facts: TableFacts, *names: str) -> None:
        for name in names:
            self.needed.add(facts.store.paths.manifest(name))
            for manifest in facts.manifests.read_list(name):
                self.needed.add(facts.store.paths.manifest(manifest.file_name))


def changes_are_deltas(facts: TableFacts) -> bool:
    return facts.options.raw.get("changelog-producer", "none") == "none"


def check_files(table: Table) -> None:
    """What is needed is there, nothing is there that nothing reaches, and the verification agrees."""
    found = Reachable(table)
    there = set(files_below(table.store.io, table.store.paths.root))
    missing = sorted(found.needed - there)
    assert not missing, "files are missing"
    left = sorted(there - found.needed - found.allowed)
    assert not left, "files are left that nothing reaches"
    assert not table.current().verify().errors


def files_below(io: FileIO, directory: str) -> Iterator[str]:
    """Every file below a directory, without hidden ones."""
    for child in io.list(directory):
        path = f"{directory}/{child.name}"
        if child.is_directory:
            yield from files_below(io, path)
        else:
            yield path


def _commits_work(facts: TableFacts, snapshot: Snapshot) -> list[ManifestEntry]:
    return [e for e in facts.manifests.delta_entries(snapshot) if e.file.file_source is FileSource.APPEND]


def _data_files(facts: TableFacts, entries: Iterable[ManifestEntry]) -> Iterator[str]:
    for entry in entries:
        text = facts.partitions.text(entry.partition)
        yield facts.store.paths.data_file(text, entry.bucket, entry.file)
        yield from facts.store.paths.extra_files(text, entry.bucket, entry.file)
