"""When the changelog producer of a table may change.

With ``lookup`` and ``full-compaction``, a compaction writes the changelog of rows that earlier commits wrote. If a
producer took over that does not write it, streams would never get these changes. Java does not check this.
"""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.schema import TableSchema
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer
from table_format.options.table_options import TableOptions


def check_changelog_switch(store: TableStore, old: TableSchema, new: TableSchema) -> None:
    """Refuse another changelog producer while a compaction has yet to write the changelog of some rows.

    Raises:
        InvalidOption: names the bucket and what to do first.
    """
    before, after = CHANGELOG_PRODUCER.read(old.options), CHANGELOG_PRODUCER.read(new.options)
    # A full compaction writes what is missing, because it compares whole states.
    if before in (after, ChangelogProducer.NONE, ChangelogProducer.INPUT) or after is ChangelogProducer.FULL_COMPACTION:
        return
    latest = SnapshotStore(store).latest()
    if latest is None:
        return
    options = TableOptions.parse(old.options)
    seen = before.first_level_with_changelog(options.compaction.num_levels)
    for entry in live_files(ManifestStore(store, options), latest, schema=old, schemas={old.id: old}).entries:
        if entry.file.level < seen:
            raise InvalidOption(
                CHANGELOG_PRODUCER.key,
                f"may not change from {before.value} to {after.value} while bucket {entry.bucket} of snapshot "
                f"{latest.id} has rows whose changelog a compaction has yet to write: streams would never get these "
                "changes; run a full compaction first",
            )
