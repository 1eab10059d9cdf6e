"""The asset of a table, as a sensor sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dagster_paimon.tables.asset_keys import HasRepository, TableAssets


@dataclass(frozen=True, slots=True)
class TableAsset:
    """An asset of a code location; ``is_managed`` when one of its jobs makes the asset."""

    key: dg.AssetKey
    is_managed: bool = False
    partitions: dg.PartitionsDefinition[Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    backfill_policy: dg.BackfillPolicy | None = None


def asset_of_table(context: HasRepository, table: str) -> TableAsset:
    """The asset of a table named ``database.table``; an external one of its name where the location has none."""
    return asset_of_key(context, TableAssets.of_context(context).key_of(table))


def asset_of_key(context: HasRepository, key: dg.AssetKey) -> TableAsset:
    """The asset of a key; an external one without partitions where the code location has none."""
    repository = context.repository_def
    if repository is None or not repository.asset_graph.has(key):
        return TableAsset(key)
    node = repository.asset_graph.get(key)
    return TableAsset(key, node.is_materializable, node.partitions_def, node.metadata, node.backfill_policy)
