"""Requests a run that reads the changes of a table as a consumer when the consumer lags behind."""
# No postponed annotations here: Dagster inspects the type of `context`.

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import dagster as dg

from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.requested_runs import Outcome, now_ms, outcome, pause_ms, position_of
from dagster_paimon.sensors.tick_errors import reading_cursor, stored
from table_format import CommitKind, Snapshot, Table
from table_format.counted import counted
from table_format.engine import CHANGELOG, changes_mode, changes_of, consumer_position
from table_format.engine.support import arguments
from table_format.errors import InvalidInputError, SnapshotNotFound, TableNotFound


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """The unread snapshots with changes of a consumer, and their rows. ``next_id`` is the snapshot to read next.

    ``is_all`` is false if there may be more of them, because they were not counted.
    """

    next_id: int
    snapshots: int
    rows: int
    latest: Snapshot | None
    is_all: bool = True

    def reaches(self, min_snapshots: int, min_rows: int | None) -> bool:
        """Return whether the lag is at least one of these limits. Without ``min_rows``, one snapshot is enough.

        >>> lag = ConsumerLag(next_id=3, snapshots=2, rows=50, latest=None)
        >>> lag.reaches(1, None), lag.reaches(3, None), lag.reaches(1, 100), lag.reaches(2, 100)
        (True, False, False, True)
        """
        if min_rows is None:
            return self.snapshots >= max(min_snapshots, 1)
        return self.rows >= max(min_rows, 1) or self.snapshots >= min_snapshots > 1

    def __str__(self) -> str:
        lag = f"{counted(self.snapshots, 'snapshot')} and {counted(self.rows, 'row')}"
        return lag if self.is_all else f"at least {lag}"


@dataclass(frozen=True, slots=True)
class _Requested:
    run_key: str = ""
    requested_ms: int = 0
    failures: int = 0
    not_before_ms: int = 0
    served: str = ""


def _decoded(cursor: str | None) -> _Requested:
    with reading_cursor():
        members: dict[str, Any] = json.loads(cursor or "{}")
        for name, default in asdict(_Requested()).items():
            stored(members.get(name, default), type(default))
        return _Requested(**members)


def consumer_lag(table: Table, consumer: str, *, min_snapshots: int, min_rows: int | None) -> ConsumerLag:
    """Return how far a consumer is behind the latest snapshot. A consumer that does not exist has read nothing.

    Snapshots are counted until the lag reaches one of the limits: a consumer may be behind by very many.
    """
    changes, latest = changes_of(table.facts), table.latest_snapshot()
    earliest = changes.earliest_id() or 1
    next_id = max(table.consumers().get(consumer, earliest), earliest)
    last_id = latest.id if latest else 0
    lag = ConsumerLag(next_id, 0, 0, latest)
    for number in range(next_id, last_id + 1):
        snapshot = changes.find(number)
        rows = 0 if snapshot is None else _changed_rows(table, snapshot)
        lag = replace(lag, snapshots=lag.snapshots + (rows > 0), rows=lag.rows + rows, is_all=number == last_id)
        if lag.reaches(min_snapshots, min_rows):
            break
    return lag


def _changed_rows(table: Table, snapshot: Snapshot) -> int:
    if changes_mode(table.facts, snapshot) == CHANGELOG:
        return snapshot.changelog_record_count or 0
    return abs(snapshot.delta_record_count or 0) if snapshot.commit_kind is CommitKind.APPEND else 0


def changelog_ready_sensor(
    table: str,
    consumer: str,
    *,
    job: Any = None,  # noqa: ANN401 - Dagster's jobs are of several classes
    assets: Sequence[dg.AssetKey | str] | None = None,
    min_snapshots: int = 1,
    min_rows: int | None = None,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that requests a job, or assets, when a consumer lags by a number of snapshots or changed rows.

    ``job`` is a job or its name in the code location. One run is active at a time. A failed run is requested again
    after a pause. A run that succeeded without moving the consumer is requested again only after new changes.

    Example::

        changelog_ready_sensor("dwd.orders", "user_ltv", assets=["mart/user_ltv"], min_rows=1000)
    """
    if (job is None) == (assets is None):
        message = f"{consumer} on {table}: give either a job or assets to request"
        raise InvalidInputError(message)
    arguments.whole_number(min_snapshots, "min_snapshots", minimum=1)
    arguments.optional_whole_number(min_rows, "min_rows", minimum=1)
    target: dict[str, Any] = {"job_name" if isinstance(job, str) else "job": job}
    if assets is not None:
        target = {"asset_selection": dg.AssetSelection.assets(*_keys(assets))}

    @dg.sensor(
        name=name or f"{consumer}_changelog_ready",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Requests a run when the consumer '{consumer}' is behind on the changes of {table}.",
        **target,
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Compare the position of the consumer with the snapshots of the table."""
        last = _decoded(context.cursor)
        now = now_ms()
        try:
            opened = lakehouse.table(table)
        except TableNotFound:
            return _nothing(last, f"{table} does not exist")
        if last.run_key:
            result = outcome(context.instance, last.run_key, requested_ms=last.requested_ms, now=now)
            if result is Outcome.RUNNING:
                return _nothing(last, f"a run for '{consumer}' is in progress")
            last = _after_run(last, result, now)
        lag = consumer_lag(opened, consumer, min_snapshots=min_snapshots, min_rows=min_rows)
        try:
            consumer_position(opened.facts, consumer)
        except SnapshotNotFound:
            latest_id = lag.latest.id if lag.latest else 0
            note = f"'{consumer}' reads snapshot {lag.next_id} next and the latest of {table} is {latest_id}: the table"
            context.log.warning("%s was rolled back or created again; reset the consumer", note)
            return _nothing(last, f"{note} was rolled back or created again; reset the consumer")
        behind = f"'{consumer}' is {lag} behind {table}"
        state = "" if lag.latest is None else f"{lag.next_id} {data_version(lag.latest).value}"
        if not lag.reaches(min_snapshots, min_rows) or state == last.served:
            return _nothing(last, behind)
        if now < last.not_before_ms:
            return _nothing(last, f"{behind}; again in {(last.not_before_ms - now) // 1000 + 1} s after a failure")
        context.log.info("%s", behind)
        run_key = f"{consumer} {table} {state} {position_of(context)}"
        request_made = _Requested(run_key, now, last.failures, last.not_before_ms, state)
        request = dg.RunRequest(run_key=run_key, tags={"lakehouse/consumer": consumer})
        return dg.SensorResult(run_requests=[request], cursor=json.dumps(asdict(request_made)))

    return sensor


def _after_run(last: _Requested, result: Outcome, now: int) -> _Requested:
    """Return the state after a run has ended. After a failure, the same changes are requested again, after a pause."""
    if result is not Outcome.FAILED:
        return _Requested(served=last.served)
    failures = last.failures + 1
    return _Requested(failures=failures, not_before_ms=now + pause_ms(failures))


def _keys(assets: Sequence[dg.AssetKey | str]) -> list[dg.AssetKey]:
    return [key if isinstance(key, dg.AssetKey) else dg.AssetKey(key.split("/")) for key in assets]


def _nothing(last: _Requested, note: str) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=dg.SkipReason(note), cursor=json.dumps(asdict(last)))
