"""Which files Spark can open by itself, without a task of this library."""

from __future__ import annotations

from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO


def spark_reaches(io: FileIO) -> bool:
    """Return whether Spark's own reader finds the files of a store by their paths, and tasks may exchange rows there.

    Spark reads an object store only with packages of Hadoop, and with keys in its own settings. The library uses
    neither, so its tasks read and write the files.
    """
    return isinstance(io, LocalFileIO)
