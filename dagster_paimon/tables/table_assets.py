"""Finds the assets of tables for a sensor or a maintenance run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dagster_paimon.tables.asset_keys import HasRepository, TableAssets, repository_of


@dataclass(frozen=True, slots=True)
class TableAsset:
    """An asset of a code location. ``is_managed`` is true if a job of the location materializes it."""

    key: dg.AssetKey
    is_managed: bool = False
    partitions: dg.PartitionsDefinition[Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    backfill_policy: dg.BackfillPolicy | None = None


def assets_of_tables(context: HasRepository) -> Callable[[str], TableAsset]:
    """Return a function that returns the asset of a table ``database.table``.

    It is an external asset with the name of the table if the location has none. The assets of the location are searched
    once, for all tables of a tick or a run.
    """
    assets = TableAssets.of_context(context)
    return lambda table: asset_of_key(context, assets.key_of(table))


def asset_of_key(context: HasRepository, key: dg.AssetKey) -> TableAsset:
    """Return the asset with a key; an external asset without partitions if the code location has none."""
    repository = repository_of(context)
    if repository is None or not repository.asset_graph.has(key):
        return TableAsset(key)
    node = repository.asset_graph.get(key)
    return TableAsset(key, node.is_materializable, node.partitions_def, node.metadata, node.backfill_policy)
