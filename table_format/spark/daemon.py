"""Starts the Python workers of Spark's tasks with this library already imported.

Spark forks these workers from a daemon, and ends those that have been idle for a minute. A worker that is forked from
PySpark's own daemon has imported nothing, so each one imports PySpark and this library again, which takes a second of
CPU time. Workers of this daemon share what it has imported. Name it before the session starts::

    SparkSession.builder.config("spark.python.daemon.module", "table_format.spark.daemon")

On a cluster, this library must then be installed on all machines. The session's other Python functions run in the same
workers.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from zipimport import zipimporter

_IMPORTED: Final = (
    "table_format.spark.source.data_source",
    "table_format.spark.tasks.read_work",
    "pandas",  # PySpark imports it in tasks that exchange Arrow batches
)


def main() -> None:
    """Import, then fork workers until Spark closes the standard input."""
    sys.path[:] = without_archive(sys.path, os.environ.get("SPARK_HOME"))
    from pyspark.daemon import manager

    for name in _IMPORTED:
        if find_spec(name) is not None:
            import_module(name)
    _forget_archives()
    # Collections in workers do not visit what all of them share, so its memory is not copied either.
    gc.collect()
    gc.freeze()
    manager()


def without_archive(path: Sequence[str], spark_home: str | None) -> list[str]:
    """Return the path without the archive of PySpark if it also has the directory that this archive is a copy of.

    Spark puts the archive first. Python compiles each module that it imports from there.
    """
    if spark_home is None or not any(_is_same(Path(entry, "pyspark"), Path(spark_home)) for entry in path):
        return list(path)
    archive = Path(spark_home, "python", "lib", "pyspark.zip")
    return [entry for entry in path if not _is_same(Path(entry), archive)]


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _forget_archives() -> None:
    """Let workers not read the directories of archives on the path again, which they do if Python knows them."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]


if __name__ == "__main__":
    main()
