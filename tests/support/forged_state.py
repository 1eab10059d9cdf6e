"""Tables whose latest snapshot says something else than what was committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from table_format import Table
from table_format.codecs.publishable import snapshot_bytes
from table_format.metastore.manifest.manifest_store import NewFiles
from table_format.model.manifest import IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import Snapshot

Entries = Sequence[ManifestEntry]


def live_entries(table: Table) -> Entries:
    """The live files of the latest snapshot."""
    facts = table.facts
    return facts.live_files(facts.snapshots.latest()).entries


def forge(
    table: Table,
    entries: Callable[[Entries], Entries] | None = None,
    *,
    index: Callable[[Sequence[IndexManifestEntry]], Sequence[IndexManifestEntry]] | None = None,
    snapshot: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot,
) -> Table:
    """Put another latest snapshot in the place of the one there is; the table opened again.

    With other ``entries`` it becomes the only snapshot, so that only what is forged contradicts something.
    """
    facts = table.facts
    latest = facts.snapshots.latest()
    assert latest is not None
    forged = latest
    if entries is not None:
        types, schema_id = facts.partitions.types, facts.schema.id
        manifests = facts.manifests.write(
            entries(live_entries(table)), types=types, schema_id=schema_id, new=NewFiles()
        )
        base = facts.manifests.write_list(manifests, new=NewFiles())
        delta = facts.manifests.write_list((), new=NewFiles())
        rows = sum(entry.file.row_count for entry in entries(live_entries(table)))
        forged = replace(
            forged,
            base_manifest_list=base.name,
            base_manifest_list_size=base.size,
            delta_manifest_list=delta.name,
            delta_manifest_list_size=delta.size,
            delta_record_count=0,
            total_record_count=rows,
        )
        for snapshot_id in facts.snapshots.listed_ids()[:-1]:
            facts.snapshots.delete(snapshot_id)
        facts.snapshots.hints.write_earliest(latest.id)
    if index is not None:
        name = facts.manifests.write_index(index(facts.manifests.index_entries(latest)), new=NewFiles())
        forged = replace(forged, index_manifest=name)
    path = table.store.paths.snapshot(forged.id)
    table.store.io.overwrite(path, snapshot_bytes(snapshot(forged), path=path))
    return replace(table)


def with_files(**changes: object) -> Callable[[Entries], Entries]:
    """Every live file with some members changed."""
    return lambda entries: [replace(entry, file=replace(entry.file, **changes)) for entry in entries]
