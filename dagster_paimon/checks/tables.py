"""Checks of any table: its health, its files, its keys, and whether its inputs were consumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import dagster as dg

from dagster_paimon.reporting.metadata import health_numbers, health_plots, listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from dagster_paimon.tables.measure import live_entries, measure
from table_format.errors import TableNotFound
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.table.facts import TableFacts
from table_format.table.table import Table

MOST_SORTED_RUNS: Final = 10
MOST_SNAPSHOTS: Final = 200
_CONSUMED: Final = "consumed."


def table_checks(tables: Sequence[str]) -> tuple[dg.AssetChecksDefinition, ...]:
    """Checks of some tables, on their assets: their health, their files, and whether inputs were consumed.

    Example::

        dg.Definitions(asset_checks=table_checks(["shop.orders", "shop.users"]))
    """
    return tuple(make(name) for make in (table_health, files_present, inputs_consumed) for name in tables)


def table_check(
    table: str, name: str, description: str, judge: Callable[[Table], dg.AssetCheckResult], *, blocking: bool = False
) -> dg.AssetChecksDefinition:
    """A check that opens its table and judges it; a table that is not there yet is a warning."""

    @dg.asset_check(asset=asset_key(table), name=name, description=description, blocking=blocking)
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        found = open_table(lakehouse, table)
        return not_made(table) if found is None else judge(found)

    return check


def table_health(name: str) -> dg.AssetChecksDefinition:
    """Warns where sorted runs or snapshots pile up: reads get slower, and maintenance is due."""

    def judge(table: Table) -> dg.AssetCheckResult:
        health = measure(table.facts)
        return check_result(
            health.max_sorted_runs <= MOST_SORTED_RUNS and health.snapshots <= MOST_SNAPSHOTS,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={**health_numbers(health), **health_plots(health)},
        )

    description = f"At most {MOST_SORTED_RUNS} sorted runs in a bucket and {MOST_SNAPSHOTS} snapshots."
    return table_check(name, "table_health", description, judge)


def files_present(name: str) -> dg.AssetChecksDefinition:
    """Fails where a file that the latest snapshot lists is missing, or has not the size it was committed with."""

    def judge(table: Table) -> dg.AssetCheckResult:
        problems = list(_broken_files(table.facts))
        files = len(live_entries(table.facts, table.latest_snapshot()))
        return check_result(not problems, metadata={"files": files, "problems": listed(problems)})

    description = "Every data file of the latest snapshot is there with its recorded size."
    return table_check(name, "files_present", description, judge)


def _broken_files(facts: TableFacts) -> Iterator[str]:
    paths, io = facts.store.paths, facts.store.io
    for entry in live_entries(facts, facts.snapshots.latest()):
        path = paths.data_file(facts.partitions.text(entry.partition), entry.bucket, entry.file)
        status = io.status(path)
        if status is None:
            yield f"{path}: missing"
        elif status.size != entry.file.file_size:
            yield f"{path}: expected {entry.file.file_size} bytes, found {status.size}"


def inputs_consumed(name: str) -> dg.AssetChecksDefinition:
    """Warns where an input has rows that the last write of the table has not seen."""

    @dg.asset_check(
        asset=asset_key(name),
        name="inputs_consumed",
        description="The last write read the latest rows of its inputs; compaction does not count.",
    )
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        table = open_table(lakehouse, name)
        if table is None:
            return not_made(name)
        consumed = _consumed(table.snapshots())
        lag = {source: len(_rows_after(open_table(lakehouse, source), seen)) for source, seen in consumed.items()}
        return check_result(
            not any(lag.values()),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "consumed": listed(f"{source}: snapshot {seen}" for source, seen in consumed.items()),
                "not seen": listed(f"{source}: {count} snapshots" for source, count in lag.items() if count),
            },
        )

    return check


def _consumed(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """The snapshots of its inputs that the last write has read."""
    for snapshot in reversed(snapshots):
        seen = {k.removeprefix(_CONSUMED): int(v) for k, v in snapshot.properties.items() if k.startswith(_CONSUMED)}
        if seen:
            return seen
    return {}


def _rows_after(table: Table | None, seen: int) -> list[Snapshot]:
    snapshots = table.snapshots() if table else ()
    return [s for s in snapshots if s.id > seen and s.commit_kind is not CommitKind.COMPACT]


def open_table(lakehouse: LakehouseCatalog, name: str) -> Table | None:
    """The table, or ``None`` if it does not exist."""
    try:
        return lakehouse.table(name)
    except TableNotFound:
        return None


def not_made(name: str) -> dg.AssetCheckResult:
    """The warning that a table does not exist yet."""
    description = f"{name} does not exist yet; materialize it"
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=description)


def check_result(
    passed: bool,  # noqa: FBT001
    *,
    metadata: dict[str, Any],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    """What a check found, of the severity ``ERROR`` unless it says otherwise."""
    return dg.AssetCheckResult(passed=bool(passed), severity=severity, metadata=metadata)
