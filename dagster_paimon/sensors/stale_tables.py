"""Requests the refresh of materialized tables whose rows are too old, and again after a failed run."""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import dagster as dg

from dagster_paimon.io.materialized_assets import refresh_metadata, version_of
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog, table_name
from dagster_paimon.sensors.requested_runs import now_ms
from dagster_paimon.sensors.tick_errors import in_short, unreadable
from dagster_paimon.sensors.tick_time import in_turn, looked_at_last, waiting_note
from dagster_paimon.sensors.watched_tables import (
    Watched,
    after_last_run,
    decode_watched,
    encode_watched,
    fingerprint_of,
    unused_run_key,
)
from table_format import Catalog, MaterializedTable, materialized_table
from table_format.errors import InvalidInputError

_LEAST_PAUSE: Final = timedelta(minutes=1)
"""The shortest time between two reports that an unchanged table is fresh."""


def stale_tables_sensor(
    assets: Iterable[dg.AssetsDefinition],
    *,
    name: str = "stale_tables",
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that refreshes materialized tables, given as the assets of ``materialized_table_assets``.

    Each tick compares the states of the sources with those that the last refresh has read, from metadata. If a source
    has changed, and the last refresh is older than the freshness of the table, the tick requests a run of its asset: at
    most one at a time for each table. A suspended table is left alone. If no source has changed, no run is needed: the
    sensor then reports a materialization without a run once per freshness, at most once a minute, so that the freshness
    policy of the asset holds. A table is due at a tick, so its rows are at most the freshness, one interval of the
    sensor and the time of a run behind their sources.

    Raises:
        InvalidInputError: no asset is given.
    """
    listed = tuple(assets)
    if not listed:
        message = "stale_tables_sensor: no asset is given; pass the assets of materialized_table_assets"
        raise InvalidInputError(message)
    key_of = {table_name(spec.key, spec.metadata): spec.key for asset in listed for spec in asset.specs}

    @dg.sensor(
        name=name,
        asset_selection=dg.AssetSelection.assets(*key_of.values()),
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Refreshes materialized tables whose rows are older than their freshness.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Request the refreshes that are due, and report the tables that need none."""
        tick = _Tick(context, lakehouse.catalog(), key_of, now_ms())
        known = decode_watched(context.cursor)
        looked = {table: tick.look(table, known.get(table, Watched())) for table in in_turn(key_of, known)}
        watched = looked_at_last({table: state for table, state in known.items() if table in key_of}, looked)
        notes = [*waiting_note(tuple(key_of), len(looked)), *tick.notes]
        note = in_short(notes) or "no materialized table is stale"
        return dg.SensorResult(
            run_requests=tick.requests or None,
            skip_reason=None if tick.requests else dg.SkipReason(note),
            asset_events=tick.events,
            cursor=encode_watched(watched),
        )

    return sensor


@dataclass(slots=True)
class _Tick:
    """What one tick has found so far."""

    context: dg.SensorEvaluationContext
    catalog: Catalog
    key_of: Mapping[str, dg.AssetKey]
    now_ms: int
    requests: list[dg.RunRequest] = field(default_factory=list)
    events: list[dg.AssetMaterialization] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, name: str, before: Watched) -> Watched:
        """Decide about one table. Return its next state."""
        watched = after_last_run(self.context, name, before, self.notes, work="refresh")
        if watched.run_key or self.now_ms < watched.not_before_ms:
            return watched
        try:
            return self._decided(materialized_table(self.catalog, name), watched)
        except TABLE_ERRORS as error:
            self.notes.append(unreadable(self.context, name, error))
        return watched

    def _decided(self, found: MaterializedTable, watched: Watched) -> Watched:
        if found.problem is not None or found.is_suspended:
            reason = "it is suspended" if found.problem is None else found.problem
            self.notes.append(f"{found.name} is not refreshed: {reason}")
            return watched
        if found.is_stale(self.now_ms):
            return self._requested(found, watched)
        if found.is_current:
            return self._reported(found, watched)
        return watched

    def _requested(self, found: MaterializedTable, watched: Watched) -> Watched:
        changed = ", ".join(found.changed_sources) or "what its query returns"
        self.context.log.info(
            "%s is stale: %s changed; its rows have the age %s", found.name, changed, found.age(self.now_ms)
        )
        table = self.catalog.load_table(found.name)
        work = f"refresh {found.name} {fingerprint_of(table)}-schema-{table.schema.id}"
        run_key = unused_run_key(self.context, work, watched)
        request = dg.RunRequest(run_key=run_key, asset_selection=[self.key_of[found.name]])
        self.requests.append(request)
        return replace(watched, run_key=run_key, requested_ms=self.now_ms)

    def _reported(self, found: MaterializedTable, watched: Watched) -> Watched:
        """Report that a table is fresh without a run, if its last report is older than its freshness."""
        since = max(0 if found.refresh is None else found.refresh.time_ms, watched.looked_ms)
        pause = max(found.freshness or _LEAST_PAUSE, _LEAST_PAUSE)
        if self.now_ms - since <= pause.total_seconds() * 1000:
            return watched
        version = version_of(self.catalog.load_table(found.name), found.refresh)
        event = dg.AssetMaterialization(
            self.key_of[found.name],
            metadata=refresh_metadata(found.refresh, "no source has changed"),
            tags=None if version is None else {"dagster/data_version": version.value},
        )
        self.events.append(event)
        self.notes.append(f"{found.name} is fresh: no source has changed")
        return replace(watched, looked_ms=self.now_ms)
