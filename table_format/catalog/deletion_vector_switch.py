"""When deletion vectors may be switched on or off for a table (format chapter 08; Java ``SchemaManager``).

Java always requires ``deletion-vectors.modifiable``. This module checks the table instead: the switch is safe while
no rows need merging and none are marked as deleted, because readers then see the same rows in both modes.
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
    """Refuse to switch deletion vectors on or off if that would change the rows of the latest snapshot.

    Raises:
        InvalidOption: names the bucket and what to do first.
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
            f"may not change from {before} to {after} while {obstacle}: readers would see other rows; run a full "
            f"compaction first, or set '{MODIFIABLE.key}' to change it anyway",
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
        # A bucket whose last vector was removed still has an empty index file.
        if entry.index_file.index_type == DELETION_VECTORS and entry.index_file.deletion_vector_ranges:
            return f"bucket {entry.bucket} of snapshot {snapshot.id} has rows that are marked as deleted"
    return None
