"""Orphan files, such as those of crashed writers and failed deletions (Java ``LocalOrphanFilesClean``).

An orphan is a file in the directories of a table that is old enough not to belong to a running writer, and to which
no snapshot, tag or long-lived changelog of any branch refers; or a temporary file of that age. Unlike in the
reference, a retained commit that removed a file does not keep the file.

Symbolic links are neither followed nor deleted: their targets may not belong to the table, or may have several names.
The root itself may be a link, and so may the directories above it.

Files are listed before the history is read, and the history is read until it does not change any more, so files that
are committed in the meantime are not deleted. If the needed files cannot be determined, nothing is deleted, and an
error is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from table_format.counted import counted
from table_format.errors import ConflictError, InvalidInputError
from table_format.io.deletion import delete_files
from table_format.io.file_io import FileStatus
from table_format.io.paths import (
    TablePaths,
    base_name,
    changelog_id_of,
    is_rewriting_notice,
    is_temporary,
    parent,
    snapshot_id_of,
    tag_being_deleted,
    tag_name_of,
)
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import BranchHistory, histories, needs_of
from table_format.metastore.expiry.file_deletions import NeededFiles
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.branch_list import branch_names
from table_format.metastore.references.data_paths import DataPaths, external_roots
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import optional_whole_number
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.schema import TableSchema
from table_format.model.snapshot import shown_time
from table_format.options.table_options import TableOptions
from table_format.options.values import duration

GRACE_MS: Final = 24 * 3_600_000
"""The age below which a file may belong to a future commit.

A file may be written long before its commit. The retain floor of expiry covers only the publication of a commit, but
this age has to cover the whole work of a writer.
"""

_ROUNDS: Final = 16
_BUCKET: Final = "bucket-"
_HINTS: Final = frozenset({"EARLIEST", "LATEST"})


@dataclass(frozen=True, slots=True)
class OrphanFile:
    """A file to which nothing refers."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class YoungFiles:
    """Files to which nothing refers, and which are too young to be orphans: a writer may be about to commit them.

    Without other writers, all of them are orphans at ``eligible_ms`` (milliseconds since 1970).
    """

    count: int
    bytes: int
    eligible_ms: int

    def __str__(self) -> str:
        """One line.

        >>> str(YoungFiles(2, 2048, 1_767_225_600_000))
        '2 files of 2,048 bytes are too young to be orphans, until 2026-01-01T00:00:00.000+00:00'
        """
        are = "is" if self.count == 1 else "are"
        files = f"{counted(self.count, 'file')} of {self.bytes:,} bytes {are} too young to be orphans"
        return f"{files}, until {shown_time(self.eligible_ms)}"


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """The deleted orphans, or those that would be deleted. ``links`` are symbolic links, which were not followed.

    ``young`` are files that are not old enough; ``None`` if there are none.
    """

    files: tuple[OrphanFile, ...] = ()
    dry_run: bool = False
    links: tuple[str, ...] = ()
    young: YoungFiles | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the orphans."""
        return tuple(file.path for file in self.files)

    @property
    def bytes(self) -> int:
        """The total size of the orphans in bytes."""
        return sum(file.bytes for file in self.files)


def remove_orphan_files(
    store: TableStore,
    options: TableOptions,
    *,
    older_than_ms: int | None = None,
    dry_run: bool = False,
    grace_ms: int = GRACE_MS,
) -> OrphanReport:
    """Delete the orphans that were last changed before ``older_than_ms`` (epoch time), or more than ``grace_ms`` ago.

    Uncommitted files of a writer look like orphans. ``older_than_ms`` must therefore be at least ``grace_ms`` ago,
    which is longer than any writer takes. Pass 0 for ``grace_ms`` only if no other process writes.

    Raises:
        InvalidInputError: ``older_than_ms`` is too late; nothing was deleted.
        CorruptionError: the needed files cannot be determined; nothing was deleted.
        ConflictError: others commit faster than the history can be read; nothing was deleted.
        TableNotFound, TableReplaced: the table was dropped, renamed or created again; nothing was deleted.
        OSError: the store failed; the next call finds the remaining orphans.
    """
    given_ms = optional_whole_number(older_than_ms, "older_than_ms")
    before_ms = _before(store, given_ms, grace_ms)
    waiting_ms = store.runtime.clock.now_ms() - before_ms
    schema = SchemaStore(store).latest()
    places = _Places(store, schema)
    candidates, leftovers = [*places.candidates()], [*places.leftovers()]
    wanted = frozenset(base_name(orphan.path) for orphan, _ in candidates)
    reached = _names(_needs(store, options, wanted)) if wanted else frozenset()
    unused = (*(found for found in candidates if base_name(found[0].path) not in reached), *leftovers)
    orphans = sorted((orphan for orphan, changed_ms in unused if changed_ms < before_ms), key=lambda found: found.path)
    young = [found for found in unused if found[1] >= before_ms]
    report = OrphanReport(tuple(orphans), dry_run, tuple(sorted(places.links)), _young(young, waiting_ms))
    if not dry_run:
        _delete(report, store, DataPaths(store, Partitions(schema, options)), places)
    return report


def _young(files: Sequence[tuple[OrphanFile, int]], waiting_ms: int) -> YoungFiles | None:
    if not files:
        return None
    size = sum(file.bytes for file, _ in files)
    return YoungFiles(len(files), size, max(changed_ms for _, changed_ms in files) + waiting_ms + 1)


def _before(store: TableStore, given_ms: int | None, grace_ms: int) -> int:
    now_ms = store.runtime.clock.now_ms()
    if given_ms is None:
        return now_ms - grace_ms
    if grace_ms and given_ms > now_ms - grace_ms:
        message = (
            f"{store.paths.root}: orphans older than {shown_time(given_ms)} would include files younger than "
            f"{duration.show(grace_ms)}, which writers may be about to commit; pass a time up to "
            f"{shown_time(now_ms - grace_ms)}, or set nobody_else_writes"
        )
        raise InvalidInputError(message)
    return given_ms


def reached_names(store: TableStore, options: TableOptions, wanted: frozenset[str]) -> frozenset[str]:
    """Return the names of ``wanted`` to which a snapshot, tag, branch or changelog of the table refers.

    Raises:
        CorruptionError: the needed files cannot be determined.
        ConflictError: others commit faster than the history can be read.
        OSError: the store failed.
    """
    return wanted & _names(_needs(store, options, wanted))


def _delete(report: OrphanReport, store: TableStore, paths: DataPaths, places: _Places) -> None:
    delete_files(store.io, report.paths)
    data = [path for path in report.paths if base_name(parent(path)).startswith(_BUCKET)]
    for directory in paths.directories_of(data):
        store.io.delete_empty_directory(directory)
    # A draft that another process is still writing is not empty.
    for draft in (*places.drafts(), *places.exchanges()):
        for directory in reversed([draft, *places.directories_below(draft)]):
            store.io.delete_empty_directory(directory)


def _needs(store: TableStore, options: TableOptions, wanted: frozenset[str]) -> NeededFiles:
    """Return the files with these names that all branches need; read until the history does not change any more."""
    seen: set[tuple[str, int, str]] = set()
    names: list[NeededFiles] = []
    for _ in range(_ROUNDS):
        found = list(histories(store))
        identities = {identity for history in found for identity in history.identities}
        if names and identities <= seen:
            require_same_table(store)  # a table that was renamed meanwhile seems to have no history
            return _sum(names)
        new = [_since(history, seen) for history in found]
        seen |= identities
        names.append(needs_of(new, ManifestStore(store, options), wanted=wanted, strict=True))
    message = f"{store.paths.root}: other writers keep committing; look for orphans again when there are fewer commits"
    raise ConflictError(message)


def _since(history: BranchHistory, seen: set[tuple[str, int, str]]) -> BranchHistory:
    """Return a history without the states that have been read."""
    branch = history.branch.paths.branch
    fresh = (s for s in history.snapshots if (branch, s.id, s.delta_manifest_list) not in seen)
    return replace(history, snapshots=tuple(fresh))


def _sum(needs: list[NeededFiles]) -> NeededFiles:
    total = needs[0]
    for more in needs[1:]:
        total.metadata.add(more.metadata)
        total = NeededFiles(total.metadata, total.files | more.files, total.extra_files | more.extra_files)
    return total


def _names(needs: NeededFiles) -> frozenset[str]:
    """Return the names of all files. Names contain UUIDs, so a name identifies a file in any directory."""
    names = needs.metadata
    metadata = names.manifests | names.manifest_lists | names.index_manifests | names.statistics
    indexes = (base_name(key[2]) for key in names.index_files)
    return frozenset({*metadata, *indexes, *(key[2] for key in needs.files), *needs.extra_files})


class _Places:
    """The places of a table's files. Files elsewhere, or behind a link, do not belong to the table."""

    def __init__(self, store: TableStore, schema: TableSchema) -> None:
        self._store = store
        self.links: set[str] = set()
        """The symbolic links that were found."""
        paths = store.paths
        shared = self._own(paths.root, paths.manifest_directory, paths.index_directory, paths.statistics_directory)
        outside = self._outside(schema.partition_keys)
        self._shared = (*shared, *self._data(schema.partition_keys), *outside)

    def candidates(self) -> Iterator[tuple[OrphanFile, int]]:
        """Yield the files to which the history may refer, with their modification times."""
        for directory in self._shared:
            for child in self._children(directory):
                if not child.is_directory:
                    yield _file(directory, child)

    def leftovers(self) -> Iterator[tuple[OrphanFile, int]]:
        """Yield temporary files, and other files that do not belong among snapshots and changelogs."""
        for directory in self._shared:
            yield from self._temporary(directory)
        for paths in self._branches():
            root = paths.branch_root(paths.branch)
            for directory in self._own(root, paths.schema_directory, paths.tag_directory, paths.consumer_directory):
                yield from self._temporary(directory)
            own_tags = self._own(root, paths.tag_directory)
            tags = [child for directory in own_tags for child in self._children(directory)]
            there = {tag_name_of(child.name) for child in tags}
            for child in tags:
                # The notice of a finished deletion; other notices stay as long as their tag.
                if tag_being_deleted(child.name) is not None and tag_being_deleted(child.name) not in there:
                    yield _file(paths.tag_directory, child)
            for directory in self._own(root, paths.snapshot_directory, paths.changelog_directory):
                yield from self._temporary(directory)
                for child in self._children(directory):
                    # The notice of an expiry is deleted when its process has ended. The notice of a replaced history
                    # stays until the replacement is complete.
                    known = (
                        snapshot_id_of(child.name)
                        or changelog_id_of(child.name)
                        or child.name in _HINTS
                        or is_rewriting_notice(child.name)
                    )
                    if not known and not child.is_directory:
                        yield _file(directory, child)
        for draft in (*self.drafts(), *self.exchanges()):
            found = [
                _file(directory, child)
                for directory in (draft, *self.directories_below(draft))
                for child in self._everything(directory)
                if child.is_link or not child.is_directory
            ]
            # Another process may still be writing it, so it is deleted as a whole or not at all.
            newest_ms = max((changed_ms for _, changed_ms in found), default=0)
            yield from ((orphan, newest_ms) for orphan, _ in found)

    def drafts(self) -> Sequence[str]:
        """Return the directories of branches whose creation or deletion was not finished."""
        paths = self._store.paths
        return [
            f"{directory}/{child.name}"
            for directory in self._own(paths.root, paths.branch_directory)
            for child in self._store.io.list_hidden(directory)
            if child.is_directory and not child.is_link and is_temporary(child.name)
        ]

    def exchanges(self) -> Sequence[str]:
        """Return the directories in which tasks of a job exchanged data."""
        paths = self._store.paths
        return [
            f"{directory}/{child.name}"
            for directory in self._own(paths.root, paths.exchange_directory)
            for child in self._children(directory)
            if child.is_directory
        ]

    def directories_below(self, directory: str) -> Iterator[str]:
        """Yield all directories below one, including hidden ones, each before those below it."""
        for child in self._everything(directory):
            if child.is_directory and not child.is_link:
                path = f"{directory}/{child.name}"
                yield path
                yield from self.directories_below(path)

    def _branches(self) -> Iterator[TablePaths]:
        paths = self._store.paths
        yield paths.for_branch(MAIN_BRANCH)
        for directory in self._own(paths.root, paths.branch_directory):
            own = {f"{directory}/{child.name}" for child in self._children(directory)}
            branches = [paths.for_branch(name) for name in branch_names(self._store)]
            yield from (branch for branch in branches if branch.branch_root(branch.branch) in own)

    def _own(self, parent_directory: str, *directories: str) -> list[str]:
        """Return the directories that exist in their parent and are not links."""
        own = {f"{parent_directory}/{child.name}" for child in self._children(parent_directory) if child.is_directory}
        return [directory for directory in directories if directory in own]

    def _data(self, keys: tuple[str, ...]) -> Iterator[str]:
        """Yield the bucket directories of all partitions."""
        root, directory = self._store.paths.root, self._store.paths.partition_directory("")
        at = root
        for name in directory.removeprefix(root).split("/")[1:]:
            if not self._own(at, f"{at}/{name}"):
                return
            at = f"{at}/{name}"
        yield from self._buckets(directory, keys)

    def _outside(self, keys: tuple[str, ...]) -> Iterator[str]:
        """Yield the bucket directories below the external paths of all schemas of the table."""
        for root in external_roots(self._store):
            directory = self._store.paths.elsewhere(root).partition_directory("")
            yield from self._buckets(directory, keys)

    def _buckets(self, directory: str, keys: tuple[str, ...]) -> Iterator[str]:
        prefix = f"{keys[0]}=" if keys else _BUCKET
        for child in self._children(directory):
            if child.is_directory and child.name.startswith(prefix):
                path = f"{directory}/{child.name}"
                if keys:
                    yield from self._buckets(path, keys[1:])
                else:
                    yield path

    def _temporary(self, directory: str) -> Iterator[tuple[OrphanFile, int]]:
        for child in self._store.io.list_hidden(directory):
            if is_temporary(child.name) and not (child.is_directory or child.is_link):
                yield _file(directory, child)

    def _children(self, directory: str) -> Iterator[FileStatus]:
        """Yield the files and directories in a directory; record links and leave them out."""
        for child in self._store.io.list(directory):
            if child.is_link:
                self.links.add(f"{directory}/{child.name}")
            elif not child.is_special:
                yield child

    def _everything(self, directory: str) -> list[FileStatus]:
        return [*self._store.io.list(directory), *self._store.io.list_hidden(directory)]


def _file(directory: str, child: FileStatus) -> tuple[OrphanFile, int]:
    return OrphanFile(f"{directory}/{child.name}", child.size), child.modified_ms
