"""Statistics files of a table (format chapter 03, section 7; Java ``StatsFileHandler``).

A snapshot names its statistics file; other files in the directory are ignored.
"""

from __future__ import annotations

from table_format.codecs.content_name import check_content, content_uuid
from table_format.codecs.publishable import statistics_bytes
from table_format.codecs.statistics_json import decode_statistics
from table_format.errors import MissingFile
from table_format.io.paths import statistics_name
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.model.snapshot import Snapshot
from table_format.model.statistics import Statistics


def read_statistics(store: TableStore, snapshot: Snapshot | None) -> Statistics | None:
    """Return the statistics of a snapshot; ``None`` if it has none.

    Raises:
        CorruptionError: the file is missing or broken.
    """
    if snapshot is None or snapshot.statistics is None:
        return None
    path = store.paths.statistics(snapshot.statistics)
    try:
        data = read_file(store.io, path)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    check_content(data, path=path)
    return decode_statistics(data, path=path)


def write_statistics(store: TableStore, statistics: Statistics) -> str:
    """Write a statistics file, which no snapshot names yet, and return its name."""
    data = statistics_bytes(statistics, path=store.paths.statistics_directory)
    name = statistics_name(content_uuid(store.runtime.ids.uuid(), data), 0)
    store.io.create(store.paths.statistics(name), data)
    return name
