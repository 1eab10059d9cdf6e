"""``$snapshots`` (Java ``SnapshotsTable``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.system.metadata import LONG, TEXT, TIME, Row, columns, local_nanos

COLUMNS: Final = columns(
    snapshot_id=LONG.not_null(),
    schema_id=LONG.not_null(),
    commit_user=TEXT.not_null(),
    commit_identifier=LONG.not_null(),
    commit_kind=TEXT.not_null(),
    commit_time=TIME.not_null(),
    base_manifest_list=TEXT.not_null(),
    delta_manifest_list=TEXT.not_null(),
    changelog_manifest_list=TEXT,
    total_record_count=LONG,
    delta_record_count=LONG,
    changelog_record_count=LONG,
    watermark=LONG,
    next_row_id=LONG,
    operation=TEXT,
    writer_version=TEXT,
)

_DERIVED: Final = ("snapshot_id", "commit_time", "commit_kind")


def rows(facts: TableFacts) -> Sequence[Row]:
    """The retained snapshots, oldest first."""
    found = (facts.snapshots.find(snapshot_id) for snapshot_id in facts.snapshots.ids())
    return [_row(snapshot) for snapshot in found if snapshot is not None]


def _row(snapshot: Snapshot) -> Row:
    stored = {f.name: getattr(snapshot, f.name) for f in COLUMNS if f.name not in _DERIVED}
    return {
        **stored,
        "snapshot_id": snapshot.id,
        "commit_time": local_nanos(snapshot.time_millis),
        "commit_kind": snapshot.commit_kind.value,
    }
