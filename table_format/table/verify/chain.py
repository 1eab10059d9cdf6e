"""Checks one branch: schemas, snapshots, manifest lists, manifests, and what tags, changelogs and consumers need.

Each state is read as a reader would read it. Anything that cannot be read, or contradicts earlier metadata, is a
finding. All files in use are recorded on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from table_format.counted import counted
from table_format.errors import CorruptionError, TableFormatError
from table_format.metastore.references.change_source import has_changes_in_deltas
from table_format.metastore.references.consumers import next_snapshots
from table_format.metastore.references.snapshot_files import is_change
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import last_run
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot
from table_format.shown_paths import shown_paths
from table_format.table.facts import TableFacts
from table_format.table.verify.report import Finding, Severity

T = TypeVar("T")


@dataclass(slots=True)
class Chain:
    """The findings in the metadata of a branch, and the files that it references.

    ``files`` are all referenced files, by bucket and name; ``live`` are the entries of the latest state, and
    ``index`` its index files. ``index_files`` are those of all states, by name.
    """

    findings: list[Finding] = field(default_factory=list)
    snapshots: int = 0
    manifests: set[str] = field(default_factory=set)
    files: dict[BucketId, dict[str, DataFileMeta]] = field(default_factory=dict)
    live: Sequence[ManifestEntry] = ()
    index: Sequence[IndexManifestEntry] = ()
    index_files: dict[str, IndexManifestEntry] = field(default_factory=dict)

    def reach(self, entries: Iterable[ManifestEntry]) -> None:
        """Note the files of entries."""
        for entry in entries:
            self.files.setdefault(entry.bucket_id, {})[entry.file.file_name] = entry.file


def read_chain(facts: TableFacts) -> Chain:
    """Read all metadata of the branch of these facts. Raises ``OSError`` if the store fails."""
    reader = _ChainReader(facts)
    reader.read_schemas()
    reader.read_snapshots()
    reader.read_tags()
    reader.read_changelogs()
    reader.read_consumers()
    return reader.chain


class _ChainReader:
    def __init__(self, facts: TableFacts) -> None:
        self.chain = Chain()
        self._facts = facts
        self._paths = facts.store.paths
        listed = facts.snapshots.listed_ids()
        # An expiry that runs, or was interrupted, deletes the files of its snapshots first. Nobody reads them any more.
        expiring = max((notice.end for notice in facts.snapshots.notices.all()), default=0)
        self._ids: Sequence[int] = [number for number in listed if number >= expiring]
        self._schema_ids: Sequence[int] = facts.schema_store.ids()
        self._states: dict[int, Snapshot] = {}

    # --- schemas ----------------------------------------------------------------------------------------------------

    def read_schemas(self) -> None:
        """Check that each schema can be read, and that their ids have no gap."""
        for schema_id in self._schema_ids:
            self._attempt("schema", partial(self._facts.schema_store.load, schema_id))
        missing = sorted(set(range(max(self._schema_ids, default=-1) + 1)) - set(self._schema_ids))
        for schema_id in missing:
            self._note("schema", self._paths.schema(schema_id), "schemas without gap", "none", Severity.WARNING)

    def _check_schema_id(self, schema_id: int, path: str, what: str) -> None:
        if schema_id not in self._schema_ids:
            self._note("schema", path, f"a schema of {what}", f"schema {schema_id}, which does not exist")

    # --- states -----------------------------------------------------------------------------------------------------

    def read_snapshots(self) -> None:
        """Check each retained snapshot, oldest first, and the structure of the files of the last one."""
        retained = set(last_run(self._ids))
        for snapshot_id in self._ids:
            if snapshot_id not in retained:
                path = self._paths.snapshot(snapshot_id)
                self._note("history", path, "snapshots without gap", "a snapshot below a gap", Severity.WARNING)
            snapshot = self._attempt("snapshot", partial(self._facts.snapshots.find, snapshot_id))
            if snapshot is None:
                continue
            self._states[snapshot_id] = snapshot
            self.chain.snapshots += 1
            self._read_snapshot(snapshot, self._states.get(snapshot_id - 1))
        if self._ids and self._ids[-1] in self._states:
            self._read_latest(self._states[self._ids[-1]])

    def _read_snapshot(self, snapshot: Snapshot, before: Snapshot | None) -> None:
        path = self._paths.snapshot(snapshot.id)
        self._check_schema_id(snapshot.schema_id, path, "the snapshot")
        self._read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
        deltas = self._read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        entries = [entry for manifest in deltas for entry in self._entries(manifest)]
        if before is None:
            self._read_state(snapshot)
        else:
            self.chain.reach(entry for entry in entries if entry.kind is FileKind.ADD)
            self._check_times(snapshot, before, path)
        self._check_counts(snapshot, before, entries, path)
        self._read_rest(snapshot)
        if snapshot.changelog_manifest_list is not None:
            changes = self._read_list(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)
            for manifest in changes:
                self.chain.reach(self._entries(manifest))

    def _read_state(self, snapshot: Snapshot) -> Sequence[ManifestEntry]:
        """Return the live files of a state, and note them as referenced."""
        facts = self._facts

        def read() -> Sequence[ManifestEntry]:
            return facts.live_files(snapshot).entries

        live = self._attempt("state", read) or ()
        self.chain.reach(live)
        return live

    def _read_latest(self, snapshot: Snapshot) -> None:
        self.chain.live = self._read_state(snapshot)
        self.chain.index = self._attempt("index manifest", lambda: self._facts.manifests.index_entries(snapshot)) or ()
        rows = sum(entry.file.row_count for entry in self.chain.live)
        if snapshot.total_record_count is not None and rows != snapshot.total_record_count and self.chain.live:
            path = self._paths.snapshot(snapshot.id)
            expected = counted(snapshot.total_record_count, "row")
            self._note("record count", path, expected, counted(rows, "row"), Severity.WARNING)

    def _read_rest(self, snapshot: Snapshot) -> None:
        """Check index files and statistics."""
        entries = self._attempt("index manifest", lambda: self._facts.manifests.index_entries(snapshot)) or ()
        self.chain.index_files.update({entry.index_file.file_name: entry for entry in entries})
        if snapshot.statistics is not None:
            path = self._paths.statistics(snapshot.statistics)
            if self._facts.store.io.status(path) is None:
                self._note("statistics", path, f"the statistics of snapshot {snapshot.id}", "none", Severity.WARNING)

    def _check_times(self, snapshot: Snapshot, before: Snapshot, path: str) -> None:
        if snapshot.schema_id < before.schema_id:
            expected, found = f"schema {before.schema_id} or later", f"schema {snapshot.schema_id}"
            self._note("schema", path, expected, found, Severity.WARNING)

    def _check_counts(
        self, snapshot: Snapshot, before: Snapshot | None, entries: Sequence[ManifestEntry], path: str
    ) -> None:
        added = sum((1 if entry.kind is FileKind.ADD else -1) * entry.file.row_count for entry in entries)
        recorded = snapshot.delta_record_count
        if recorded is not None and recorded != added:
            expected, found = f"{counted(recorded, 'row')} added", f"{counted(added, 'row')} added"
            self._note("record count", path, expected, found, Severity.WARNING)
        if before is None or before.total_record_count is None or snapshot.total_record_count is None:
            return
        total = before.total_record_count + added
        if total != snapshot.total_record_count:
            expected = f"{counted(snapshot.total_record_count, 'row')} in all"
            self._note("record count", path, expected, f"{counted(total, 'row')} in all", Severity.WARNING)

    # --- what else keeps states -------------------------------------------------------------------------------------

    def read_tags(self) -> None:
        """Check the states that tags keep."""
        tags = TagStore(self._facts.store)
        for name in tags.names():
            if tags.is_being_deleted(name):
                continue
            tag = self._attempt("tag", partial(tags.find, name))
            if tag is None:
                continue
            known = self._states.get(tag.snapshot.id)
            if known is None or not known.is_same(tag.snapshot):
                self._check_schema_id(tag.snapshot.schema_id, self._paths.tag(name), "the tag")
                self._read_state(tag.snapshot)
                self._read_rest(tag.snapshot)

    def read_changelogs(self) -> None:
        """Check the changelogs that are kept longer than their snapshots, as far as readers need them."""
        changelogs = ChangelogStore(self._facts.store)
        ids = changelogs.ids()
        for number in ids:
            changelog = self._attempt("changelog", partial(changelogs.find, number))
            if changelog is None:
                continue
            if changelog.changelog_manifest_list is not None:
                listed = (changelog.changelog_manifest_list, changelog.changelog_manifest_list_size)
                for manifest in self._read_list(*listed):
                    self.chain.reach(self._entries(manifest))
            elif changelog.delta_manifest_list and self._has_changes_in_deltas(changelog):
                for manifest in self._read_list(changelog.delta_manifest_list, changelog.delta_manifest_list_size):
                    entries = self._entries(manifest)
                    self.chain.reach(e for e in entries if e.kind is FileKind.ADD and is_change(e))
        run = last_run(self._ids)
        missing = [number for number in range(ids[0], run[0]) if number not in ids] if ids and run else []
        if missing:
            path = self._paths.changelog(missing[0])
            self._note("history", path, "changelogs up to the first snapshot", "a gap", Severity.WARNING)

    def _has_changes_in_deltas(self, changelog: Snapshot) -> bool:
        read = partial(has_changes_in_deltas, self._facts.schema_store, changelog)
        return bool(self._attempt("changelog", read))

    def read_consumers(self) -> None:
        """Check that the snapshots that consumers have not read yet exist."""
        found = self._attempt("consumer", lambda: next_snapshots(self._facts.store)) or {}
        changelogs = ChangelogStore(self._facts.store).ids()
        run = last_run(self._ids)
        if not run:
            return
        earliest = min((*changelogs, run[0]))
        for name, number in found.items():
            if not earliest <= number <= run[-1] + 1:
                expected = f"a snapshot from {earliest} to {run[-1] + 1}"
                path = self._paths.consumer(name)
                self._note("consumer", path, expected, f"snapshot {number}", Severity.WARNING)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _read_list(self, name: str, size: int | None) -> Sequence[ManifestFileMeta]:
        """Read the manifests of a list, each only once."""
        listed = self._attempt("manifest list", lambda: self._facts.manifests.read_list(name, size=size)) or ()
        for manifest in listed:
            if manifest.file_name not in self.chain.manifests:
                self.chain.manifests.add(manifest.file_name)
                for schema_id in sorted({entry.file.schema_id for entry in self._entries(manifest)}):
                    self._check_schema_id(schema_id, self._paths.manifest(manifest.file_name), "its files")
        return listed

    def _entries(self, manifest: ManifestFileMeta) -> Sequence[ManifestEntry]:
        return self._attempt("manifest", lambda: self._facts.manifests.read(manifest)) or ()

    def _attempt(self, check: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except CorruptionError as error:
            found = str(error).removeprefix(f"{shown_paths(error.path)}: ")
            self._note(check, error.path, "a file that can be read", found)
        except TableFormatError as error:
            self._note(check, self._paths.root, "a file that can be read", str(error))
        return None

    def _note(self, check: str, path: str, expected: str, found: str, severity: Severity = Severity.ERROR) -> None:
        self.chain.findings.append(Finding(severity, check, path, expected, found))
