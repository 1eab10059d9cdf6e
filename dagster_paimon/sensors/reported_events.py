"""Leaves out events that a tick has reported before it was interrupted.

The daemon stores the events of a tick one by one, and the cursor after the last one. If it is killed in between, the
next tick finds the same snapshots. Their events are those since the last tick whose cursor was stored.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import dagster as dg

Event: TypeAlias = dg.AssetMaterialization | dg.AssetObservation

_MOST_READ: Final = 10_000


def not_reported_yet(context: dg.SensorEvaluationContext, key: dg.AssetKey, events: Sequence[Event]) -> list[Event]:
    """Return the events of an asset that were not stored since the last tick that ended."""
    since = context.last_tick_completion_time or context.last_sensor_start_time
    if not events or since is None:
        return list(events)
    kinds = {type(event) for event in events}
    stored = {_identity(event) for kind in kinds for event in _stored(context.instance, kind, key, since)}
    return [event for event in events if _identity(event) not in stored]


def _stored(instance: dg.DagsterInstance, kind: type[Event], key: dg.AssetKey, since: float) -> list[Event]:
    records = dg.AssetRecordsFilter(asset_key=key, after_timestamp=since)
    if kind is dg.AssetMaterialization:
        found = instance.fetch_materializations(records, limit=_MOST_READ).records
        return [record.asset_materialization for record in found if record.asset_materialization is not None]
    seen = instance.fetch_observations(records, limit=_MOST_READ).records
    return [record.asset_observation for record in seen if record.asset_observation is not None]


def _identity(event: Event) -> tuple[Any, ...]:
    values = {label: value.value for label, value in event.metadata.items()}
    names = ("paimon/snapshot_id", "paimon/commit_user", "paimon/committed", "paimon/rolled_back_from")
    return (type(event), event.partition, *(values.get(name) for name in names))
