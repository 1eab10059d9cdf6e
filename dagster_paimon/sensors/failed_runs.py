"""Deletes uncommitted files that failed or terminated runs left in their tables.

The IO manager deletes its files when a step fails, but a killed process cannot. File names do not identify their run,
so a file counts as left by the run if no snapshot, tag or branch references it, it is older than the end of the run,
the process of the run has ended, no other run of this instance can be working on the table, and no other program writes
to it. The user must confirm the last condition; otherwise the sensor only reports, and the files wait for the orphan
cleanup. Committed rows and a branch of the run stay.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import dagster as dg

from dagster_paimon.maintenance.requests import MAINTAINS_TAG
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog, table_name
from dagster_paimon.sensors.lost_runs import fail_lost_runs, living_process, started_runs
from dagster_paimon.sensors.tick_errors import in_short, reading_cursor, stored, unreadable
from dagster_paimon.sensors.tick_time import half_time
from dagster_paimon.tables.selection import TableNames, TableSelection
from dagster_paimon.tables.table_assets import TableAsset, assets_of_tables
from table_format import OrphanReport
from table_format.counted import counted
from table_format.engine.support import arguments
from table_format.errors import TableNotFound

_ENDED_BADLY: Final = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
_NOT_AT_WORK: Final = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.MANAGED)
_ENDED: Final = (dg.DagsterRunStatus.SUCCESS, *_ENDED_BADLY)
_AT_WORK: Final = [status for status in dg.DagsterRunStatus if status not in (*_NOT_AT_WORK, *_ENDED)]
_REMEMBERED: Final = 500

WRITES_TAG: Final = "paimon/writes"
"""The tag of a run or a job of ops with the tables that it may write: names and patterns, or ``none``."""

_NO_TABLE: Final = "none"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The position of the sensor: the time from which it checks runs, the runs that it has handled, the started runs
    of its machine, and the runs with tables of which other tables wait for the next tick.
    """

    since: float
    done: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    cleaned: Sequence[list[str]] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """The tables on which runs are working, and the runs that may be working on any table."""

    tables: frozenset[str]
    anywhere: tuple[str, ...]

    def on(self, tables: Sequence[str]) -> str | None:
        """Return which runs may be working on one of these tables; ``None`` if there are none."""
        in_use = [table for table in tables if table in self.tables]
        if in_use:
            return f"other runs are working on {', '.join(in_use)}"
        if tables and self.anywhere:
            runs = f"{counted(len(self.anywhere), 'run')} may be working on {', '.join(tables)}"
            named = ", ".join(run[:8] for run in self.anywhere)
            return f"{runs}: {named}; a job of ops can name its tables, or {_NO_TABLE}, with the tag {WRITES_TAG}"
        return None


def run_failure_cleanup(
    tables: TableNames = "*",
    *,
    only_dagster_writes: bool = False,
    name: str = "run_failure_cleanup",
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that deletes uncommitted files of failed and terminated runs, and records it in the log of the
    run.

    Set ``only_dagster_writes`` to confirm that only runs of this instance write to the tables; then files are
    deleted. Otherwise they are only counted. The sensor waits until no other run can be working on the table. A run of
    ops that are not maintenance, or of another code location, may work on any table unless it has the tag
    ``paimon/writes``, such as ``"shop.orders, crm.*"`` or ``"none"``.

    First, it marks started runs as failed whose process has ended together with the code server that watched it, such
    as when the machine stopped. Dagster itself would take them for running.
    """
    selected = TableSelection.of(tables)
    only_dagster_writes = arguments.flag(only_dagster_writes, "only_dagster_writes")

    @dg.sensor(
        name=name,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Deletes uncommitted files of failed and terminated runs."
        if only_dagster_writes
        else "Reports uncommitted files of failed and terminated runs.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Check the runs that failed or were terminated since the last tick, and the waiting ones."""
        seen = _decoded(context)
        started = started_runs(context.instance, seen.here)
        notes = list(fail_lost_runs(context.instance, started))
        wanted = frozenset(selected.existing(lakehouse.catalog()))
        work = _at_work(context, lakehouse)
        events: list[dg.AssetObservation] = []
        done, cleaned = list(seen.done), list(seen.cleaned)
        asset_of, is_over = assets_of_tables(context), half_time()
        for record in _ended_badly(context.instance, seen):
            run = record.dagster_run
            touched = sorted((tables_of_run(context, lakehouse, run) or frozenset()) & wanted)
            waits = _reason_to_wait(context.instance, run, work, touched)
            if waits is not None:
                notes.append(f"run {run.run_id[:8]} waits: {waits}")
                continue
            for table in touched:
                if [run.run_id, table] in cleaned:
                    continue
                if is_over():
                    notes.append(f"run {run.run_id[:8]} waits for the next tick")
                    break
                event, note = _cleaned(context, lakehouse, asset_of, table, record, delete=only_dagster_writes)
                events += event
                notes.append(note)
                context.instance.report_engine_event(note, run)
                cleaned.append([run.run_id, table])
            else:
                done.append(run.run_id)
            if is_over():
                break
        cursor = {
            "since": seen.since,
            "done": done[-_REMEMBERED:],
            "here": started.here,
            "cleaned": [pair for pair in cleaned if pair[0] not in done],
        }
        return dg.SensorResult(
            skip_reason=dg.SkipReason(in_short(notes) or "no run has failed"),
            asset_events=events,
            cursor=json.dumps(cursor),
        )

    return sensor


def _decoded(context: dg.SensorEvaluationContext) -> _Seen:
    """Decode the cursor. A new sensor checks the runs that end from now on."""
    with reading_cursor():
        members: dict[str, Any] = json.loads(context.cursor) if context.cursor else {}
        since = members.get("since", datetime.now(UTC).timestamp() if context.cursor is None else 0.0)
        datetime.fromtimestamp(since, UTC)  # a time
        done, here = (tuple(stored(run, str) for run in members.get(name, ())) for name in ("done", "here"))
        cleaned = [[stored(run, str), stored(table, str)] for run, table in members.get("cleaned", ())]
        return _Seen(since, done, here, cleaned)


def _reason_to_wait(
    instance: dg.DagsterInstance, run: dg.DagsterRun, work: _Work, touched: Sequence[str]
) -> str | None:
    process = living_process(instance, run)
    return work.on(touched) if process is None else f"its process {process} has not ended"


def _ended_badly(instance: dg.DagsterInstance, seen: _Seen) -> list[dg.RunRecord]:
    done = frozenset(seen.done)
    filters = dg.RunsFilter(statuses=list(_ENDED_BADLY), updated_after=datetime.fromtimestamp(seen.since, UTC))
    found = instance.get_run_records(filters=filters, limit=_REMEMBERED, order_by="update_timestamp")
    return [record for record in reversed(found) if record.dagster_run.run_id not in done]


def _at_work(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> _Work:
    runs = context.instance.get_runs(filters=dg.RunsFilter(statuses=_AT_WORK))
    found = {run.run_id: tables_of_run(context, lakehouse, run) for run in runs}
    known = [tables for tables in found.values() if tables is not None]
    return _Work(frozenset().union(*known), tuple(run for run, tables in found.items() if tables is None))


def tables_of_run(
    context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog, run: dg.DagsterRun
) -> frozenset[str] | None:
    """Return the tables that a run may write to: those of its assets, its maintenance and its tag ``paimon/writes``.

    ``None`` if they are unknown: the run is one of another code location, or of ops that are not maintenance, and has
    no such tag.
    """
    declared = _declared(run)
    named = {table for op in _op_configs(run.run_config) for table in _tables_in(op)}
    named |= {*_tables_in({"table": run.tags.get(MAINTAINS_TAG)}), *(declared or ())}
    maintained = frozenset(TableSelection.of(sorted(named)).existing(lakehouse.catalog()) if named else ())
    repository = context.repository_def
    of_ops = maintained if declared is not None else maintained or None
    if repository is None or not repository.has_job(run.job_name):
        return of_ops
    selection, graph = run.asset_selection, repository.asset_graph
    if not selection:
        layer = repository.get_job(run.job_name).asset_layer
        selection = frozenset(layer.executable_asset_keys)
        if not (selection or layer.data or run.asset_check_selection):
            return of_ops
    if not all(map(graph.has, selection)):
        return None if declared is None else maintained
    return maintained | {table_name(node.key, node.metadata) for node in map(graph.get, selection)}


def _declared(run: dg.DagsterRun) -> tuple[str, ...] | None:
    """Return the tables in the tag ``paimon/writes``; ``None`` without the tag, or if it has something else."""
    text = run.tags.get(WRITES_TAG)
    if text is None:
        return None
    if text.strip() == _NO_TABLE:
        return ()
    names = tuple(name.strip() for name in text.split(","))
    return names if _tables_in({"tables": list(names)}) == {*names} else None


def _op_configs(run_config: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for op in (run_config.get("ops") or {}).values():
        if isinstance(op, Mapping) and isinstance(op.get("config"), Mapping):
            yield op["config"]


def _tables_in(config: Mapping[str, Any]) -> set[str]:
    """Return the tables and patterns in the configuration of a maintenance op."""
    tables = config.get("tables")
    listed = [config.get("table"), config.get("pattern"), *(tables if isinstance(tables, list) else ())]
    return {table for table in listed if isinstance(table, str) and (table == "*" or "." in table)}


def _cleaned(
    context: dg.SensorEvaluationContext,
    lakehouse: LakehouseCatalog,
    asset_of: Callable[[str], TableAsset],
    name: str,
    record: dg.RunRecord,
    *,
    delete: bool,
) -> tuple[list[dg.AssetObservation], str]:
    run_id = record.dagster_run.run_id
    ended_ms = int((record.end_time or record.update_timestamp.timestamp()) * 1000)
    try:
        table = lakehouse.table(name)
        # The last file of the run may have the time of its end, so one millisecond is added.
        report = table.remove_orphan_files(older_than_ms=ended_ms + 1, dry_run=not delete, nobody_else_writes=True)
    except TableNotFound:
        return [], f"{name} was dropped since"
    except TABLE_ERRORS as error:
        return [], unreadable(context, name, error)
    committed = [s.id for s in table.snapshots() if s.properties.get("dagster.run_id") == run_id]
    branches = [branch for branch in table.branches() if run_id in branch or run_id[:8] in branch]
    what = _what(report, deleted=delete)
    kept = f"; it had committed snapshot {', '.join(map(str, committed))}, which stays" if committed else ""
    kept += f"; branch {', '.join(branches)} stays" if branches else ""
    note = f"{name}, after run {run_id[:8]} ended: {what}{kept}"
    if not report.files and not committed and not branches:
        return [], note
    event = dg.AssetObservation(
        asset_key=asset_of(name).key,
        description=note,
        metadata={
            "maintenance": "cleanup after a failed run" if delete else "cleanup after a failed run (dry run)",
            "run": dg.MetadataValue.dagster_run(run_id),
            "files": len(report.files),
            "bytes": report.bytes,
            "paths": listed(report.paths),
            "snapshots kept": listed(map(str, committed)),
            "branches kept": listed(branches),
        },
    )
    return [event], note


def _what(report: OrphanReport, *, deleted: bool) -> str:
    if not report.files:
        return "it left no files behind"
    found = f"{counted(len(report.files), 'file')} of {report.bytes:,} bytes that nothing references"
    return f"deleted {found}" if deleted else f"found {found}; the orphan cleanup deletes them after a day"
