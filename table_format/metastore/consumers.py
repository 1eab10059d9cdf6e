"""How far consumers have read (format chapter 03, section 6; Java ``ConsumerManager``)."""

from __future__ import annotations

from table_format.codecs.pretty_json import load_json
from table_format.errors import BadEncoding
from table_format.io.paths import consumer_name_of
from table_format.io.table_store import TableStore


def first_needed_snapshot(store: TableStore) -> int | None:
    """The smallest id that a consumer has still to read; ``None`` without consumers.

    Raises:
        BadEncoding: a consumer file cannot be understood, so nobody knows what it protects.
    """
    needed: list[int] = []
    for child in store.io.list(store.paths.consumer_directory):
        name = consumer_name_of(child.name)
        if name is None:
            continue
        path = store.paths.consumer(name)
        try:
            data = store.io.read(path)
        except FileNotFoundError:
            continue  # the consumer was removed meanwhile
        next_snapshot = load_json(data, path=path).get("nextSnapshot")
        if not isinstance(next_snapshot, int) or isinstance(next_snapshot, bool):
            raise BadEncoding(path, f"expected an integer 'nextSnapshot', found {next_snapshot!r}")
        needed.append(next_snapshot)
    return min(needed, default=None)
