"""Requests runs of exactly those partitions of an asset that new commits to its upstream tables affect.

Dagster maps partitions to partitions: for an upstream asset that is upserted by day of arrival, it knows the days of
arrival but not the order days of the rows. The commits of the table do.

One set of runs is active at a time. Later changes wait and are requested together when these runs have ended.
Partitions whose run failed or was terminated are requested again after a pause, apart from those that changed since.
Keys that the definition of the asset does not have yet wait for it: a time window until it ends, a dynamic partition
until it is added.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final, TypeAlias

import dagster as dg

from dagster_paimon.resources.lakehouse import LakehouseCatalog, table_name
from dagster_paimon.sensors.followed_column import Changes, PartitionColumn, changes_since
from dagster_paimon.sensors.request_state import RequestedRun, RequestState, decode_state, encode_state
from dagster_paimon.sensors.requested_runs import Outcome, now_ms, outcome, pause_ms, position_of
from dagster_paimon.tables.partition_keys import in_order, keys_of_values, keys_to_come, known_keys, successive
from dagster_paimon.tables.table_assets import TableAsset, asset_of_key
from table_format import CommitKind, Snapshot
from table_format.counted import counted, listed
from table_format.engine.support import consumed_by
from table_format.errors import InvalidInputError, TableNotFound

_RANGE_START: Final = "dagster/asset_partition_range_start"
_RANGE_END: Final = "dagster/asset_partition_range_end"
_SHOWN: Final = 20
_DIGEST_BYTES: Final = 8
_MOST_TO_COME: Final = 1000
"""The maximum number of stored keys that are not partitions yet. Many values of a column may never become one."""

PartitionsOf: TypeAlias = Callable[[object], Iterable[str]]


def changed_partitions_sensor(
    asset: dg.AssetKey | str | Sequence[str],
    sources: PartitionColumn | Sequence[PartitionColumn],
    *,
    partitions_of: PartitionsOf | None = None,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that requests the partitions of an asset that commits to its upstream tables have changed.

    Values of each source's column are partition keys of the asset: as text, or as the time window that a date or time
    falls into. ``partitions_of`` overrides this mapping: it takes a value and returns keys, such as those of a
    sliding window. At the first tick, everything counts as changed.

    Example::

        changed_partitions_sensor("mart/daily_revenue", PartitionColumn("dwd.orders", "order_date"))
    """
    key = dg.AssetKey.from_coercible(asset.split("/") if isinstance(asset, str) else asset)
    followed = (sources,) if isinstance(sources, PartitionColumn) else tuple(sources)
    if not followed or not all(isinstance(source, PartitionColumn) for source in followed):
        message = f"{key.to_user_string()}: sources: expected at least one PartitionColumn, found {sources!r}"
        raise InvalidInputError(message)

    @dg.sensor(
        name=name or f"{'_'.join(key.path)}_changed_partitions",
        asset_selection=dg.AssetSelection.assets(key),
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Requests the partitions of {key.to_user_string()} that commits to "
        f"{', '.join(source.table for source in followed)} have changed.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Find the changes, check the requested runs, and request the runs that are due."""
        target = _target(context, key)
        notes: list[str] = []
        state = _settled(context, decode_state(context.cursor), notes)
        state = _learned(context, lakehouse, target, followed, partitions_of, state, notes)
        state, requests = _due(context, target, state, notes)
        if requests:
            context.log.info("%s", "; ".join(notes))
            return dg.SensorResult(run_requests=requests, cursor=encode_state(state))
        return dg.SensorResult(
            skip_reason=dg.SkipReason("; ".join(notes) or "nothing has changed"), cursor=encode_state(state)
        )

    return sensor


def _target(context: dg.SensorEvaluationContext, key: dg.AssetKey) -> TableAsset:
    target = asset_of_key(context, key)
    if target.partitions is None:
        message = f"{key.to_user_string()} has no partitions; use an automation condition for it"
        raise InvalidInputError(message)
    return target


def _settled(context: dg.SensorEvaluationContext, state: RequestState, notes: list[str]) -> RequestState:
    """Return the state after checking the requested runs. Partitions of failed runs wait for a while."""
    now = now_ms()
    results = [(r, outcome(context.instance, r.run_key, requested_ms=r.requested_ms, now=now)) for r in state.requests]
    running = tuple(request for request, result in results if result is Outcome.RUNNING)
    failed, computed = (
        frozenset(key for request, result in results if result is wanted for key in request.keys)
        for wanted in (Outcome.FAILED, Outcome.SUCCEEDED)
    )
    state = replace(state, requests=running, again=state.again - computed | failed)
    if failed:
        failures = state.failures + 1
        runs = counted(sum(result is Outcome.FAILED for _, result in results), "run")
        notes.append(f"{runs} failed; {_listed(sorted(failed))} again in {pause_ms(failures) // 1000} s")
        context.log.warning("%s", notes[-1])
        return replace(state, failures=failures, not_before_ms=now + pause_ms(failures))
    return state if running or state.again else replace(state, failures=0, not_before_ms=0)


def _learned(
    context: dg.SensorEvaluationContext,
    lakehouse: LakehouseCatalog,
    target: TableAsset,
    sources: Sequence[PartitionColumn],
    partitions_of: PartitionsOf | None,
    state: RequestState,
    notes: list[str],
) -> RequestState:
    """Return the state with the partitions that new commits of the tables affect."""

    def keys_of(values: Iterable[object]) -> frozenset[str]:
        assert target.partitions is not None  # noqa: S101 - checked
        if partitions_of is None:
            found = keys_of_values(target.partitions, values, context.instance)
            if found.others:
                context.log.info("values that are not partitions: %s", _listed([str(v) for v in found.others]))
            return frozenset(found.keys) | found.to_come
        given = frozenset(key for value in values for key in partitions_of(value))
        known = known_keys(target.partitions, given, context.instance)
        return known | keys_to_come(target.partitions, given - known)

    trails, waiting = dict(state.trails), set(state.waiting)
    for source in sources:
        trail = trails.get(source.table, ())
        try:
            changes = changes_since(trail, lakehouse.table(source.table).facts, source, keys_of)
        except TableNotFound:
            # If it is created again, it has another history, and everything counts as changed.
            notes.append(f"{source.table} does not exist")
            continue
        keys = set(changes.keys)
        if changes.why_all is not None:
            keys |= context.instance.get_materialized_partitions(target.key)
            context.log.info("%s: %s, so all partitions may have changed", source.table, changes.why_all)
        if changes.left:
            notes.append(f"{source.table}: the next tick reads {counted(changes.left, 'more snapshot')}")
        computed = _computed_since(context.instance, lakehouse, target, source, changes, keys)
        if keys:
            note = f"{source.table} changed {_listed(sorted(keys))}"
            notes.append(f"{note}; computed since: {_listed(sorted(computed))}" if computed else note)
        waiting |= keys - computed
        trails[source.table] = changes.trail
    return replace(state, trails=trails, waiting=frozenset(waiting))


def _computed_since(
    instance: dg.DagsterInstance,
    lakehouse: LakehouseCatalog,
    target: TableAsset,
    source: PartitionColumn,
    changes: Changes,
    keys: Iterable[str],
) -> frozenset[str]:
    """Return the partitions whose last computation has already read the last change of the source.

    The commits of the asset's table record the partitions that they replaced and the snapshots that they read.
    """
    last = changes.last
    if last is None:
        return frozenset()
    try:
        commits = lakehouse.table(table_name(target.key, target.metadata)).snapshots()
        snapshots = lakehouse.table(source.table).facts.snapshots
    except TableNotFound:
        return frozenset()
    open_keys, done = set(keys), set[str]()
    for commit in reversed(commits):
        if not open_keys or commit.time_millis < last.time_millis:
            break
        covered = open_keys & _replaced(instance, target, commit)
        open_keys -= covered
        # An id after the latest snapshot was rolled back.
        read = consumed_by(commit).get(source.table)
        if read is None or not last.id <= read.id <= changes.trail[-1].snapshot.id:
            continue
        if not read.is_replaced(snapshots):
            done |= covered
    return frozenset(done)


def _replaced(instance: dg.DagsterInstance, target: TableAsset, commit: Snapshot) -> frozenset[str]:
    """Return the Dagster partitions that a commit replaced; empty if it does not record them."""
    span = commit.properties.get("dagster.partition")
    if span is None or commit.commit_kind is CommitKind.COMPACT or target.partitions is None:
        return frozenset()
    first, _, last = span.partition("...")
    if not last:
        return frozenset({first})
    if known_keys(target.partitions, {span}, instance):
        return frozenset()  # the dots are those of a key, or those of a range
    try:
        with dg.partition_loading_context(dynamic_partitions_store=instance):
            return frozenset(target.partitions.get_partition_keys_in_range(dg.PartitionKeyRange(first, last)))
    except (dg.DagsterInvariantViolationError, dg.DagsterInvalidInvocationError, ValueError):
        return frozenset()


def _due(
    context: dg.SensorEvaluationContext, target: TableAsset, state: RequestState, notes: list[str]
) -> tuple[RequestState, list[dg.RunRequest]]:
    state, to_come = _without_those_to_come(context, target, state, notes)
    state, runs = _due_now(context, target, state, notes)
    return replace(state, waiting=state.waiting | to_come), runs


def _without_those_to_come(
    context: dg.SensorEvaluationContext, target: TableAsset, state: RequestState, notes: list[str]
) -> tuple[RequestState, frozenset[str]]:
    """Return the state with the waiting keys that are partitions now, and the keys that may be partitions later."""
    assert target.partitions is not None  # noqa: S101 - checked
    known = known_keys(target.partitions, state.waiting, context.instance)
    to_come = sorted(keys_to_come(target.partitions, state.waiting - known))
    if to_come:
        notes.append(f"{_listed(to_come)} wait until they are partitions of {target.key.to_user_string()}")
    if len(to_come) > _MOST_TO_COME:
        message = "%s: %s are not partitions; only the last %s are remembered until they are added"
        context.log.warning(message, target.key.to_user_string(), counted(len(to_come), "key"), _MOST_TO_COME)
    again = known_keys(target.partitions, state.again, context.instance)
    return replace(state, waiting=known, again=again), frozenset(to_come[-_MOST_TO_COME:])


def _due_now(
    context: dg.SensorEvaluationContext, target: TableAsset, state: RequestState, notes: list[str]
) -> tuple[RequestState, list[dg.RunRequest]]:
    in_progress = f"{counted(len(state.requests), 'run is', 'runs are')} in progress"
    if state.requests:
        notes.append(f"{in_progress}; {_listed(sorted(state.waiting))} wait" if state.waiting else in_progress)
        return state, []
    now, again = now_ms(), state.again - state.waiting
    if again and now < state.not_before_ms:
        seconds = (state.not_before_ms - now) // 1000 + 1
        notes.append(f"{_listed(sorted(again))} wait {seconds} s after a failure")
        again = frozenset()
    requests, runs = [], []
    # Apart from each other, because the runs of some may fail again.
    for group in (*_groups(context, target, state.waiting), *_groups(context, target, again)):
        run_key = _run_key(context, target, state, group)
        requests.append(RequestedRun(run_key, group, now))
        runs.append(_run(target, run_key, group))
    if not runs:
        return state, []
    left = state.again - state.waiting - again
    state = replace(state, waiting=frozenset(), again=left, requests=tuple(requests), rounds=state.rounds + 1)
    return state, runs


def _groups(context: dg.SensorEvaluationContext, target: TableAsset, keys: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the partitions of each run, by the backfill policy of the asset."""
    assert target.partitions is not None  # noqa: S101 - checked
    policy = target.backfill_policy
    if policy is None or isinstance(target.partitions, dg.MultiPartitionsDefinition):
        return [(key,) for key in in_order(target.partitions, keys, context.instance)]
    ranges = successive(target.partitions, keys, context.instance)
    most = policy.max_partitions_per_run
    if most is None:
        return list(ranges)
    return [group[at : at + most] for group in ranges for at in range(0, len(group), most)]


def _run(target: TableAsset, run_key: str, group: tuple[str, ...]) -> dg.RunRequest:
    if len(group) == 1:
        return dg.RunRequest(run_key=run_key, asset_selection=[target.key], partition_key=group[0])
    return dg.RunRequest(
        run_key=run_key,
        asset_selection=[target.key],
        tags={_RANGE_START: group[0], _RANGE_END: group[-1]},
    )


def _run_key(
    context: dg.SensorEvaluationContext, target: TableAsset, state: RequestState, group: tuple[str, ...]
) -> str:
    """Return a key that no other round has, even after a rollback. A tick that repeats another one has its keys."""
    seen = json.dumps(
        [[t, [trail[-1].snapshot.id, trail[-1].snapshot.fingerprint]] for t, trail in state.trails.items() if trail]
    )
    digest = blake2b(f"{seen} {state.rounds} {position_of(context)}".encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{target.key.to_user_string()} {group[0]}...{group[-1]} {digest}"


def _listed(names: Sequence[str]) -> str:
    return listed(names, _SHOWN) or "none"
