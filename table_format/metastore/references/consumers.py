"""The progress of consumers (format chapter 03, section 6; Java ``ConsumerManager``).

A consumer is a file with the id of the snapshot that it reads next. The snapshot before it does not expire, nor do this
one and later ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from table_format.codecs.consumer_json import decode_consumer
from table_format.codecs.publishable import consumer_bytes
from table_format.io.file_io import FileStatus
from table_format.io.paths import consumer_name_of
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.model.arguments import whole_number
from table_format.model.consumer import ConsumerProgress
from table_format.model.snapshot import FIRST_SNAPSHOT_ID


def next_snapshots(store: TableStore) -> Mapping[str, int]:
    """Return the id of the snapshot that each consumer reads next, by consumer name.

    Raises:
        BadEncoding: a consumer file cannot be decoded.
    """
    found = ((name, next_snapshot(store, name)) for name, _ in _files(store))
    return {name: snapshot_id for name, snapshot_id in found if snapshot_id is not None}


def next_snapshot(store: TableStore, name: str) -> int | None:
    """Return the id of the snapshot that a consumer reads next; ``None`` if the consumer does not exist.

    Raises:
        BadEncoding: the consumer file cannot be decoded, so the snapshots that it protects are unknown.
    """
    progress = consumer_progress(store, name)
    return None if progress is None else progress.next_snapshot


def consumer_progress(store: TableStore, name: str) -> ConsumerProgress | None:
    """Return what a consumer has recorded; raises the same errors as ``next_snapshot``."""
    path = store.paths.consumer(name)
    try:
        data = read_file(store.io, path)
    except FileNotFoundError:
        return None
    return decode_consumer(data, path=path)


def first_needed_snapshot(store: TableStore) -> int | None:
    """Return the smallest id that a consumer still has to read; ``None`` without consumers.

    Raises:
        BadEncoding: a consumer file cannot be decoded, so the snapshots that it protects are unknown.
    """
    return min(next_snapshots(store).values(), default=None)


def reset_consumer(store: TableStore, name: str, next_snapshot_id: int, *, passed: str | None = None) -> None:
    """Set the next snapshot of a consumer. Create the consumer if it does not exist. ``passed`` is the delta manifest
    list of the snapshot before it.

    Raises:
        InvalidIdentifier: the name is not legal.
        InvalidInputError: the id is not a valid snapshot id.
        OSError: the store failed.
    """
    path = store.paths.consumer(name)
    number = whole_number(next_snapshot_id, f"next_snapshot_id of consumer '{name}'", minimum=FIRST_SNAPSHOT_ID)
    store.io.overwrite(path, consumer_bytes(ConsumerProgress(number, passed), path=path))


def delete_consumer(store: TableStore, name: str) -> None:
    """Delete a consumer, so that its unread snapshots can expire; do nothing if it does not exist."""
    store.io.delete(store.paths.consumer(name))


def expire_consumers(store: TableStore, *, retained_ms: int) -> tuple[str, ...]:
    """Delete the consumers that have not recorded progress for ``retained_ms``. Return their names."""
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
