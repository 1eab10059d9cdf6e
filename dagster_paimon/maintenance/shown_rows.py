"""Materializations of a managed asset whose rows a maintenance run has made visible to readers.

If readers skip level 0 (deletion vectors, ``first-row``), or a bucket is postponed, the run that wrote the rows has
materialized the asset before anyone could read them. Downstream assets must run again after the compaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_paimon.maintenance.kinds import Visit
from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.tables.changed_rows import Values, changed_rows, rows_by_partition
from dagster_paimon.tables.table_assets import TableAsset
from table_format import Snapshot
from table_format.engine.support import keeps_rows


def shown_rows(asset: TableAsset, visit: Visit, snapshots: Sequence[Snapshot]) -> Iterator[dg.AssetMaterialization]:
    """Yield a materialization of each partition in which these snapshots of a run have made rows visible.

    ``snapshot_sensor`` does the same for the tables that others write.
    """
    if not asset.is_managed or not snapshots:
        return
    facts = visit.table().facts
    rows: dict[Values, int] = {}
    last = None
    for snapshot in filter(keeps_rows, snapshots):
        if changed := changed_rows(facts, snapshot):
            rows |= changed
            last = snapshot
    if last is None:
        return
    partitions: list[str | None] = [*rows_by_partition(asset, facts, rows, visit.instance).rows]
    for partition in partitions or [None]:
        yield dg.AssetMaterialization(
            asset_key=asset.key,
            partition=partition,
            description=f"snapshot {last.id} shows rows that waited for a compaction",
            metadata={"paimon/snapshot_id": last.id},
            tags={"dagster/data_version": data_version(last).value},
        )
