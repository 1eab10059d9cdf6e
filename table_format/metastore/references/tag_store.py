"""Tags, which keep a snapshot readable after it expires (format chapter 03, section 4; Java ``TagManager``).

The deletion of a tag deletes files before the tag itself. A notice next to the tag announces the deletion, so that
nothing relies on a tag whose files are partly deleted. A new tag also has a notice until it is certain that its
snapshot has not expired in the meantime. If the process dies in between, nothing relies on the tag, and it can be
created again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from table_format.codecs.publishable import tag_bytes
from table_format.codecs.tag_json import decode_tag
from table_format.counted import listed
from table_format.errors import AlreadyExistsError, SnapshotExpired, TableNotFound, TableReplaced, TagNotFound
from table_format.io.paths import tag_being_deleted, tag_name_of
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.publish import create_new, is_refusal
from table_format.metastore.references.completeness import missing_file
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import optional_whole_number
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.values import MAX_RETAINED_MS

"""The maximum retention, about ten thousand years, so that every reader can represent the end of a tag."""

_GIVE_UP_AFTER_MS: Final = 60_000
_NOTICE_MS: Final = 24 * 3_600_000
"""The age above which the process that created the notice of an expiry is assumed to be dead."""


class TagStore:
    """Finds, loads and creates tags of one branch. ``tag_deletion`` deletes a tag with its files."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def names(self) -> Sequence[str]:
        """Return the names of all tags, sorted."""
        children = self._store.io.list(self._store.paths.tag_directory)
        names = (tag_name_of(child.name) for child in children if not child.is_directory)
        return sorted(name for name in names if name is not None)

    def known_names(self) -> str:
        """Return a clause for messages that lists the tags."""
        names = self.names()
        return f"the tags are {listed(names)}" if names else "the table has no tags"

    def load(self, name: str) -> Tag:
        """Return the tag with this name.

        Raises:
            TagNotFound: the tag does not exist.
            CorruptionError: its file is not a tag.
        """
        found = self.find(name)
        if found is None:
            raise self._not_found(name)
        return found

    def find(self, name: str) -> Tag | None:
        """Return the tag with this name, or ``None``."""
        path = self._store.paths.tag(name)
        try:
            data = read_file(self._store.io, path)
        except FileNotFoundError:
            return None
        return decode_tag(data, path=path)

    def file_of(self, name: str) -> bytes:
        """Return the original bytes of the tag's file, including unknown members; raises as ``load``."""
        try:
            return read_file(self._store.io, self._store.paths.tag(name))
        except FileNotFoundError:
            raise self._not_found(name) from None

    def all(self) -> Mapping[str, Tag]:
        """Return all tags by name."""
        found = ((name, self.find(name)) for name in self.names())
        return {name: tag for name, tag in found if tag is not None}

    def create(
        self, name: str, snapshot: Snapshot, *, time_retained_ms: int | None = None, automatic: bool = False
    ) -> Tag:
        """Create a tag for a snapshot, with or without a retention time.

        Only an automatic name, which table options select, may be purely numeric, such as 20261122.

        Raises:
            AlreadyExistsError: a tag has this name.
            SnapshotExpired: the snapshot has expired, and no other tag keeps it.
            TableNotFound, TableReplaced: the table was dropped, renamed or created again in the meantime.
            InvalidIdentifier: the name is not legal.
            OutcomeUnknownError: the store did not answer.
        """
        tag = self._made_now(snapshot, time_retained_ms)
        paths = self._store.paths
        self._create_unconfirmed(name, tag, paths.tag(name) if automatic else paths.new_tag(name))
        if not self._is_kept(snapshot, beside=name):
            # The snapshot expired after it was read: its files may be deleted, and a tag must not rely on them.
            self.remove(name)
            require_same_table(self._store)
            message = f"snapshot {snapshot.id} was expired before tag '{name}' could keep it"
            raise SnapshotExpired(message)
        self._confirm(name)
        return tag

    def replace(self, name: str, snapshot: Snapshot, *, time_retained_ms: int | None = None) -> Tag:
        """Change the snapshot or the retention time of a tag. Files that only the old snapshot needs are not deleted.

        Raises:
            TagNotFound: the tag does not exist.
            SnapshotExpired: the snapshot has expired, and no other tag keeps it; the tag is unchanged.
            TableNotFound, TableReplaced: the table was dropped, renamed or created again in the meantime.
            OSError: the store failed.
        """
        before, was_being_deleted = self.load(name), self.is_being_deleted(name)
        tag = self._made_now(snapshot, time_retained_ms)
        path = self._store.paths.tag(name)
        data = tag_bytes(tag, path=path)  # refuse a tag that readers could not read before anything is written
        if before.snapshot.is_same(snapshot):
            self._store.io.overwrite(path, data)
            return tag
        self.announce_deletion(name)  # for the old tag, and for the new one until its files are known to exist
        try:
            self._store.io.overwrite(path, data)
        except OSError as error:
            if is_refusal(error) and not was_being_deleted and self.find(name) == before:
                self.withdraw_deletion(name)
            raise
        if not self._is_kept(snapshot, beside=name):
            self._require_same_table(name)
            self._store.io.overwrite(path, tag_bytes(before, path=path))
            if not was_being_deleted:
                self.withdraw_deletion(name)
            message = f"snapshot {snapshot.id} was expired before tag '{name}' could keep it"
            raise SnapshotExpired(message)
        self._confirm(name)
        return tag

    def _require_same_table(self, name: str) -> None:
        """Delete the tag if the table of its snapshot is gone: it would be the tag of another table, without files."""
        try:
            require_same_table(self._store)
        except (TableNotFound, TableReplaced):
            self.remove(name)
            raise

    def rename(self, name: str, new_name: str) -> None:
        """Rename a tag, in two steps; in between, it has both names.

        Raises:
            TagNotFound: no tag has the old name.
            AlreadyExistsError: a tag has the new name.
            OutcomeUnknownError: the store did not answer.
        """
        tag = self.load(name)
        self.refuse_if_being_deleted(name)
        # An earlier attempt may have been interrupted here.
        if self.find(new_name) != tag:
            self._create_unconfirmed(new_name, tag, self._store.paths.new_tag(new_name))
        if self.is_being_deleted(name) or self.find(name) is None:
            # The tag was deleted after it was read, perhaps with its files.
            self.remove(new_name)
            message = f"tag '{name}' was deleted before it could be renamed to '{new_name}'"
            raise TagNotFound(message)
        self._confirm(new_name)
        self.remove(name)

    def keeping(self, snapshot_id: int) -> Mapping[str, Tag]:
        """Return the tags that keep a snapshot."""
        return {name: tag for name, tag in self.all().items() if tag.snapshot.id == snapshot_id}

    def remove(self, name: str) -> None:
        """Delete only the tag's file and its notice; do nothing if the tag does not exist."""
        self._store.io.delete(self._store.paths.tag(name))
        self._store.io.delete(self._store.paths.tag_notice(name))

    def announce_deletion(self, name: str) -> None:
        """Announce that the tag is being deleted and does not keep its snapshot any more. Raises ``OSError``."""
        with suppress(FileExistsError):  # a process died here, or the answer to our request was lost
            self._store.io.create(self._store.paths.tag_notice(name), b"")

    def withdraw_deletion(self, name: str) -> None:
        """Withdraw the notice of a deletion that deleted nothing. If this fails, the next deletion does it."""
        with suppress(OSError):
            self._store.io.delete(self._store.paths.tag_notice(name))

    def names_being_deleted(self) -> Sequence[str]:
        """Return the tags whose creation or deletion is not finished, sorted. Raises ``OSError``."""
        children = self._store.io.list(self._store.paths.tag_directory)
        return sorted(name for child in children if (name := tag_being_deleted(child.name)) is not None)

    def is_being_deleted(self, name: str) -> bool:
        """Return whether the creation or deletion of the tag is not finished. Raises ``OSError``."""
        return self._store.io.status(self._store.paths.tag_notice(name)) is not None

    def refuse_if_being_deleted(self, name: str) -> None:
        """Refuse to rely on a tag whose creation or deletion is not finished.

        Raises:
            TagNotFound: the tag is not complete; the message states what to do.
        """
        if self.is_being_deleted(name):
            message = f"tag '{name}' is being created or deleted, or this was not finished: create or delete it again"
            raise TagNotFound(message)

    def _create_unconfirmed(self, name: str, tag: Tag, path: str) -> None:
        """Create a tag on which nothing relies yet: its notice stays until its files are known to exist.

        If the process dies in between, nothing relies on the tag, and a later attempt with the same snapshot continues.
        """
        data = tag_bytes(tag, path=path)  # refuse a tag that readers could not read before anything is written
        existing = self.find(name)
        if existing is None:
            self.announce_deletion(name)
            try:
                self._put(name, data)
            except (AlreadyExistsError, OSError):  # another process was faster, or the store refused the tag
                self.withdraw_deletion(name)
                raise
        elif self.is_being_deleted(name) and existing.snapshot.is_same(tag.snapshot):
            self._store.io.overwrite(path, data)
        else:
            raise _exists_already(name)

    def _not_found(self, name: str) -> TagNotFound:
        return TagNotFound(f"tag '{name}' does not exist; {self.known_names()}")

    def _confirm(self, name: str) -> None:
        self._store.io.delete(self._store.paths.tag_notice(name))

    def _made_now(self, snapshot: Snapshot, time_retained_ms: int | None) -> Tag:
        retained_ms = optional_whole_number(time_retained_ms, "time_retained_ms", minimum=0, maximum=MAX_RETAINED_MS)
        created = None if retained_ms is None else self._store.runtime.clock.local_now_ms()
        return Tag(snapshot, create_time_ms=created, time_retained_ms=retained_ms)

    def _put(self, name: str, data: bytes) -> None:
        try:
            create_new(
                self._store, self._store.paths.tag(name), data, what="the tag", give_up_after_ms=_GIVE_UP_AFTER_MS
            )
        except AlreadyExistsError:
            raise _exists_already(name) from None

    def _is_kept(self, snapshot: Snapshot, *, beside: str) -> bool:
        """Return whether the snapshot is retained, or a tag other than ``beside`` keeps it."""
        snapshots = SnapshotStore(self._store)
        found = snapshots.find(snapshot.id)
        if found is not None and found.is_same(snapshot):
            covering = [notice for notice in snapshots.notices.all() if notice.end > snapshot.id]
            if not covering and snapshots.exists(snapshot.id):
                return True
            # No expiry runs for a day: the process that created the notice is dead, and may not have deleted anything.
            oldest_ms = self._store.runtime.clock.now_ms() - _NOTICE_MS
            if all(notice.made_ms < oldest_ms for notice in covering) and missing_file(self._store, snapshot) is None:
                return True
        others = (n for n, tag in self.keeping(snapshot.id).items() if n != beside and tag.snapshot.is_same(snapshot))
        # Check again, because the notice is deleted after the tag.
        return any(not self.is_being_deleted(other) and self.find(other) is not None for other in others)


def _exists_already(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"tag '{name}' already exists; delete it or choose another name")
