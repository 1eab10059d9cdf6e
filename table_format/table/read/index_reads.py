"""Reads the indexes of many data files, several at the same time if each read waits for a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.model.manifest import ManifestEntry

INDEX_THREADS: Final = 8
"""Files whose indexes are read at the same time."""
_MIN_READS_FOR_THREADS: Final = 8

_File = TypeVar("_File")
_Found = TypeVar("_Found")


def of_each_index(
    io: FileIO, found_of: Callable[[ManifestEntry], _Found], entries: Sequence[ManifestEntry]
) -> list[_Found]:
    """Yield the result for the indexes of each file, in the order of the files."""
    if sum(entry.file.embedded_file_index is None for entry in entries) < _MIN_READS_FOR_THREADS:
        return list(map(found_of, entries))
    return of_each_file(io, found_of, entries)


def of_each_file(io: FileIO, found_of: Callable[[_File], _Found], files: Sequence[_File]) -> list[_Found]:
    """Yield the result for each file, in the order of the files. If files must be read, several are read at once."""
    # Local files are read faster one after the other: threads would take turns.
    if isinstance(io, LocalFileIO) or len(files) < 2:
        return list(map(found_of, files))
    width = -(-len(files) // INDEX_THREADS)
    shares = [files[start : start + width] for start in range(0, len(files), width)]
    with ThreadPoolExecutor(len(shares), "file-index") as pool:
        return [each for found in pool.map(lambda share: list(map(found_of, share)), shares) for each in found]
