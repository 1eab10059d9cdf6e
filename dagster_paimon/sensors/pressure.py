"""Asks for a compaction where the table's own options say that one is due, and again after a run that failed."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Final
from urllib.parse import unquote

import dagster as dg

from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.requested_runs import Outcome, now_ms, outcome, pause_ms
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.errors import InvalidInputError
from table_format.table.rows.partition_values import partition_spec
from table_format.table.table import Table
from table_format.table.upkeep.due import DueWork, Upkeep

LOOK_AGAIN_MS: Final = 600_000
"""How long a table that nobody writes to is left alone: files get older, and so a compaction may become due."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """What is remembered of a table: the state that was last looked at, and the run that was requested last."""

    state: str = ""
    looked_ms: int = 0
    run_key: str = ""
    requested_ms: int = 0
    failures: int = 0
    not_before_ms: int = 0


def compaction_pressure_sensor(
    tables: TableNames = "*",
    *,
    max_level0_age: timedelta | None = None,
    name: str = "compaction_pressure",
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that requests ``compact_table`` where a compaction is due.

    The options of each table decide: the sorted runs of a bucket (``num-sorted-run.compaction-trigger``), small files
    of an append table (``compaction.min.file-num``), rows that readers do not see before a compaction, and the options
    by time and size. With ``max_level0_age`` a full compaction is due too where a file has been on level 0 for longer.
    """
    selected = TableSelection.of(tables)
    age_ms = None if max_level0_age is None else int(max_level0_age.total_seconds() * 1000)

    @dg.sensor(
        name=name,
        job_name="compact_table",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Requests a compaction of tables among {selected} where their options say that one is due.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Look at the tables that have changed since the last tick, and at those whose run has failed."""
        known = {table: _Watched(**stored) for table, stored in json.loads(context.cursor or "{}").items()}
        watched: dict[str, _Watched] = {}
        notes: list[str] = []
        requested = False
        for table_name in selected.existing(lakehouse.catalog()):
            before = _settled(context, table_name, known.get(table_name, _Watched()), notes)
            table = lakehouse.table(table_name)
            watched[table_name] = before
            if not _is_looked_at(before, table):
                continue
            due = [w for w in table.due_upkeep(max_level0_age_ms=age_ms) if w.kind is Upkeep.COMPACT]
            watched[table_name], request = _decided(table_name, table, before, due)
            if request is not None:
                requested = True
                context.log.info("%s: %s", table_name, "; ".join(work.reason for work in due))
                yield request
        context.update_cursor(json.dumps({table: asdict(of_table) for table, of_table in watched.items()}))
        if not requested:
            yield dg.SkipReason("; ".join(notes) or "no compaction is due")

    return sensor


def _settled(context: dg.SensorEvaluationContext, table: str, watched: _Watched, notes: list[str]) -> _Watched:
    """What is remembered after a look at the run that was requested last."""
    if not watched.run_key:
        return watched
    now = now_ms()
    result = outcome(context.instance, watched.run_key, requested_ms=watched.requested_ms, now=now)
    if result is Outcome.RUNNING:
        notes.append(f"the compaction of {table} is under way")
        return watched
    if result is Outcome.SUCCEEDED:
        # What is still due of the same state is due however often it is compacted.
        return replace(watched, run_key="", failures=0, not_before_ms=0)
    failures = watched.failures + 1
    context.log.warning("%s: the compaction failed, again in %s s", table, pause_ms(failures) // 1000)
    return replace(watched, run_key="", state="", failures=failures, not_before_ms=now + pause_ms(failures))


def _is_looked_at(watched: _Watched, table: Table) -> bool:
    if watched.run_key or now_ms() < watched.not_before_ms:
        return False
    return watched.state != fingerprint_of(table) or now_ms() - watched.looked_ms >= LOOK_AGAIN_MS


def _decided(
    name: str, table: Table, watched: _Watched, due: Sequence[DueWork]
) -> tuple[_Watched, dg.RunRequest | None]:
    state, now = fingerprint_of(table), now_ms()
    looked = replace(watched, state=state, looked_ms=now)
    if not due:
        return looked, None
    attempt = f" attempt {watched.failures + 1}" if watched.failures else ""
    # A state that is looked at again, because time has passed, gets a key of its own.
    again = f" at {now}" if watched.state == state else ""
    run_key = f"pressure {name} {state}{attempt}{again}"
    full = all(work.full for work in due)
    partitions = _partition_specs(table, due) if full else []
    request = maintenance_run(
        "compact", name, run_key=run_key, full=full, **({"partitions": partitions} if partitions else {})
    )
    return replace(looked, run_key=run_key, requested_ms=now), request


def _partition_specs(table: Table, due: Sequence[DueWork]) -> list[dict[str, str]]:
    """The partitions that are due; none, which stands for all, where the name of a directory is not the value."""
    texts = {text.strip("/") for work in due for text in work.partitions}
    pairs = [[part.split("=", 1) for part in text.split("/")] for text in sorted(texts) if text]
    specs = [{column: unquote(value) for column, value in spec} for spec in pairs]
    if any(table.options.files.partition_default_name in spec.values() for spec in specs):
        return []
    try:
        for spec in specs:
            partition_spec(table.schema, spec)
    except InvalidInputError:
        return []
    return specs


def fingerprint_of(table: Table) -> str:
    """The latest snapshot. An id alone comes again after a rollback, and a run key must not."""
    latest = table.latest_snapshot()
    return "none" if latest is None else data_version(latest).value.removeprefix("snapshot-")
