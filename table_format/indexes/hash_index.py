"""Reads and writes hash index files (format chapter 08, section 1; Java ``HashIndexFile``).

The index manifest of a snapshot names one for each dynamic bucket. A file never changes; a new one replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from table_format.codecs.content_name import check_content, content_uuid
from table_format.codecs.hash_index import decode_hashes, encode_hashes
from table_format.errors import BadEncoding, MissingFile, Truncated
from table_format.indexes.deletion_vectors import IndexPath, index_file_path
from table_format.io.paths import index_name
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.kernels.hash_buckets import distinct
from table_format.model.manifest import HASH, IndexFileMeta, IndexManifestEntry


def read_hashes(store: TableStore, entry: IndexManifestEntry, path_of: IndexPath) -> npt.NDArray[np.int32]:
    """Return the key hashes of a bucket.

    Raises:
        CorruptionError: the file is missing, or has another size or content than recorded.
        UnsupportedFeature: the file is outside the file system.
    """
    path = index_file_path(entry, path_of)
    try:
        data = read_file(store.io, path, size=entry.index_file.file_size)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    if len(data) != entry.index_file.file_size:
        raise Truncated(path, expected_bytes=entry.index_file.file_size, found_bytes=len(data))
    check_content(data, path=path)
    hashes = decode_hashes(data, count=entry.index_file.row_count, path=path)
    if len(distinct(hashes)) != len(hashes):
        raise BadEncoding(path, f"expected {len(hashes)} distinct hashes, found duplicates")
    return hashes


def write_hashes(store: TableStore, hashes: npt.NDArray[np.int32], path_of: Callable[[str], str]) -> IndexFileMeta:
    """Write a new file, which no manifest references yet. ``path_of`` returns the path of an index file name."""
    data = encode_hashes(hashes)
    name = index_name(content_uuid(store.runtime.ids.uuid(), data), 0)
    store.io.create(path_of(name), data)
    return IndexFileMeta(index_type=HASH, file_name=name, file_size=len(data), row_count=len(hashes))


def hash_entries(entries: Iterable[IndexManifestEntry]) -> dict[bytes, dict[int, IndexManifestEntry]]:
    """Return the hash index files among these index files, by partition and bucket."""
    found: dict[bytes, dict[int, IndexManifestEntry]] = {}
    for entry in entries:
        if entry.index_file.index_type == HASH:
            found.setdefault(entry.partition, {})[entry.bucket] = entry
    return found
