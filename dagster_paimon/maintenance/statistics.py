"""Statistics of a table for query planners, and its health."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import made
from dagster_paimon.maintenance.config import TablesConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import data_version, health_numbers, health_plots, listed
from dagster_paimon.tables.measure import measure
from table_format import Table
from table_format.counted import counted
from table_format.errors import ColumnNotFound

_STATE: Final = "paimon/measured_state"
_OBSERVATIONS: Final = 20
"""The number of observations among which the last report is looked for."""


class AnalyzeConfig(TablesConfig):
    """The tables and their columns."""

    columns: list[str] = Field(
        default_factory=list, description="Columns for which to compute distinct values, nulls, bounds and lengths."
    )


def analyze_one(visit: Visit, config: AnalyzeConfig) -> Outcome:
    """Compute the row count of one table and statistics of some columns, for query planners."""
    snapshots = visit.table().analyze(config.columns or None)
    what = f"rows and {counted(len(config.columns), 'column')}" if config.columns else "rows"
    return Outcome(
        title="statistics",
        summary=f"{what} are counted" if snapshots else "the table has no snapshot",
        metadata={**made(snapshots), "columns": listed(config.columns)},
    )


def _check(table: Table, config: AnalyzeConfig) -> None:
    missing = [name for name in config.columns if name not in table.schema.field_names]
    if missing:
        message = f"{table.identifier} has no column {', '.join(missing)}"
        raise ColumnNotFound(message)


ANALYZE: Final = Maintenance(
    job="analyze_table",
    op="analyze",
    description="Compute the statistics of the latest snapshot: row count and column statistics.",
    config=AnalyzeConfig,
    work=analyze_one,
    check=_check,
    measured=False,
)


class HealthConfig(TablesConfig):
    """The tables."""

    skip_unchanged: bool = Field(
        default=False, description="Leave out tables whose snapshots and schema are those of the last report."
    )


def report_health_of_one(visit: Visit, config: HealthConfig) -> Outcome:  # noqa: ARG001
    """Measure one table from its metadata, so that the UI plots its health over time."""
    table = visit.table()
    health = measure(table.facts)
    return Outcome(
        title="health",
        summary=f"{counted(health.live_files, 'file')}, {health.size_bytes:,} bytes, up to "
        f"{counted(health.max_sorted_runs, 'sorted run')}, {counted(health.snapshots, 'snapshot')}",
        metadata={_STATE: _state_of(table), **health_numbers(health), **health_plots(health)},
    )


def _unchanged(visit: Visit, config: HealthConfig) -> Outcome | None:
    """Return the outcome for a table that the last report has measured as it is. Hundreds of tables that nobody writes
    would otherwise fill the event log with the same numbers.
    """
    if not config.skip_unchanged:
        return None
    records = visit.instance.fetch_observations(visit.key, limit=_OBSERVATIONS).records
    reports = (record.asset_observation for record in records)
    last = next((report.metadata[_STATE].value for report in reports if report and _STATE in report.metadata), None)
    if last != _state_of(visit.table()):
        return None
    return Outcome("health", "unchanged since the last report", is_reported=False)


def _state_of(table: Table) -> str:
    """Return a text that differs if the numbers of a table may differ."""
    latest, earliest = table.latest_snapshot(), table.facts.snapshots.earliest_id()
    version = "none" if latest is None else data_version(latest).value
    return f"{version} from {earliest}, schema {table.schema.id}"


def _changes_nothing(config: HealthConfig) -> bool:  # noqa: ARG001
    return False


HEALTH: Final = Maintenance(
    job="report_health",
    op="health",
    description="Measure tables from their metadata and plot the numbers on their assets.",
    config=HealthConfig,
    work=report_health_of_one,
    idle=_unchanged,
    changes=_changes_nothing,
    measured=False,
)
