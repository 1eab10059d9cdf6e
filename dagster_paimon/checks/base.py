"""The common parts of all checks: the table and its asset, opening the table, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import dagster as dg

from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from table_format import Table
from table_format.errors import TableNotFound


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table, its asset, and the metadata of the asset's definition."""

    name: str
    key: dg.AssetKey
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: CheckedTable | str) -> CheckedTable:
        """Return the table of a name, with the asset of the same name."""
        return table if isinstance(table, CheckedTable) else cls(table, asset_key(table))


Evaluate: TypeAlias = Callable[[Table], dg.AssetCheckResult]


def table_check(
    table: CheckedTable | str, name: str, description: str, evaluate: Evaluate, *, blocking: bool = False
) -> dg.AssetChecksDefinition:
    """Return a check that opens its table and evaluates it. A missing table is a warning."""
    checked = CheckedTable.of(table)

    @dg.asset_check(asset=checked.key, name=name, description=description, blocking=blocking)
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        found = open_table(lakehouse, checked.name)
        return not_made(checked.name) if found is None else evaluate(found)

    return check


def open_table(lakehouse: LakehouseCatalog, name: str) -> Table | None:
    """Return the table, or ``None`` if it does not exist."""
    try:
        return lakehouse.table(name)
    except TableNotFound:
        return None


def not_made(name: str) -> dg.AssetCheckResult:
    """Return the warning that a table does not exist yet."""
    description = f"{name} does not exist yet; materialize it"
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=description)


def check_result(
    passed: bool,  # noqa: FBT001
    *,
    metadata: dict[str, Any],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    description: str | None = None,
) -> dg.AssetCheckResult:
    """Return the result of a check, with severity ``ERROR`` by default."""
    return dg.AssetCheckResult(passed=bool(passed), severity=severity, metadata=metadata, description=description)
