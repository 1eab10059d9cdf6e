"""Checks whether all files of a snapshot exist, for operations that must not rely on a partly deleted one.

This takes one listing for each bucket, and reads all manifests.
"""

from __future__ import annotations

from collections.abc import Iterator

from table_format.errors import MissingFile
from table_format.io.paths import base_name, parent
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import metadata_names, without_changelog
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions


def missing_file(store: TableStore, snapshot: Snapshot) -> str | None:
    """Return the path of a missing file that the rows of the snapshot need; ``None`` if all files exist.

    Raises:
        CorruptionError: a metadata file is damaged, so the needed files are unknown.
        OSError: the store failed.
    """
    schema = SchemaStore(store).latest()
    options = TableOptions.parse(schema.options)
    # Read from the store, because cached files may have been deleted.
    manifests = ManifestStore(store, options)
    try:
        names = metadata_names(without_changelog(snapshot), manifests)
        entries = live_files(manifests, snapshot, schema=schema, schemas={}).entries
    except MissingFile as error:
        return error.path
    paths = DataPaths(store, Partitions(schema, options))
    needed = (
        *paths.files_of(filter(paths.is_own, entries), frozenset()),
        *map(paths.index_file, filter(paths.is_own_index, names.index_files)),
        *map(paths.paths.statistics, names.statistics),
    )
    return next(_missing(store, needed), None)


def _missing(store: TableStore, paths: tuple[str, ...]) -> Iterator[str]:
    found: dict[str, frozenset[str]] = {}
    for path in paths:
        directory = parent(path)
        if directory not in found:
            found[directory] = frozenset(child.name for child in store.io.list(directory))
        if base_name(path) not in found[directory] and store.io.status(path) is None:
            yield path
