"""Finds the asset of a table.

An asset names its table with ``paimon/table`` in its metadata; without it, ``table_name`` derives the table from the
asset key. Several assets may have the same table, such as one asset for each branch. One of them is the asset of the
table, in this order of preference:

1. an asset of the main branch before one with ``paimon/branch`` or ``paimon/wap`` in its metadata
2. an asset that names the table before one whose key determines it
3. an asset that a job materializes before an external one
4. the shorter key, then alphabetical order
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import dagster as dg
from dagster._check import CheckError

from dagster_paimon.resources.lakehouse import asset_key, table_name

_TABLE: Final = "paimon/table"
_BRANCH: Final = "paimon/branch"
_WAP: Final = "paimon/wap"

_Rank: TypeAlias = tuple[bool, bool, bool, int, tuple[str, ...]]


class AssetNode(Protocol):
    """The required interface of an asset, such as a node of Dagster's asset graph."""

    @property
    def key(self) -> dg.AssetKey:
        """The key of the asset."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the definition of the asset."""
        ...

    @property
    def is_materializable(self) -> bool:
        """Whether a job of the code location materializes the asset."""
        ...


class HasRepository(Protocol):
    """A Dagster context: of an op, an asset, a check, a sensor or a schedule."""

    @property
    def repository_def(self) -> dg.RepositoryDefinition | None:
        """The definitions of the code location. Outside of a code location, an error or ``None``."""
        ...


@dataclass(frozen=True, slots=True)
class TableAssets:
    """The assets of a code location by their table."""

    keys: Mapping[str, dg.AssetKey] = field(default_factory=dict)

    @classmethod
    def of(cls, assets: Iterable[AssetNode]) -> TableAssets:
        """Return the assets with tables."""
        best: dict[str, tuple[_Rank, dg.AssetKey]] = {}
        for asset in assets:
            table, candidate = table_name(asset.key, asset.metadata), (_rank(asset), asset.key)
            if table not in best or candidate[0] < best[table][0]:
                best[table] = candidate
        return cls({table: key for table, (_, key) in best.items()})

    @classmethod
    def of_context(cls, context: HasRepository) -> TableAssets:
        """Return the assets of the code location of a run, a sensor, a schedule or a check.

        A job that runs without a code location, as in a test, has none; then the key of each table is its name.
        """
        repository = repository_of(context)
        return cls() if repository is None else cls.of(repository.asset_graph.asset_nodes)

    def key_of(self, table: str) -> dg.AssetKey:
        """Return the asset key of a table ``database.table``, by default the key with its name.

        >>> TableAssets({"default.clicks": dg.AssetKey("clicks")}).key_of("default.clicks")
        AssetKey(['clicks'])
        >>> TableAssets().key_of("shop.orders")
        AssetKey(['shop', 'orders'])
        """
        return self.keys.get(table) or asset_key(table)


def repository_of(context: HasRepository) -> dg.RepositoryDefinition | None:
    """Return the definitions of the code location of a context; ``None`` for a job that runs without one."""
    try:
        return context.repository_def
    except (dg.DagsterInvariantViolationError, CheckError):
        return None


def _rank(asset: AssetNode) -> _Rank:
    """Return the rank of an asset. Smaller is better."""
    metadata = asset.metadata
    return (
        _BRANCH in metadata or metadata.get(_WAP) is True,
        _TABLE not in metadata,
        not asset.is_materializable,
        len(asset.key.path),
        tuple(asset.key.path),
    )
