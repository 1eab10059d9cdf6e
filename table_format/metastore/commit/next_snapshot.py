"""Builds the snapshot that a commit publishes (format chapter 03, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import CorruptionError
from table_format.metastore.commit.commit_job import CommitContext, CommitJob
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.manifest.manifest_store import WrittenList
from table_format.metastore.manifest.statistics_file import read_statistics
from table_format.model.manifest import FileKind
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files written for one snapshot: the changes, and the manifest lists and index manifest that name them."""

    changes: FileChanges
    delta: WrittenList
    changelog: WrittenList | None
    base: WrittenList
    index_manifest: str | None


def next_snapshot(
    c: CommitContext, job: CommitJob, written: WrittenFiles, latest: Snapshot | None, *, schema_id: int
) -> Snapshot:
    """Return the snapshot after ``latest`` that names the written files."""
    changes, base = written.changes, written.base
    changed = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in changes.entries)
    before = 0 if latest is None else latest.total_record_count
    watermarks = [w for w in (job.watermark, latest.watermark if latest else None) if w is not None]
    now_ms = c.store.runtime.clock.now_ms()
    return Snapshot(
        id=FIRST_SNAPSHOT_ID if latest is None else latest.id + 1,
        schema_id=schema_id,
        base_manifest_list=base.name,
        base_manifest_list_size=base.size,
        delta_manifest_list=written.delta.name,
        delta_manifest_list_size=written.delta.size,
        changelog_manifest_list=written.changelog.name if written.changelog else None,
        changelog_manifest_list_size=written.changelog.size if written.changelog else None,
        index_manifest=written.index_manifest,
        commit_user=c.user,
        commit_identifier=job.identifier,
        commit_kind=job.kind,
        # Not before the time of the base: time travel uses a binary search, and expiry uses the age of the next
        # snapshot.
        time_millis=now_ms if latest is None else max(now_ms, latest.time_millis),
        total_record_count=None if before is None else before + changed,
        delta_record_count=changed,
        changelog_record_count=sum(e.file.row_count for e in changes.changelog),
        watermark=max(watermarks, default=None),
        statistics=job.statistics or _inherited_statistics(c, latest, schema_id),
        properties=dict(job.properties),
        next_row_id=None if latest is None else latest.next_row_id,
        operation=job.operation,
    )


def _inherited_statistics(c: CommitContext, latest: Snapshot | None, schema_id: int) -> str | None:
    """Return the statistics of the previous snapshot if they were computed with the same schema."""
    if latest is None or latest.statistics is None or latest.schema_id != schema_id:
        return None
    try:
        found = read_statistics(c.store, latest)
    except CorruptionError:
        return None  # damaged statistics must not stop a commit
    return latest.statistics if found is not None and found.schema_id == schema_id else None
