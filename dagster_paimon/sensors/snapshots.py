"""Reports every snapshot of external writers as an event of the table's asset, with the changed partitions.

A table with an ``AssetSpec`` gets materializations, and observations of commits that kept its rows. A table that a job
of this code location writes gets observations, only of commits that changed rows and are not from a run of this
instance. Only metadata is read: a tick takes milliseconds and never starts Spark.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from dagster_paimon.reporting.metadata import changelog_rows, data_version, listed
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog
from dagster_paimon.sensors.cursor import NewSnapshots, Trail, decode_cursor, encode_cursor, follow, remembered
from dagster_paimon.sensors.reported_events import Event, not_reported_yet
from dagster_paimon.sensors.requested_runs import now_ms
from dagster_paimon.sensors.tick_errors import in_short, unreadable
from dagster_paimon.sensors.tick_time import in_turn, looked_at_last, waiting_note
from dagster_paimon.tables.changed_rows import Values, changed_rows, rows_by_partition
from dagster_paimon.tables.measure import partition_key
from dagster_paimon.tables.selection import TableNames, TableSelection
from dagster_paimon.tables.table_assets import TableAsset, assets_of_tables
from table_format import Snapshot
from table_format.counted import counted
from table_format.engine import TableFacts
from table_format.engine.support import keeps_rows
from table_format.errors import TableNotFound

EVENTS_PER_TICK: Final = 100
_SHOWN: Final = 20
_RUN_ID: Final = "dagster.run_id"


@dataclass(frozen=True, slots=True)
class _Change:
    """One snapshot, with the rows that it added and removed by partition values; ``None`` if they are unknown."""

    snapshot: Snapshot
    rows: Mapping[Values, int] | None
    rolled_back_from: int | None

    @property
    def keeps_rows(self) -> bool:
        """Whether readers see the same rows as before."""
        return keeps_rows(self.snapshot) and not self.rows and self.rolled_back_from is None


def snapshot_sensor(
    tables: TableNames,
    *,
    name: str = "external_snapshots",
    minimum_interval_seconds: int = 10,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
) -> dg.SensorDefinition:
    """Return a sensor that reports each snapshot of external writers as an event of the table's asset.

    A partitioned asset gets an event for each changed partition, if the columns of ``partition_expr``, or the partition
    columns of the table, hold its keys.
    """
    selected = TableSelection.of(tables)

    @dg.sensor(
        name=name,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Reports every new snapshot that others commit to {selected}, and rollbacks.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Follow each table from the position in the cursor."""
        trails = decode_cursor(context.cursor)
        events: list[Event] = []
        notes: list[str] = []
        quiet: list[str] = []
        additions: list[dg.AddDynamicPartitionsRequest] = []
        asset_of = assets_of_tables(context)
        tables = selected.names(lakehouse.catalog())
        looked: dict[str, Trail] = {}
        # Otherwise, a table with many new events at each tick would keep the tables after it waiting forever.
        for table in in_turn(tables, trails):
            limit = EVENTS_PER_TICK - len(events)
            if limit <= 0:
                break
            looked[table] = trail = trails.get(table, ())
            asset = asset_of(table)
            try:
                facts = lakehouse.table(table).facts
                new = follow(trail, facts.snapshots, limit=limit)
                new, found = _reported(context, asset, facts, new, limit=limit)
            except TableNotFound:
                notes.append(f"{table} does not exist")
                continue
            except TABLE_ERRORS as error:
                notes.append(unreadable(context, table, error))
                continue
            looked[table] = new.trail
            fresh = not_reported_yet(context, asset.key, found)
            events += fresh
            additions += _new_dynamic_partitions(context, asset, found)
            (notes if new.snapshots else quiet).append(
                _note(table, new, fresh, reported_before=len(found) - len(fresh))
            )
            _warn(context, table, new)
        trails = looked_at_last(trails, looked)
        notes += waiting_note(tables, len(looked))
        return dg.SensorResult(
            # Dagster marks a tick without runs as skipped, even if it reported events; the tick shows this text.
            skip_reason=dg.SkipReason(in_short([*notes, *quiet]) or f"no table of {selected} exists"),
            asset_events=events,
            dynamic_partitions_requests=additions or None,
            cursor=encode_cursor(remembered(trails, tables, now_ms=now_ms())),
        )

    return sensor


def _note(table: str, new: NewSnapshots, events: list[Event], *, reported_before: int) -> str:
    if not new.snapshots:
        return f"{table} has no snapshot after {new.trail[-1].id if new.trail else 0}"
    span = f"{new.snapshots[0].id} to {new.snapshots[-1].id}" if len(new.snapshots) > 1 else str(new.snapshots[0].id)
    before = f"{counted(reported_before, 'event was', 'events were')} reported by a tick that was interrupted"
    if not events:
        reason = before if reported_before else "by runs of this instance, or without changes"
        return f"{table}: snapshot {span} {reason}"
    kinds = Counter("materialization" if isinstance(e, dg.AssetMaterialization) else "observation" for e in events)
    events_by_kind = ", ".join(counted(count, kind) for kind, count in kinds.items())
    note = f"reported {events_by_kind} of {table}, snapshot {span}"
    return f"{note}; {before}" if reported_before else note


def _warn(context: dg.SensorEvaluationContext, table: str, new: NewSnapshots) -> None:
    if new.rolled_back_from is not None:
        context.log.warning("%s was rolled back or created again; it was at snapshot %s", table, new.rolled_back_from)
    if new.missed:
        context.log.warning("%s: %s expired before a report", table, counted(new.missed, "snapshot"))


def _reported(
    context: dg.SensorEvaluationContext, asset: TableAsset, facts: TableFacts, new: NewSnapshots, *, limit: int
) -> tuple[NewSnapshots, list[Event]]:
    """Return the oldest snapshots that have at least ``limit`` events, or all, and their events.

    A snapshot is always reported completely, so only the last one may exceed the limit.
    """
    events: list[Event] = []
    for count, snapshot in enumerate(new.snapshots, 1):
        if new.rolled_back_from is None and _is_known(context, asset, snapshot):
            continue
        change = _Change(snapshot, changed_rows(facts, snapshot), new.rolled_back_from)
        events += _events(context, asset, facts, change)
        if len(events) >= limit:
            return new.first(count), events
    return new, events


def _is_known(context: dg.SensorEvaluationContext, asset: TableAsset, snapshot: Snapshot) -> bool:
    """Return whether a run of this instance has reported a commit to a managed table, or the commit changed no rows."""
    if not asset.is_managed:
        return False
    run_id = snapshot.properties.get(_RUN_ID)
    return keeps_rows(snapshot) or (run_id is not None and context.instance.has_run(run_id))


def _events(
    context: dg.SensorEvaluationContext, asset: TableAsset, facts: TableFacts, change: _Change
) -> Iterator[Event]:
    snapshot = change.snapshot
    description = f"snapshot {snapshot.id}, {snapshot.commit_kind} by {snapshot.commit_user}"
    if change.keeps_rows:
        yield dg.AssetObservation(asset.key, metadata=_metadata(facts, change), description=f"same rows: {description}")
        return
    metadata = _metadata(facts, change)
    partitions = _partition_rows(context, asset, facts, change)
    if not partitions:
        yield _event(asset, snapshot, None, metadata, description)
    for key, rows in partitions.items():
        yield _event(asset, snapshot, key, {**metadata, "paimon/partition_added_rows": rows}, description)


def _event(
    asset: TableAsset, snapshot: Snapshot, partition: str | None, metadata: Mapping[str, Any], description: str
) -> Event:
    if asset.is_managed:
        return dg.AssetObservation(
            asset_key=asset.key, partition=partition, metadata=metadata, description=f"by others: {description}"
        )
    return dg.AssetMaterialization(
        asset_key=asset.key,
        partition=partition,
        metadata=metadata,
        description=description,
        tags={"dagster/data_version": data_version(snapshot).value},
    )


def _metadata(facts: TableFacts, change: _Change) -> dict[str, Any]:
    snapshot, columns = change.snapshot, facts.schema.partition_fields
    named = sorted(
        ", ".join(f"{field.name}={partition_key(field, v)}" for field, v in zip(columns, values, strict=True))
        for values in change.rows or ()
    )
    return {
        "paimon/snapshot_id": snapshot.id,
        "paimon/schema_id": snapshot.schema_id,
        "paimon/commit_kind": snapshot.commit_kind.value,
        "paimon/commit_user": snapshot.commit_user,
        "paimon/committed": dg.MetadataValue.timestamp(snapshot.time_millis / 1000),
        "paimon/physical_rows": snapshot.total_record_count or 0,
        "paimon/added_rows": snapshot.delta_record_count or 0,
        **({"paimon/changed_partitions": listed(named)} if columns and change.rows is not None else {}),
        **changelog_rows([snapshot]),
        **({} if change.rolled_back_from is None else {"paimon/rolled_back_from": change.rolled_back_from}),
    }


def _partition_rows(
    context: dg.SensorEvaluationContext, asset: TableAsset, facts: TableFacts, change: _Change
) -> Mapping[str, int]:
    """Return the rows by Dagster partition; empty if the partitions of the table are not those of the asset."""
    if asset.partitions is None:
        return {}
    found = rows_by_partition(asset, facts, change.rows or {}, context.instance)
    if found.others:
        shown = f"{'; '.join(found.others[:_SHOWN])}{' ...' if len(found.others) > _SHOWN else ''}"
        context.log.info("%s: not partitions: %s", asset.key.to_user_string(), shown)
    return found.rows


def _new_dynamic_partitions(
    context: dg.SensorEvaluationContext, asset: TableAsset, events: list[Event]
) -> Iterator[dg.AddDynamicPartitionsRequest]:
    """Return the requests for keys of dynamic partitions, also of one dimension, that are reported the first time."""
    reported = [event.partition for event in events if event.partition is not None]
    partitions = asset.partitions
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        of_each = [key.keys_by_dimension for key in reported if isinstance(key, dg.MultiPartitionKey)]
        for part in partitions.partitions_defs:
            yield from _additions(context, part.partitions_def, {keys[part.name] for keys in of_each})
    elif partitions is not None:
        yield from _additions(context, partitions, set(reported))


def _additions(
    context: dg.SensorEvaluationContext, partitions: dg.PartitionsDefinition[Any], keys: set[str]
) -> Iterator[dg.AddDynamicPartitionsRequest]:
    if isinstance(partitions, dg.DynamicPartitionsDefinition) and partitions.name is not None:
        new = sorted(keys - set(context.instance.get_dynamic_partitions(partitions.name)))
        if new:
            yield partitions.build_add_request(new)
