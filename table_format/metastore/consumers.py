"""How far consumers have read (format chapter 03, section 6; Java ``ConsumerManager``).

A consumer is a file with the snapshot it reads next. Nothing from there on is expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.errors import BadEncoding, InvalidInputError
from table_format.io.file_io import FileStatus
from table_format.io.paths import consumer_name_of
from table_format.io.sound_files import read_file
from table_format.io.table_store import TableStore
from table_format.model.snapshot import FIRST_SNAPSHOT_ID

_NEXT = "nextSnapshot"


def next_snapshots(store: TableStore) -> Mapping[str, int]:
    """The snapshot each consumer reads next, by name.

    Raises:
        BadEncoding: a consumer file cannot be understood.
    """
    found = ((name, next_snapshot(store, name)) for name, _ in _files(store))
    return {name: snapshot_id for name, snapshot_id in found if snapshot_id is not None}


def next_snapshot(store: TableStore, name: str) -> int | None:
    """The snapshot a consumer reads next; ``None`` when there is no such consumer.

    Raises:
        BadEncoding: its file cannot be understood, so nobody knows what it protects.
    """
    path = store.paths.consumer(name)
    try:
        data = read_file(store.io, path)
    except FileNotFoundError:
        return None
    found = load_json(data, path=path).get(_NEXT)
    if not isinstance(found, int) or isinstance(found, bool):
        raise BadEncoding(path, f"expected an integer '{_NEXT}', found {found!r}")
    return found


def first_needed_snapshot(store: TableStore) -> int | None:
    """The smallest id that a consumer has still to read; ``None`` without consumers.

    Raises:
        BadEncoding: a consumer file cannot be understood, so nobody knows what it protects.
    """
    return min(next_snapshots(store).values(), default=None)


def reset_consumer(store: TableStore, name: str, next_snapshot_id: int) -> None:
    """Let a consumer go on with this snapshot; it is made when there is none.

    Raises:
        InvalidIdentifier: the name is not legal.
        InvalidInputError: no snapshot can have that id.
        OSError: the store failed.
    """
    if isinstance(next_snapshot_id, bool) or next_snapshot_id < FIRST_SNAPSHOT_ID:
        message = f"consumer '{name}' cannot go on with snapshot {next_snapshot_id!r}: ids begin with 1"
        raise InvalidInputError(message)
    store.io.overwrite(store.paths.consumer(name), dump_pretty({_NEXT: next_snapshot_id}))


def delete_consumer(store: TableStore, name: str) -> None:
    """Forget a consumer, and let expire what it had still to read; nothing happens when there is none."""
    store.io.delete(store.paths.consumer(name))


def expire_consumers(store: TableStore, *, retained_ms: int) -> tuple[str, ...]:
    """Forget the consumers that have recorded no progress for that long; their names."""
    oldest_ms = store.runtime.clock.now_ms() - retained_ms
    silent = [name for name, file in _files(store) if file.modified_ms < oldest_ms]
    for name in silent:
        delete_consumer(store, name)
    return tuple(silent)


def _files(store: TableStore) -> Iterator[tuple[str, FileStatus]]:
    for child in store.io.list(store.paths.consumer_directory):
        name = consumer_name_of(child.name)
        if name is not None and not child.is_directory:
            yield name, child
