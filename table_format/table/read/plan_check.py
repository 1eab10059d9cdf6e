"""Compares the plan of a whole state with the records in the snapshot and the index manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from table_format.errors import BadEncoding
from table_format.metastore.scan.file_plan import FilePlan
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import SCHEMA_VERSION_OF_0_7
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.model.split import DeletionFile
from table_format.table.facts import TableFacts


def check_whole_plan(
    facts: TableFacts,
    snapshot: Snapshot,
    found: FilePlan,
    deletion_files: Mapping[BucketId, Mapping[str, DeletionFile]],
) -> None:
    """Compare an unfiltered plan of all visible levels with the recorded counts and names.

    Snapshots and index manifests have no checksum. A damaged one may name the manifest list of another snapshot, or
    deletion vectors of other files, so that deleted rows would come back. Row counts of tables from version 0.7 and
    older are not compared, because version 0.4 counted wrongly. Level 0, which a merge-on-write table does not show,
    has no deletion vectors. Paimon 1.4 leaves the vector behind when it rewrites a file of a primary key table in
    place; such vectors are not damage.

    Raises:
        BadEncoding: the records contradict each other.
    """
    paths = facts.store.paths
    is_complete = not any(number for stage, number in asdict(found.counts).items() if "dropped" in stage)
    rows = sum(entry.file.row_count for entry in found.entries)
    if is_complete and snapshot.total_record_count not in (None, rows) and not _is_of_old_release(facts):
        message = (
            f"member 'totalRecordCount': expected {rows}, the rows of its files, found {snapshot.total_record_count}"
        )
        raise BadEncoding(paths.snapshot(snapshot.id), message)
    known = {(entry.partition, entry.bucket, entry.file.file_name) for entry in found.entries}
    strays = [(*key, name) for key, files in deletion_files.items() for name in files if (*key, name) not in known]
    for stray in strays:
        if not facts.schema.is_primary_key_table or _is_damage(facts, stray, found.entries):
            path = paths.manifest(snapshot.index_manifest or "")
            raise BadEncoding(path, f"it names a deletion vector of '{stray[-1]}', which is not a file of its bucket")


def _is_of_old_release(facts: TableFacts) -> bool:
    """Return whether the table may have snapshots of version 0.4, which miscounted rows. Later snapshots build on
    its counts.
    """
    return facts.schemas[min(facts.schemas)].version <= SCHEMA_VERSION_OF_0_7


def _is_damage(facts: TableFacts, stray: tuple[bytes, int, str], live: Sequence[ManifestEntry]) -> bool:
    """Whether a vector was not left behind by a compaction: its file was never there, or is another one misnamed."""
    partition, bucket, name = stray
    try:
        path = facts.store.paths.file_in_bucket(facts.partitions.text(partition), bucket, name)
    except BadEncoding:
        return True
    if facts.store.io.status(path) is not None:
        return False
    if facts.snapshots.earliest_id() == FIRST_SNAPSHOT_ID and not any(entry.file.external_path for entry in live):
        # Nothing has expired yet, so no file has gone.
        return True
    return any(_is_nearly(name, entry.file.file_name) for entry in live)


def _is_nearly(name: str, other: str) -> bool:
    """Whether names differ in one character at most, but not in their numbers: one writer counts its files."""
    differing = [at for at, (one, two) in enumerate(zip(name, other, strict=False)) if one != two]
    return len(name) == len(other) and len(differing) < 2 and all(at < name.rfind("-") for at in differing)
