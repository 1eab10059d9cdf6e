"""Deletes many files in the way that is fast for their store."""

from __future__ import annotations

from collections.abc import Sequence

from table_format.io.file_io import FileIO, ObjectStore
from table_format.io.threads import side_by_side


def delete_files(io: FileIO, paths: Sequence[str], threads: int | None = None) -> None:
    """Delete files in any order; those that do not exist are no error.

    An object store deletes many files by one request; elsewhere, ``threads`` files are deleted in parallel. Raises
    ``OSError``; some files may be deleted then.
    """
    if isinstance(io, ObjectStore):
        io.delete_files(paths)
    else:
        side_by_side(io.delete, paths, threads)
