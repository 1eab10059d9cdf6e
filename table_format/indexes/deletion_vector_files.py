"""Writes index files with deletion vectors, and starts a new file at a target size (format chapter 08, section 2; Java
``DeletionVectorIndexFileWriter``).

A bucket has one file for all its vectors. A partition without buckets may have any number of data files, so its vectors
are split into files of about ``deletion-vector.index-file.target-size``: a later DELETE rewrites only the files that it
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from table_format.codecs.content_name import content_uuid
from table_format.codecs.deletion_vector import DeletionVector, EncodedVector, encode_index_file, index_file_of
from table_format.io.paths import index_name
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import DeletingOnFailure, delete_uncommitted
from table_format.model.manifest import DELETION_VECTORS, DeletionVectorRange, IndexFileMeta


def write_deletion_vector_files(
    store: TableStore, vectors: Mapping[str, DeletionVector], path_of: Callable[[str], str], *, target_bytes: int
) -> tuple[IndexFileMeta, ...]:
    """Write the vectors of some data files to new files, which no manifest references yet. After a failure, delete them
    all.

    ``path_of`` returns the path of an index file name. A file ends with the vector that exceeds ``target_bytes``.
    Raises ``OSError``.
    """
    written: list[IndexFileMeta] = []
    with DeletingOnFailure(lambda: delete_uncommitted(store.io, (path_of(f.file_name) for f in written))):
        for part in _parts(vectors, target_bytes):
            written.append(_written(store, path_of, *index_file_of(part)))  # noqa: PERF401 - see except
    return tuple(written)


def write_deletion_vectors(
    store: TableStore, vectors: Mapping[str, DeletionVector], path_of: Callable[[str], str]
) -> IndexFileMeta:
    """Write the vectors of some data files to one new file, which no manifest references yet."""
    return _written(store, path_of, *encode_index_file(vectors))


def _written(
    store: TableStore, path_of: Callable[[str], str], data: bytes, ranges: tuple[DeletionVectorRange, ...]
) -> IndexFileMeta:
    name = index_name(content_uuid(store.runtime.ids.uuid(), data), 0)
    path = path_of(name)
    with DeletingOnFailure(lambda: delete_uncommitted(store.io, (path,))):
        store.io.create(path, data)
    return IndexFileMeta(
        index_type=DELETION_VECTORS,
        file_name=name,
        file_size=len(data),
        row_count=len(ranges),
        deletion_vector_ranges=ranges,
    )


def _parts(vectors: Mapping[str, DeletionVector], target_bytes: int) -> Iterator[list[EncodedVector]]:
    part: list[EncodedVector] = []
    size = 1  # the version
    for data_file, vector in vectors.items():
        record = vector.encoded()
        part.append((data_file, vector, record))
        size += len(record)
        if size > target_bytes:
            yield part
            part, size = [], 1
    if part:
        yield part
