"""When a table may begin or cease to mark deleted rows (format chapter 08; Java ``SchemaManager``).

Java asks for ``deletion-vectors.modifiable``, whatever the table holds. Here the table is looked at: it may change
while nothing in it has to be merged and no row of it is marked, for then both kinds of readers see the same rows.
"""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import DELETION_VECTORS
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.deletion_vectors import ENABLED, MODIFIABLE
from table_format.options.table_options import TableOptions


def check_deletion_vector_switch(store: TableStore, old: TableSchema, new: TableSchema) -> None:
    """Refuse to switch deletion vectors on or off while the latest snapshot would be read otherwise after it.

    Raises:
        InvalidOption: names the bucket, and how to get there.
    """
    before, after = ENABLED.read(old.options), ENABLED.read(new.options)
    if before == after or MODIFIABLE.read(new.options):
        return
    latest = SnapshotStore(store).latest()
    if latest is None:
        return
    manifests = ManifestStore(store, TableOptions.parse(new.options))
    obstacle = _rows_to_merge(manifests, latest, new) if after else _marked_rows(manifests, latest)
    if obstacle is not None:
        raise InvalidOption(
            ENABLED.key,
            f"may not change from {before} to {after} while {obstacle}: readers would see other rows; compact the "
            f"table fully first, or set '{MODIFIABLE.key}' to change it all the same",
        )


def _rows_to_merge(manifests: ManifestStore, snapshot: Snapshot, schema: TableSchema) -> str | None:
    if not schema.is_primary_key_table:
        return None
    levels: dict[BucketId, int] = {}
    for entry in live_files(manifests, snapshot, schema=schema, schemas={schema.id: schema}).entries:
        level = levels.setdefault(entry.bucket_id, entry.file.level)
        if entry.file.level == 0 or entry.file.level != level:
            return f"bucket {entry.bucket} of snapshot {snapshot.id} has files whose rows are merged when they are read"
    return None


def _marked_rows(manifests: ManifestStore, snapshot: Snapshot) -> str | None:
    for entry in manifests.index_entries(snapshot):
        # A bucket whose last vector went has an index file without any.
        if entry.index_file.index_type == DELETION_VECTORS and entry.index_file.deletion_vector_ranges:
            return f"bucket {entry.bucket} of snapshot {snapshot.id} has rows that are marked as deleted"
    return None
