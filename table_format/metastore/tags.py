"""Tags keep a snapshot readable after it has been expired (format chapter 03, section 4; Java ``TagManager``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_format.codecs.tag_json import decode_tag, encode_tag
from table_format.errors import AlreadyExistsError, OutcomeUnknownError, SnapshotExpired, TagNotFound
from table_format.io.paths import tag_name_of
from table_format.io.table_store import TableStore
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.metastore.snapshots import SnapshotStore
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag

_GIVE_UP_AFTER_MS: Final = 60_000


class TagStore:
    """Finds, loads and creates tags of one branch. To delete one with its files see ``tag_deletion``."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def names(self) -> Sequence[str]:
        """The names of all tags, sorted."""
        children = self._store.io.list(self._store.paths.tag_directory)
        names = (tag_name_of(child.name) for child in children if not child.is_directory)
        return sorted(name for name in names if name is not None)

    def load(self, name: str) -> Tag:
        """The tag of that name.

        Raises:
            TagNotFound: there is none.
            CorruptionError: its file holds no tag.
        """
        found = self.find(name)
        if found is None:
            message = f"tag '{name}' does not exist; the tags are {', '.join(self.names()) or 'none'}"
            raise TagNotFound(message)
        return found

    def find(self, name: str) -> Tag | None:
        """The tag of that name, or ``None``."""
        path = self._store.paths.tag(name)
        try:
            data = self._store.io.read(path)
        except FileNotFoundError:
            return None
        return decode_tag(data, path=path)

    def all(self) -> Mapping[str, Tag]:
        """All tags by name."""
        found = ((name, self.find(name)) for name in self.names())
        return {name: tag for name, tag in found if tag is not None}

    def create(self, name: str, snapshot: Snapshot, *, time_retained_ms: int | None = None) -> Tag:
        """Give a snapshot a name, for ever or for some time.

        Raises:
            AlreadyExistsError: there is a tag of that name.
            SnapshotExpired: the snapshot is gone.
            InvalidIdentifier: the name is not legal.
            OutcomeUnknownError: the store did not answer.
        """
        clock = self._store.runtime.clock
        created = None if time_retained_ms is None else clock.local_now_ms()
        tag = Tag(snapshot, create_time_ms=created, time_retained_ms=time_retained_ms)
        path = self._store.paths.tag(name)
        put = put_if_absent(self._store, path, encode_tag(tag), give_up_ms=clock.monotonic_ms() + _GIVE_UP_AFTER_MS)
        match put.outcome:
            case PutOutcome.OTHERS:
                message = f"tag '{name}' exists already; delete it or choose another name"
                raise AlreadyExistsError(message)
            case PutOutcome.REFUSED if put.error is not None:
                raise put.error
            case PutOutcome.UNKNOWN | PutOutcome.REFUSED:
                message = f"{path}: the store did not say whether the tag was created; look before trying again"
                raise OutcomeUnknownError(message) from put.error
        if SnapshotStore(self._store).is_going(snapshot.id):
            # Expired between reading and tagging: its files may be gone, and a tag must not promise them.
            self.remove(name)
            message = f"snapshot {snapshot.id} was expired before tag '{name}' could keep it"
            raise SnapshotExpired(message)
        return tag

    def remove(self, name: str) -> None:
        """Delete the tag's file and nothing else; nothing happens when there is none."""
        self._store.io.delete(self._store.paths.tag(name))
