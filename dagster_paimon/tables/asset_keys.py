"""Which asset a table belongs to.

An asset names its table by ``paimon/table`` in its metadata; without it the table follows from the asset's key, as
``table_name`` says. Several assets may have one table, such as one asset for each branch. One of them is the asset of
the table; the order of preference is:

1. an asset of the main branch before one whose metadata has ``paimon/branch`` or ``paimon/wap``
2. an asset that names the table before one whose key gives it
3. an asset that a job makes before an external one
4. the shorter key, then the order of the alphabet
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
    """What is needed of an asset; the nodes of Dagster's asset graph have it."""

    @property
    def key(self) -> dg.AssetKey:
        """The key of the asset."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the asset's definition."""
        ...

    @property
    def is_materializable(self) -> bool:
        """Whether a job of the code location makes the asset."""
        ...


class HasRepository(Protocol):
    """A Dagster context: of an op, an asset, a check, a sensor or a schedule."""

    @property
    def repository_def(self) -> dg.RepositoryDefinition | None:
        """The definitions of the code location; an error or ``None`` outside of one."""
        ...


@dataclass(frozen=True, slots=True)
class TableAssets:
    """The assets of a code location, by the table they are stored in."""

    keys: Mapping[str, dg.AssetKey] = field(default_factory=dict)

    @classmethod
    def of(cls, assets: Iterable[AssetNode]) -> TableAssets:
        """The assets of tables among these."""
        best: dict[str, tuple[_Rank, dg.AssetKey]] = {}
        for asset in assets:
            table, candidate = table_name(asset.key, asset.metadata), (_rank(asset), asset.key)
            if table not in best or candidate[0] < best[table][0]:
                best[table] = candidate
        return cls({table: key for table, (_, key) in best.items()})

    @classmethod
    def of_context(cls, context: HasRepository) -> TableAssets:
        """The assets of the code location that a run, a sensor, a schedule or a check belongs to.

        A job that is executed without a code location, as in a test, has none: each table then has the key of its name.
        """
        repository = repository_of(context)
        return cls() if repository is None else cls.of(repository.asset_graph.asset_nodes)

    def key_of(self, table: str) -> dg.AssetKey:
        """The asset of a table named ``database.table``; the key of that name where no asset is stored in it.

        >>> TableAssets({"default.clicks": dg.AssetKey("clicks")}).key_of("default.clicks")
        AssetKey(['clicks'])
        >>> TableAssets().key_of("shop.orders")
        AssetKey(['shop', 'orders'])
        """
        return self.keys.get(table) or asset_key(table)


def repository_of(context: HasRepository) -> dg.RepositoryDefinition | None:
    """The definitions of the code location of a context; ``None`` in a job that was executed without one."""
    try:
        return context.repository_def
    except (dg.DagsterInvariantViolationError, CheckError):
        return None


def _rank(asset: AssetNode) -> _Rank:
    """The smaller, the better."""
    metadata = asset.metadata
    return (
        _BRANCH in metadata or metadata.get(_WAP) is True,
        _TABLE not in metadata,
        not asset.is_materializable,
        len(asset.key.path),
        tuple(asset.key.path),
    )
