"""Builds the report of one write, only from the metadata of the snapshots that the step committed.

Another writer may have committed since, so the latest snapshot of the table is never assumed to be that of the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from dagster_paimon.reporting.metadata import (
    SNAPSHOTS_PLOTTED,
    changelog_rows,
    column_schema,
    data_version,
    health_numbers,
    health_plots,
    snapshot_history,
)
from dagster_paimon.resources.lakehouse import without_credentials
from dagster_paimon.tables.measure import count_rows, measure, recent_snapshots
from table_format import CommitKind, Snapshot, Table


@dataclass(frozen=True, slots=True)
class Report:
    """Metadata of the output as a whole, and the version of the data."""

    metadata: Mapping[str, Any]
    data_version: dg.DataVersion | None = None


def report_of(
    table: Table,
    snapshots: Sequence[Snapshot],
    *,
    plots: bool,
    count_keys_up_to: int,
) -> Report:
    """Describe a table and the snapshots that a step committed to it."""
    facts = table.facts
    health = measure(facts)
    # Others may have changed the schema while the step ran.
    rows = count_rows(table.current_facts, health, read_up_to=count_keys_up_to)
    metadata: dict[str, Any] = {
        **_committed(snapshots),
        **({"dagster/row_count": rows} if rows is not None else {}),
        **(snapshot_history(recent_snapshots(facts, SNAPSHOTS_PLOTTED)) if plots else {}),
        **(health_plots(health) if plots else {}),
        **health_numbers(health),
        "dagster/column_schema": column_schema(facts.schema),
        "dagster/table_name": str(table.identifier),
        "dagster/storage_kind": "paimon",
        "dagster/uri": without_credentials(table.location),
    }
    return Report(
        metadata=metadata,
        data_version=data_version(snapshots[-1]) if snapshots else None,
    )


def _committed(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """Describe the snapshot with the rows of the step. A compaction of the same write follows it."""
    if not snapshots:
        return {}
    own = _with_rows(snapshots)[0] if _with_rows(snapshots) else snapshots[0]
    run = own.properties.get("dagster.run_id")
    return {
        **({"paimon/run": dg.MetadataValue.dagster_run(run)} if run else {}),
        "paimon/snapshot_id": own.id,
        "paimon/base_snapshot_id": own.id - 1,
        "paimon/schema_id": own.schema_id,
        "paimon/commit_kind": own.commit_kind.value,
        "paimon/commit_user": own.commit_user,
        "paimon/committed_snapshots": ", ".join(str(snapshot.id) for snapshot in snapshots),
        **changelog_rows(snapshots),
    }


def _with_rows(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    return [snapshot for snapshot in snapshots if snapshot.commit_kind is not CommitKind.COMPACT]
