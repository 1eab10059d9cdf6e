"""Branches: separate histories and schemas over the files of one table.

A branch is built under a hidden name and appears completely, in one step. Shared files stay as long as anything names
them (see ``branch_needs``). If the catalog has a server that publishes snapshots, the server creates, renames and
deletes branches. Format chapter 03, section 5; Java ``FileSystemBranchManager`` and ``CatalogBranchManager``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from table_format.codecs.publishable import snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.counted import listed
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    CorruptionError,
    InvalidIdentifier,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.io.file_io import ObjectStore
from table_format.io.paths import schema_id_of
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.expiry.unneeded import delete_unneeded, named_files
from table_format.metastore.history.restored import restored
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.branch_list import branch_names
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.identifier import MAIN_BRANCH, check_name
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch other than main; ``created_ms`` is the epoch time of its first schema."""

    name: str
    created_ms: int


class BranchStore:
    """Lists, creates and deletes the branches of a table. New branches start from the branch of the store."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def all(self) -> Mapping[str, Branch]:
        """Return the branches that can be opened, except main, by name."""
        found = {}
        for name in branch_names(self._store):
            files = self._store.io.list(self.of(name).paths.schema_directory)
            times = [file.modified_ms for file in files if schema_id_of(file.name) is not None]
            if times:
                found[name] = Branch(name, min(times))
        return found

    def of(self, name: str) -> TableStore:
        """Return the file access of a branch, whether it exists or not."""
        return replace(self._store, paths=self._store.paths.for_branch(name))

    def exists(self, name: str) -> bool:
        """Return whether the branch has a directory."""
        status = self._store.io.status(self._store.paths.branch_root(name))
        return status is not None and status.is_directory

    def require(self, name: str) -> TableStore:
        """Return the file access of an existing branch.

        Raises:
            BranchNotFound: no branch has this name.
        """
        if not self.exists(name):
            shown = listed(branch_names(self._store)) or "none"
            message = f"branch '{name}' does not exist; the branches beside '{MAIN_BRANCH}' are {shown}"
            raise BranchNotFound(message)
        return self.of(name)

    def create(self, name: str, *, tag: str | None = None, ignore_if_exists: bool = False) -> None:
        """Create a branch with the schemas of this one. It is empty, or has a tag and its snapshot.

        Raises:
            AlreadyExistsError: a branch has this name.
            InvalidIdentifier: the name is not legal.
            TagNotFound: the tag does not exist.
            OSError: the store failed; the branch exists completely or not at all.
        """
        branch = self.of(_other(name))
        target = branch.paths.branch_root(name)
        if self._store.server is not None:
            if not (ignore_if_exists and self.exists(name)):
                self._store.server.create_branch(self._store.paths.branch, name, tag)
            return
        if self.exists(name):
            if tag is not None and TagStore(branch).is_being_deleted(tag):
                self._confirm(branch, name, tag)  # an earlier attempt was interrupted here
                return
            if ignore_if_exists:
                return
            raise self._exists_already(name)
        draft = self._store.paths.branch_draft(self._store.runtime.ids.uuid())
        try:
            for path, data in self._content(tag):
                self._store.io.create(f"{draft}{path}", data)
            self._store.io.rename_directory(draft, target)
        except FileExistsError as error:
            self._discard(draft)
            if ignore_if_exists:
                return
            raise self._exists_already(name) from error
        except FileNotFoundError:
            self._discard(draft)
            require_same_table(self._store)
            raise
        except BaseException:  # includes interrupts; once the branch has its name, there is no draft any more
            self._discard(draft)
            raise
        if tag is not None:
            self._confirm(branch, name, tag)

    def _confirm(self, branch: TableStore, name: str, tag: str) -> None:
        """Confirm a new branch if the tag from which it was created still exists; otherwise remove the branch.

        Raises:
            TagNotFound: the tag was deleted in the meantime.
        """
        tags = TagStore(self._store)
        if tags.is_being_deleted(tag) or tags.find(tag) is None:
            # The tag was deleted after it was read, perhaps with its files; a branch must not rely on them.
            self._store.io.delete_tree(branch.paths.branch_root(name))
            message = f"tag '{tag}' was deleted before branch '{name}' could keep its snapshot"
            raise TagNotFound(message)
        self._store.io.delete(branch.paths.tag_notice(tag))

    def rename(self, name: str, new_name: str) -> None:
        """Rename a branch, in one step.

        Raises:
            BranchNotFound: no branch has the old name.
            AlreadyExistsError: a branch has the new name.
            InvalidIdentifier: the new name is not legal, or the old one is the main branch.
            UnsupportedFeature: the warehouse is in an object store.
        """
        if self._store.server is not None:
            self.require(_other(name))
            self._store.server.rename_branch(name, _other(new_name))
            return
        if isinstance(self._store.io, ObjectStore):
            message = (
                f"cannot rename branch '{name}': an object store would have to copy every file, and would lose what "
                "others commit meanwhile; create a branch from a tag of it, and delete the old one"
            )
            feature = "the renaming of a branch in an object store"
            raise UnsupportedFeature(feature, message)
        source, target = self.require(_other(name)).paths.branch_root(name), self.of(_other(new_name))
        try:
            self._store.io.rename_directory(source, target.paths.branch_root(new_name))
        except FileExistsError as error:
            raise self._exists_already(new_name) from error
        except FileNotFoundError:
            self.require(name)  # another process may have deleted or renamed it after the look
            raise

    def delete(self, name: str, options: TableOptions) -> FileDeletions:
        """Delete a branch and the files that only it needs. Return the other deleted files.

        Raises:
            BranchNotFound: no branch has this name.
            InvalidIdentifier: the name is that of the main branch.
            OSError: the store failed; if the branch is already deleted, files that only it needed may be left.
        """
        branch = self.require(_other(name))
        if self._store.server is not None:
            self._store.server.delete_branch(name)
            return FileDeletions()
        named = named_files(_readable_history(branch), ManifestStore(branch, options))
        self._remove(branch, name)
        with suppress(CorruptionError):  # the needs of others are unknown then, and nothing more is deleted
            return delete_unneeded(self._store, options, named)
        return FileDeletions()

    def _remove(self, branch: TableStore, name: str) -> None:
        """Delete the directory of a branch, of which nothing must be read once a part of it is gone."""
        io, root = self._store.io, branch.paths.branch_root(name)
        if isinstance(io, ObjectStore):
            for schema_id in SchemaStore(branch).ids():
                io.delete(branch.paths.schema(schema_id))
            io.delete_tree(root)
            return
        draft = self._store.paths.branch_draft(self._store.runtime.ids.uuid())
        try:
            io.rename_directory(root, draft)
        except FileNotFoundError:
            self.require(name)  # another process may have deleted or renamed it after the look
            raise
        io.delete_tree(draft)

    def _content(self, tag: str | None) -> Sequence[tuple[str, bytes]]:
        """Return the files of a new branch: paths below its directory, with a leading slash, and bytes."""
        io, paths = self._store.io, self._store.paths
        schemas = SchemaStore(self._store)
        last_schema, files = schemas.latest().id, []
        if tag is not None:
            tags = TagStore(self._store)
            snapshot = tags.load(tag).snapshot
            tags.refuse_if_being_deleted(tag)
            last_schema = snapshot.schema_id
            # The notice stays until the branch is confirmed. Nothing relies on the branch if the process dies before
            # that.
            files.append((paths.tag_notice(tag), b""))
            files.append((paths.tag(tag), tags.file_of(tag)))
            files.append((paths.snapshot(snapshot.id), self._snapshot_file(snapshot)))
        for schema_id in schemas.ids():
            if schema_id <= last_schema:
                schemas.load(schema_id)  # an unreadable schema is not copied
                files.append((paths.schema(schema_id), read_file(io, paths.schema(schema_id))))
        return [(path.removeprefix(paths.branch_root(paths.branch)), data) for path, data in files]

    def _snapshot_file(self, snapshot: Snapshot) -> bytes:
        path = self._store.paths.snapshot(snapshot.id)
        with suppress(FileNotFoundError, CorruptionError):
            data = read_file(self._store.io, path)
            # Copy the original bytes, with unknown members, unless the file is a later snapshot with a reused id.
            if decode_snapshot(data, path=path) == snapshot:
                return data
        return snapshot_bytes(restored(self._store, snapshot), path=path)

    def _discard(self, draft: str) -> None:
        with suppress(OSError):
            self._store.io.delete_tree(draft)

    def _exists_already(self, name: str) -> AlreadyExistsError:
        return AlreadyExistsError(f"branch '{name}' already exists; delete it or choose another name")


def refuse_snapshot_without_tag(name: str, snapshot_id: int) -> UnsupportedFeature:
    """Return the error for a branch that would begin with a snapshot that no tag keeps."""
    feature = "a branch from a snapshot without a tag"
    message = (
        f"branch '{name}' cannot begin with snapshot {snapshot_id} itself: other engines keep the files of a "
        "branch only through its tag; create a tag of the snapshot, and the branch from the tag"
    )
    return UnsupportedFeature(feature, message)


def _other(name: str) -> str:
    check_name(name, "branch")
    if name == MAIN_BRANCH:
        message = f"branch '{MAIN_BRANCH}' is the table itself; name another branch"
        raise InvalidIdentifier(message)
    return name


def _readable_history(branch: TableStore) -> Iterable[Snapshot]:
    """Yield the snapshots of a branch, its tags and its changelogs, as far as they can be read."""
    snapshots, tags = SnapshotStore(branch), TagStore(branch)
    for snapshot_id in snapshots.listed_ids():
        with suppress(CorruptionError):
            if (snapshot := snapshots.find(snapshot_id)) is not None:
                yield snapshot
    for name in tags.names():
        with suppress(CorruptionError):
            if (tag := tags.find(name)) is not None:
                yield tag.snapshot
    with suppress(CorruptionError):
        yield from ChangelogStore(branch).all()
