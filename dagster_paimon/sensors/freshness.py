"""Reports a table as late when its latest data is older than its asset allows, and as fresh again afterwards."""
# No postponed annotations here: Dagster inspects the type of `context`.

import json
from datetime import timedelta

import dagster as dg

from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog
from dagster_paimon.sensors.arguments import check_age
from dagster_paimon.sensors.requested_runs import now_ms
from dagster_paimon.sensors.tick_errors import in_short, reading_cursor, stored, unreadable
from dagster_paimon.sensors.tick_time import in_turn, looked_at_last, waiting_note
from dagster_paimon.tables.data_age import FRESHNESS, FRESHNESS_CHECK, allowed_age, data_age
from dagster_paimon.tables.selection import TableNames, TableSelection
from dagster_paimon.tables.table_assets import assets_of_tables
from table_format.counted import counted
from table_format.errors import TableNotFound


def freshness_sensor(
    tables: TableNames = "*",
    *,
    allowed: timedelta | None = None,
    name: str = "table_freshness",
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that evaluates the check ``freshness`` of tables whose asset has ``paimon/freshness`` in its
    metadata.

    ``allowed`` is the default for other assets. The check is evaluated when its outcome or the data of the table has
    changed, so a table without new writes is reported as late without a run.
    """
    selected = TableSelection.of(tables)
    if allowed is not None:
        check_age(allowed, "allowed")

    @dg.sensor(
        name=name,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Reports tables whose latest data is older than '{FRESHNESS}' of their assets allows.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Compare the time of the last commit of each table with the current time."""
        with reading_cursor():
            seen = {table: stored(state, str) for table, state in json.loads(context.cursor or "{}").items()}
        states: dict[str, str] = {}
        evaluations: list[dg.AssetCheckEvaluation] = []
        late: list[str] = []
        failed: list[str] = []
        now = now_ms()
        asset_of = assets_of_tables(context)
        names, looked = selected.names(lakehouse.catalog()), 0
        for table in in_turn(names, seen):
            looked += 1
            asset = asset_of(table)
            try:
                limit = allowed_age(asset.metadata) or allowed
                if limit is None:
                    continue
                found = data_age(lakehouse.table(table).facts, limit, now_ms=now)
            except TableNotFound:
                continue
            except TABLE_ERRORS as error:
                failed.append(unreadable(context, table, error))
                states[table] = seen.get(table, "")
                continue
            version = data_version(found.snapshot).value if found.snapshot else "none"
            states[table] = f"{found.is_fresh} {version}"
            if not found.is_fresh:
                late.append(f"{table}: {found}")
            if states[table] != seen.get(table):
                evaluations.append(
                    dg.AssetCheckEvaluation(
                        asset_key=asset.key,
                        check_name=FRESHNESS_CHECK,
                        passed=found.is_fresh,
                        severity=dg.AssetCheckSeverity.WARN,
                        description=str(found),
                        metadata=found.metadata(),
                    )
                )
        reported = f"reported {len(evaluations)} of {counted(len(states) - len(failed), 'table')}"
        waiting = waiting_note(names, looked)
        note = in_short([reported, *waiting, *failed, f"late: {in_short(late)}" if late else "none is late"])
        skipped = {table: state for table, state in seen.items() if waiting and table in names}
        cursor = json.dumps(looked_at_last(skipped, states))
        return dg.SensorResult(skip_reason=dg.SkipReason(note), asset_events=evaluations, cursor=cursor)

    return sensor
