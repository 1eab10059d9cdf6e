"""Fast-forward: replaces the history of a branch by that of another.

From the earliest snapshot of the source on, its snapshots and tags replace those of the target, and its schemas replace
all that differ: its files may have schemas that are older than its earliest snapshot. The source does not change. Other
writers must have stopped, because ids are reused. If the catalog has a server that publishes snapshots, the server does
all this.

The reference removes first and then copies; a crash in between leaves the table without its latest rows, or without
any. Here, the latest snapshot of the source appears in one step. Order of effects: 1 a notice announces the
replacement, and the hint LATEST is deleted, so that every reader lists; 2 snapshots of the target that are newer than
the source, or have replaced schemas, are deleted, newest first, and so are long-lived changelogs that the source does
not continue; 3 schemas are replaced; 4 the latest snapshot is written: from here on, the target has the state of the
source; 5 the other snapshots are written. If the source does not continue a snapshot of the target, those before it are
deleted, and so are commits that others built on the old history in the meantime; 6 tags are replaced; 7 the hints are
written, and the notice is deleted; 8 files that nothing names any more are deleted. After each step, the target has the
state of one of its snapshots, or that of the source, and a repeated call continues. While the notice exists, expiry and
orphan cleanup read the needs of each snapshot separately, because snapshots need not follow each other. Format chapter
03, section 5; Java ``FileSystemBranchManager``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from table_format.codecs.schema_json import decode_schema
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.codecs.tag_json import decode_tag
from table_format.errors import BranchNotFound, ConflictError, CorruptionError, InvalidIdentifier, SnapshotNotFound
from table_format.io.regular_files import read_file
from table_format.io.table_server import TableServer
from table_format.io.table_store import TableStore
from table_format.metastore.commit.history_link import Link, built_upon
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.expiry.unneeded import delete_unneeded, named_files
from table_format.metastore.history.branches import BranchStore
from table_format.metastore.history.history_files import HistoryFiles
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import explaining_drop
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.identifier import MAIN_BRANCH, check_name
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.table_options import TableOptions

_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwardReport:
    """The result of a fast-forward: the snapshots from the source, what was removed, and why files were kept."""

    snapshot_ids: tuple[int, ...]
    removed_ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    deletions: FileDeletions = field(default_factory=FileDeletions)
    unreadable: str | None = None


def fast_forward(
    store: TableStore, options: TableOptions, branch: str, *, expected: Snapshot | None = None
) -> FastForwardReport:
    """Fast-forward the branch of the store to ``branch``, whose latest snapshot must be ``expected``.

    Raises:
        ConflictError: the latest snapshot of the branch is not the expected one, a tag that stays has a schema that
            would be replaced, or the first schema of the branch is another one; nothing was changed. Or other processes
            continue to commit; call again.
        BranchNotFound: the branch does not exist.
        InvalidIdentifier: the branch is the main branch, or the branch of the store itself.
        SnapshotNotFound: the branch has no snapshot.
        CorruptionError: a snapshot, schema or tag of the branch cannot be read; nothing was changed.
        TableNotFound, TableReplaced: the table was dropped, renamed or created again; nothing stays there.
        OSError: the store failed; call again.
    """
    check_name(branch, "branch")
    if branch in (MAIN_BRANCH, store.paths.branch):
        message = f"'{store.paths.branch}' cannot be fast-forwarded to '{branch}': name another branch than main"
        raise InvalidIdentifier(message)
    source = BranchStore(store).require(branch)
    if store.server is not None:
        return _forward_by_server(store, store.server, source, expected)
    files = HistoryFiles(store)
    try:
        with explaining_drop(files.require_same_table):
            forward = _FastForward(files, source, options)
            if expected is not None:
                forward.require_last(expected)
            return forward.run()
    except FileNotFoundError:
        BranchStore(store).require(branch)
        raise


def _forward_by_server(
    store: TableStore, server: TableServer, source: TableStore, expected: Snapshot | None
) -> FastForwardReport:
    target, last = SnapshotStore(store), SnapshotStore(source).latest()
    if last is None:
        message = f"branch '{source.paths.branch}' has no snapshot, so nothing can be fast-forwarded to it"
        raise SnapshotNotFound(message)
    if expected is not None:
        _require_same(last, expected)
    before = set(target.listed_ids())
    server.fast_forward(store.paths.branch, source.paths.branch)
    removed = before - set(target.listed_ids())
    return FastForwardReport(snapshot_ids=tuple(SnapshotStore(source).ids()), removed_ids=tuple(sorted(removed)))


def _require_same(last: Snapshot, expected: Snapshot) -> None:
    if not last.is_same(expected):
        message = (
            f"the latest snapshot of the branch is {last.id} by {last.commit_user}, not the expected "
            f"{expected.id} by {expected.commit_user}; nothing was changed"
        )
        raise ConflictError(message)


class _FastForward:
    """The contents of source and target, read before the first effect; files by id or name, as bytes."""

    def __init__(self, files: HistoryFiles, source: TableStore, options: TableOptions) -> None:
        target = files.store
        self._files = files
        self._target = target
        self._source = source
        self._options = options
        self._snapshots = SnapshotStore(target)
        source_snapshots = SnapshotStore(source)
        first_retained = max((notice.end for notice in source_snapshots.notices.all()), default=0)
        ids = [i for i in source_snapshots.ids() if i >= first_retained]
        if not ids:
            message = f"branch '{source.paths.branch}' has no snapshot, so nothing can be fast-forwarded to it"
            raise SnapshotNotFound(message)
        self._first, self._last = source_snapshots.load(ids[0]), ids[-1]
        self._new = {i: read_file(source.io, source.paths.snapshot(i)) for i in ids}
        self._old = {i: read_file(target.io, target.paths.snapshot(i)) for i in self._listed(ids[0])}
        # Determined before anything is replaced, because afterwards the first snapshot exists in both cases.
        present = None if self._first.id not in self._old else self._snapshots.find(self._first.id)
        joins = present is not None and present.is_same(self._first)
        self._apart = not joins or self._snapshots.rewriting.begins_apart()
        self._unrelated = tuple(i for i in self._snapshots.listed_ids() if i < self._first.id) if self._apart else ()
        self._last_changelog = self._first.id if self._continues_changelogs() else 0
        self._new_schemas = _schema_files(source)
        self._old_schemas = _schema_files(target)
        if not self._new_schemas:
            message = f"branch '{source.paths.branch}' has no schema"
            raise BranchNotFound(message)
        self._new_tags = {n: read_file(source.io, source.paths.tag(n)) for n in TagStore(source).names()}
        _refuse_unreadable(source, self._new, self._new_schemas, self._new_tags)
        self._refuse_other_table()
        tags = TagStore(target).all()
        self._old_tags = {n: t for n, t in tags.items() if t.snapshot.id >= self._first.id}
        self._first_differing = self._find_first_differing()
        self._refuse_unreadable_tags({n: t for n, t in tags.items() if n not in self._old_tags})

    def require_last(self, expected: Snapshot) -> None:
        """Refuse a branch whose latest snapshot is a different one. The states read here are those to be published."""
        last = decode_snapshot(self._new[self._last], path=self._source.paths.snapshot(self._last))
        _require_same(last, expected)

    def run(self) -> FastForwardReport:
        named = named_files(self._replaced_states(), ManifestStore(self._target, self._options))
        paths = self._target.paths
        self._files.require_same_table()
        self._snapshots.rewriting.create(apart=self._apart)  # 1
        self._snapshots.hints.delete_latest()
        replaced = tuple(i for i, data in self._old.items() if self._new.get(i) != data)
        self._remove_snapshots()  # 2
        self._files.require_same_table()
        ChangelogStore(self._target).remove_after(self._last_changelog)
        self._replace_schemas()  # 3
        for snapshot_id in sorted(self._new, reverse=True):  # 4, 5
            self._replace(paths.snapshot(snapshot_id), self._old.get(snapshot_id), self._new[snapshot_id])
        self._files.require_same_table()
        removed = (*self._remove_unrelated(), *self._remove_latecomers())
        self._replace_tags()  # 6
        self._files.require_same_table()
        self._snapshots.notices.withdraw_after(self._first.id)  # 7
        self._snapshots.hints.write_earliest(min(self._snapshots.ids_up_to(self._last), default=self._last))
        self._snapshots.hints.write_latest(self._last)
        self._snapshots.rewriting.delete()
        deletions, unreadable = FileDeletions(), None
        try:
            deletions = delete_unneeded(self._target, self._options, named)  # 8
        except CorruptionError as error:
            unreadable = str(error)
        return FastForwardReport(
            snapshot_ids=tuple(self._new),
            removed_ids=tuple(sorted({*removed, *replaced})),
            tags=tuple(self._new_tags),
            deletions=deletions,
            unreadable=unreadable,
        )

    def _continues_changelogs(self) -> bool:
        """Return whether the first snapshot of the source is also one of the target, retained or expired."""
        changelog = ChangelogStore(self._target).find(self._first.id)
        return not self._apart or (changelog is not None and changelog.is_same(self._first))

    def _listed(self, first_id: int) -> list[int]:
        return [i for i in self._snapshots.listed_ids() if i >= first_id]

    def _replaced_states(self) -> Iterator[Snapshot]:
        for snapshot_id, data in self._old.items():
            if self._new.get(snapshot_id) != data:
                with suppress(CorruptionError):
                    if (snapshot := self._snapshots.find(snapshot_id)) is not None:
                        yield snapshot
        for snapshot_id in self._unrelated:
            with suppress(CorruptionError):
                if (snapshot := self._snapshots.find(snapshot_id)) is not None:
                    yield snapshot
        yield from (tag.snapshot for name, tag in self._old_tags.items())
        with suppress(CorruptionError):
            yield from ChangelogStore(self._target).later_than(self._last_changelog)

    def _remove_snapshots(self) -> None:
        """Remove snapshots that must not be visible together with the schemas and the latest snapshot of the source.

        Raises:
            ConflictError: others continue to commit.
        """
        for _ in range(_ROUNDS):
            if not self._remove_present_snapshots():
                return
        message = (
            f"{self._target.paths.snapshot_directory}: other writers keep committing; stop them and fast-forward again"
        )
        raise ConflictError(message)

    def _remove_present_snapshots(self) -> bool:
        """Remove those that exist now. Return whether there were any: others may have committed meanwhile."""
        first, has_removed = self._first_differing, False
        for snapshot_id in sorted((*self._listed(self._first.id), *self._unrelated), reverse=True):
            snapshot = self._snapshots.find(snapshot_id)
            if snapshot is None:
                continue
            if snapshot_id <= self._last and (first is None or snapshot.schema_id < first):
                break  # earlier ones are older in both respects
            if not has_removed:
                self._files.require_same_table()
            self._snapshots.delete(snapshot_id)
            self._old.pop(snapshot_id, None)
            has_removed = True
        return has_removed

    def _find_first_differing(self) -> int | None:
        """Return the first schema of the target that is replaced or deleted."""
        replaced = (
            schema_id
            for schema_id, data in self._old_schemas.items()
            if self._new_schemas.get(schema_id, data) != data or self._is_deleted(schema_id)
        )
        return min(replaced, default=None)

    def _is_deleted(self, schema_id: int) -> bool:
        return schema_id not in self._new_schemas and schema_id >= self._first.schema_id

    def _refuse_other_table(self) -> None:
        """Refuse a branch whose first schema is another one: it identifies the table.

        Raises:
            ConflictError: names both; nothing was changed.
        """
        first = min(self._old_schemas, default=None)
        if first is not None and self._new_schemas.get(first, self._old_schemas[first]) != self._old_schemas[first]:
            message = (
                f"branch '{self._source.paths.branch}' is not a branch of the table at {self._target.paths.root}: its "
                f"first schema, {self._source.paths.schema(first)}, is not {self._target.paths.schema(first)}. "
                "Nothing was changed; copy the rows of the branch instead"
            )
            raise ConflictError(message)

    def _refuse_unreadable_tags(self, kept: Mapping[str, Tag]) -> None:
        """Refuse to replace the schemas of a tag that stays, because its rows could not be read any more.

        Raises:
            ConflictError: names the tag; nothing was changed.
        """
        first = self._first_differing
        for name, tag in sorted(kept.items()):
            if first is not None and tag.snapshot.schema_id >= first:
                message = (
                    f"the table at {self._target.paths.root}: tag '{name}' keeps snapshot {tag.snapshot.id}, whose "
                    f"rows have schema {tag.snapshot.schema_id}. Branch '{self._source.paths.branch}' has another "
                    f"schema {first}, with which they could not be read. Nothing was changed; delete the tag first"
                )
                raise ConflictError(message)

    def _remove_unrelated(self) -> tuple[int, ...]:
        """Remove snapshots before the first snapshot of the source that it does not follow."""
        for snapshot_id in reversed(self._unrelated):
            self._snapshots.delete(snapshot_id)
        return self._unrelated

    def _remove_latecomers(self) -> tuple[int, ...]:
        """Remove commits that others built on the old history after the last look at it, while this one replaced it."""
        manifests = ManifestStore(self._target, self._options)
        later = [i for i in self._snapshots.listed_ids() if i > self._last]
        first = self._snapshots.find(later[0]) if later else None
        last = self._snapshots.find(self._last)
        if first is None or last is None:
            return ()
        if first.id == last.id + 1 and built_upon(last, first, manifests) is not Link.FALSE:
            return ()  # one that is not certainly wrong stays
        for snapshot_id in reversed(later):
            self._snapshots.delete(snapshot_id)
        return tuple(later)

    def _replace_schemas(self) -> None:
        paths = self._target.paths
        for schema_id, data in sorted(self._new_schemas.items()):
            self._replace(paths.schema(schema_id), self._old_schemas.get(schema_id), data)
        self._files.require_same_table()
        for schema_id in sorted(self._old_schemas, reverse=True):
            if self._is_deleted(schema_id):
                self._target.io.delete(paths.schema(schema_id))

    def _replace_tags(self) -> None:
        tags = TagStore(self._target)
        for name in self._old_tags:
            if name not in self._new_tags:
                tags.remove(name)
        for name, data in self._new_tags.items():
            self._files.write(self._target.paths.tag(name), data, is_new=name not in self._old_tags)

    def _replace(self, path: str, old: bytes | None, new: bytes) -> None:
        if old != new:
            self._files.write(path, new, is_new=old is None)


def _refuse_unreadable(
    source: TableStore, snapshots: Mapping[int, bytes], schemas: Mapping[int, bytes], tags: Mapping[str, bytes]
) -> None:
    """Decode the files that replace files of the target.

    Raises:
        CorruptionError: readers would refuse one of the files; the message names it in the source.
    """
    for snapshot_id, data in snapshots.items():
        decode_snapshot(data, path=source.paths.snapshot(snapshot_id))
    for schema_id, data in schemas.items():
        decode_schema(data, path=source.paths.schema(schema_id))
    for name, data in tags.items():
        decode_tag(data, path=source.paths.tag(name))


def _schema_files(store: TableStore) -> Mapping[int, bytes]:
    return {i: read_file(store.io, store.paths.schema(i)) for i in SchemaStore(store).ids()}
