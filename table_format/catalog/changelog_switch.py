"""When the changelog producer of a table may change.

With ``lookup`` and ``full-compaction``, a compaction writes the changelog of rows that earlier commits wrote, by
comparing them with the rows on higher levels. If another producer takes over before, a stream never gets these changes.
With ``input``, rows without a bucket get their changelog with the bucket. Java does not check this.

From ``none`` and ``input``, the change is allowed at any time, as in Java, because a table that is written to always
has rows on low levels. The changelog then lacks deletes of rows that were on a low level at the change.
"""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.io.paths import POSTPONE_BUCKET
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.schema import TableSchema
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer
from table_format.options.table_options import TableOptions


def check_changelog_switch(store: TableStore, old: TableSchema, new: TableSchema) -> None:
    """Refuse another changelog producer while rows are on levels on which a compaction still has to compare them.

    Raises:
        InvalidOption: names the bucket and what to do first.
    """
    before, after = CHANGELOG_PRODUCER.read(old.options), CHANGELOG_PRODUCER.read(new.options)
    if before is after or before is ChangelogProducer.NONE:
        return
    latest = SnapshotStore(store).latest()
    if latest is None:
        return
    options = TableOptions.parse(old.options)
    levels = options.compaction.num_levels
    lowest = before.first_level_with_changelog(levels)
    if lowest > 0:
        lowest = max(lowest, after.first_level_with_changelog(levels))
    for entry in live_files(ManifestStore(store, options), latest, schema=old, schemas={old.id: old}).entries:
        is_placed = entry.bucket != POSTPONE_BUCKET
        if entry.file.level < lowest or not is_placed:
            raise InvalidOption(
                CHANGELOG_PRODUCER.key,
                f"may not change from {before.value} to {after.value} while bucket {entry.bucket} of snapshot "
                f"{latest.id} has rows {f'below level {lowest}' if is_placed else 'that have no bucket yet'}: streams "
                "would miss changes of them; run a full compaction first",
            )
