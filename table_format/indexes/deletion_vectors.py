"""The deletion vectors of a table: locates and reads the vector of each data file (format chapter 08, section 2).

Java ``DeletionVectorsIndexFile``. The index manifest of a snapshot names the live index files; a range in one of them
belongs to one data file. Index files are in the ``index`` directory of the table, next to the data files
(``index-file-in-data-file-dir``), or at an external path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from table_format.codecs.content_name import check_content, states_content
from table_format.codecs.deletion_vector import (
    DeletionVector,
    check_length,
    check_version,
    decode_vector,
    stored_bytes,
)
from table_format.errors import BadEncoding, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.paths import is_plain_path, without_scheme
from table_format.io.regular_files import opened_file
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, IndexFileMeta, IndexManifestEntry
from table_format.model.split import DeletionFile

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class BucketDeletions:
    """The deletion files of a bucket by data file, and their live index files."""

    files: Mapping[str, DeletionFile] = field(default_factory=dict)
    index_files: tuple[IndexFileMeta, ...] = ()


class DeletionVectorSource(Protocol):
    """A source of the deleted rows of data files."""

    def of(self, file: DataFileMeta) -> DeletionVector | None:
        """Return the vector of a data file, or ``None`` if no row of it is deleted."""
        ...


class VectorReader:
    """Reads deletion vectors. One reader serves data files whose vectors are in the same index file.

    An index file whose name contains a hash of its content is read and checked as a whole, once for consecutive vectors
    of the same file. From other index files, only the vector is read, which has its own checksum.
    """

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._last: tuple[str, bytes] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # The cache is not sent to other processes.
        return (VectorReader, (self._io,))

    def read(self, file: DeletionFile, row_count: int) -> DeletionVector:
        """Return the vector of a data file with ``row_count`` rows.

        Raises:
            CorruptionError: the index file is missing or damaged, or does not match the data file.
        """
        check_length(file.range, row_count, path=file.path)
        first, data = self._whole(file) if states_content(file.path) else self._part(file)
        check_version(first, path=file.path)
        return decode_vector(data, file.range, row_count, path=file.path)

    def _whole(self, file: DeletionFile) -> tuple[bytes, bytes]:
        known = self._last  # threads may share a reader
        if known is not None and known[0] == file.path:
            data = known[1]
        else:
            with opened_file(self._io, file.path, size=file.file_size) as source:
                data = source.read()
            check_content(data, path=file.path)
            self._last = (file.path, data)
        start = file.range.offset
        return data[:1], data[start : start + stored_bytes(file.range.length)]

    def _part(self, file: DeletionFile) -> tuple[bytes, bytes]:
        with opened_file(self._io, file.path, size=file.file_size) as source:
            first = source.read(1)
            if file.range.offset > source.size():
                message = f"expected a deletion vector at offset {file.range.offset}, found the end"
                raise BadEncoding(file.path, message)
            source.seek(file.range.offset)
            return first, source.read(stored_bytes(file.range.length))


@dataclass(frozen=True, slots=True)
class DeletionVectors:
    """The vectors of some data files, by file name. Each vector is read when its data file is read."""

    reader: VectorReader
    files: Mapping[str, DeletionFile]

    def of(self, file: DataFileMeta) -> DeletionVector | None:
        """Return the vector of a data file, or ``None`` if no row of it is deleted.

        Raises:
            CorruptionError: the index file is missing or damaged, or does not match the data file.
        """
        found = self.files.get(file.file_name)
        if found is None:
            return None
        vector = self.reader.read(found, file.row_count)
        return vector if vector.cardinality else None


def vectors_of(
    io: FileIO, files: Iterable[DataFileMeta], deletion_files: Sequence[DeletionFile | None]
) -> DeletionVectors | None:
    """Return the vectors of the data files that have deletion files. Nothing is read yet."""
    if not any(deletion_files):
        return None
    pairs = zip(files, deletion_files, strict=True)
    return DeletionVectors(VectorReader(io), {file.file_name: found for file, found in pairs if found is not None})


IndexPath: TypeAlias = Callable[[bytes, int, str], str]
"""Returns the path of an index file for a partition, bucket and file name."""


def deletion_files(
    entries: Iterable[IndexManifestEntry], path_of: IndexPath
) -> dict[BucketId, dict[str, DeletionFile]]:
    """Return the deletion files of a snapshot by partition and bucket, and within a bucket by data file.

    Raises:
        UnsupportedFeature: an index file is outside the file system.
        BadEncoding: two live vectors belong to one data file.
    """
    found: dict[BucketId, dict[str, DeletionFile]] = {}
    for entry in entries:
        if entry.index_file.index_type != DELETION_VECTORS:
            continue
        path = index_file_path(entry, path_of)
        files = found.setdefault(entry.bucket_id, {})
        for range_ in entry.index_file.deletion_vector_ranges or ():
            if range_.data_file in files:
                other = files[range_.data_file].path
                raise BadEncoding(path, f"the data file '{range_.data_file}' has another deletion vector in '{other}'")
            files[range_.data_file] = DeletionFile(path, range_, entry.index_file.file_size)
    return found


def index_file_path(entry: IndexManifestEntry, path_of: IndexPath) -> str:
    """Return the path of an index file.

    Raises:
        UnsupportedFeature: the file is outside the file system.
        BadEncoding: raised by ``path_of``.
    """
    file = entry.index_file
    if file.external_path is not None:
        path = without_scheme(file.external_path)
        if _SCHEME.match(path) or not is_plain_path(path):
            feature = f"the index file '{file.external_path}' outside the file system"
            raise UnsupportedFeature(feature)
        return path
    return path_of(entry.partition, entry.bucket, file.file_name)
