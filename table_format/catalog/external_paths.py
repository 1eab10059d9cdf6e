"""External paths of a table (``data-file.external-paths``): which are allowed, and what a drop deletes there.

An external path must not overlap the directory of the table, and should not be shared with another table. The
reference deletes whole external paths when a table is dropped; this library deletes only the files of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from table_format.errors import CorruptionError, InvalidOption, UnsupportedFeature
from table_format.io.paths import external_directory
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import histories
from table_format.metastore.expiry.unneeded import named_files
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.data_paths import DataPaths, external_roots
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema import TableSchema
from table_format.options.files import EXTERNAL_PATHS
from table_format.options.table_options import TableOptions


def check_external_paths(store: TableStore, schema: TableSchema) -> None:
    """Refuse external paths that cannot be written to or that overlap the directory of the table.

    Raises:
        UnsupportedFeature: one is not in the local file system, or the table is in a remote store.
        InvalidOption: a path is inside the directory of the table, or contains it.
    """
    own = f"{store.paths.root}/"
    if not store.paths.has_external_files and TableOptions.parse(schema.options).files.external_paths_in_use:
        feature = f"'{EXTERNAL_PATHS.key}' of a table in an object store or in HDFS"
        raise UnsupportedFeature(feature)
    for uri in TableOptions.parse(schema.options).files.external_paths_in_use:
        directory = f"{external_directory(uri).rstrip('/')}/"
        if directory.startswith(own) or own.startswith(directory):
            raise InvalidOption(EXTERNAL_PATHS.key, f"'{uri}' overlaps with the table itself at {store.paths.root}")


def files_outside(store: TableStore) -> Sequence[str]:
    """Return the files of a table outside its directory, of all branches, if the metadata can be read."""
    with suppress(CorruptionError, OSError):
        if not external_roots(store):
            return ()
        schema = SchemaStore(store).latest()
        options = TableOptions.parse(schema.options)
        states = [s for h in histories(store) for s in (*h.snapshots, *h.changelogs, *h.tagged.values())]
        named = named_files(states, ManifestStore(store, options))
        paths = DataPaths(store, Partitions(schema, options))
        outside = (entry for entry in named.data if entry.file.external_path is not None and paths.is_own(entry))
        indexes = (k for k in named.metadata.index_files if "/" in k[2] and paths.is_own_index(k))
        return (*paths.files_of(outside, frozenset()), *map(paths.index_file, sorted(indexes)))
    return ()
