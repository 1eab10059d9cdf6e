"""Checks for data that is too old, and for inputs with rows that the table has not read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg

from dagster_paimon.checks.base import CheckedTable, check_result, not_made, open_table, table_check
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.data_age import FRESHNESS, FRESHNESS_CHECK, allowed_age, data_age
from table_format import Snapshot, Table
from table_format.counted import counted
from table_format.engine.support import Consumed, consumed_by, keeps_rows
from table_format.errors import InvalidInputError


def inputs_consumed(table: CheckedTable | str) -> dg.AssetChecksDefinition:
    """Warn if an input has rows that the last write of the table has not read."""
    checked = CheckedTable.of(table)

    @dg.asset_check(
        asset=checked.key,
        name="inputs_consumed",
        description="The last write read the latest rows of its inputs; compaction does not count.",
    )
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        found = open_table(lakehouse, checked.name)
        if found is None:
            return not_made(checked.name)
        consumed = _consumed(found.snapshots())
        lag = {source: _unread(open_table(lakehouse, source), seen) for source, seen in consumed.items()}
        return check_result(
            not any(lag.values()),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "consumed": listed(f"{source}: snapshot {seen.id}" for source, seen in consumed.items()),
                "not seen": listed(f"{source}: {counted(count, 'snapshot')}" for source, count in lag.items() if count),
                "snapshots behind": sum(lag.values()),
            },
        )

    return check


def _consumed(snapshots: Sequence[Snapshot]) -> dict[str, Consumed]:
    """Return the snapshots of the inputs that the last write has read."""
    return next((seen for snapshot in reversed(snapshots) if (seen := consumed_by(snapshot))), {})


def _unread(table: Table | None, seen: Consumed) -> int:
    """Return the number of snapshots with rows after a snapshot, or of all of them if that snapshot was rolled back.

    Snapshots that have expired count too, because it is not known whether they had rows.
    """
    if table is None:
        return 0
    retained = table.snapshots()
    with_rows = [s.id for s in retained if not keeps_rows(s)]
    if seen.is_replaced(table.facts.snapshots):
        return len(with_rows)
    expired = range(seen.id + 1, retained[0].id if retained else 0)
    return len(expired) + sum(snapshot_id > seen.id for snapshot_id in with_rows)


def freshness(table: CheckedTable | str, *, allowed: timedelta | None = None) -> dg.AssetChecksDefinition:
    """Warn if the last commit with rows is older than ``allowed``, or than the metadata of the asset allows.

    Raises:
        InvalidInputError: neither sets the maximum age.
    """
    checked = CheckedTable.of(table)
    limit = allowed or allowed_age(checked.metadata)
    if limit is None:
        message = f"{checked.name}: pass the maximum age of its data, or set {FRESHNESS} in the metadata of the asset"
        raise InvalidInputError(message)

    def evaluate(found: Table) -> dg.AssetCheckResult:
        result = data_age(found.facts, limit, now_ms=found.store.runtime.clock.now_ms())
        return check_result(
            result.is_fresh,
            severity=dg.AssetCheckSeverity.WARN,
            description=str(result),
            metadata=result.metadata(),
        )

    return table_check(checked, FRESHNESS_CHECK, f"The last rows were written at most {limit} ago.", evaluate)
