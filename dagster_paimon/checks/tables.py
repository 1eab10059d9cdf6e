"""The factory for checks of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

import dagster as dg

from dagster_paimon.checks.base import CheckedTable, check_result, not_made, open_table, table_check
from dagster_paimon.checks.lineage import freshness, inputs_consumed
from dagster_paimon.checks.rows import pk_unique, row_count_bounds
from dagster_paimon.checks.schemas import schema_as_declared, schema_change
from dagster_paimon.checks.upkeep import files_present, no_dangling_files, snapshot_readable, table_health
from dagster_paimon.resources.lakehouse import table_name
from dagster_paimon.tables.data_age import FRESHNESS
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.errors import InvalidInputError

__all__ = [
    "CheckedTable",
    "TableCheck",
    "check_result",
    "files_present",
    "freshness",
    "inputs_consumed",
    "no_dangling_files",
    "not_made",
    "open_table",
    "pk_unique",
    "row_count_bounds",
    "schema_as_declared",
    "schema_change",
    "snapshot_readable",
    "table_check",
    "table_checks",
    "table_health",
]

Asset: TypeAlias = dg.AssetsDefinition | dg.AssetSpec


class TableCheck(StrEnum):
    """The checks that a table can have."""

    TABLE_HEALTH = "table_health"
    FILES_PRESENT = "files_present"
    PK_UNIQUE = "pk_unique"
    SCHEMA_AS_DECLARED = "schema_as_declared"
    SCHEMA_CHANGE = "schema_change"
    ROW_COUNT_BOUNDS = "row_count_bounds"
    INPUTS_CONSUMED = "inputs_consumed"
    NO_DANGLING_FILES = "no_dangling_files"
    SNAPSHOT_READABLE = "snapshot_readable"
    FRESHNESS = "freshness"


METADATA_CHECKS: Final = (TableCheck.TABLE_HEALTH, TableCheck.FILES_PRESENT, TableCheck.INPUTS_CONSUMED)
"""The checks that apply to every table and read no rows."""

_MAKERS: Final[Mapping[TableCheck, Callable[..., dg.AssetChecksDefinition]]] = {
    TableCheck.TABLE_HEALTH: table_health,
    TableCheck.FILES_PRESENT: files_present,
    TableCheck.PK_UNIQUE: pk_unique,
    TableCheck.SCHEMA_AS_DECLARED: schema_as_declared,
    TableCheck.SCHEMA_CHANGE: schema_change,
    TableCheck.ROW_COUNT_BOUNDS: row_count_bounds,
    TableCheck.INPUTS_CONSUMED: inputs_consumed,
    TableCheck.NO_DANGLING_FILES: no_dangling_files,
    TableCheck.SNAPSHOT_READABLE: snapshot_readable,
    TableCheck.FRESHNESS: freshness,
}


def table_checks(
    tables: TableNames,
    checks: Sequence[TableCheck | str] = METADATA_CHECKS,
    *,
    assets: Iterable[Asset] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[dg.AssetChecksDefinition, ...]:
    """Return checks of some tables, on their assets.

    ``assets`` are those of the code location: the check of a table belongs to the asset whose ``paimon/table`` or key
    names the table, and patterns such as ``shop.*`` select among them. ``settings`` has arguments by the name of the
    check, such as ``{"row_count_bounds": {"at_least": 1}}``. For a table that only a pattern selects, ``pk_unique`` is
    skipped if it has no primary key, and there is no check ``freshness`` if its asset does not set the maximum age.

    Example::

        dg.Definitions(asset_checks=table_checks(["shop.orders", "shop.users"], ["table_health", "pk_unique"]))

    Raises:
        InvalidInputError: a pattern is given without assets, or a check or its setting does not exist.
    """
    chosen = [_check(name) for name in checks]
    arguments = {_check(name): dict(given) for name, given in (settings or {}).items()}
    unused = [name for name in arguments if name not in chosen]
    if unused:
        message = f"settings of {', '.join(unused)}: not among the checks {', '.join(chosen)}"
        raise InvalidInputError(message)
    selection = TableSelection.of(tables)
    selected = list(_selected(selection, assets))
    return tuple(
        _MAKERS[name](table, **given)
        for name in chosen
        for table in selected
        if (given := _given(name, table, arguments.get(name, {}), is_named=table.name in selection.patterns))
        is not None
    )


def _given(
    check: TableCheck, table: CheckedTable, arguments: dict[str, Any], *, is_named: bool
) -> dict[str, Any] | None:
    """Return the arguments of the check of a table; ``None`` if it does not apply, and only a pattern selects it."""
    if is_named:
        return arguments
    if check is TableCheck.PK_UNIQUE:
        return {"skip_without_key": True, **arguments}
    needs_age = check is TableCheck.FRESHNESS and "allowed" not in arguments
    return None if needs_age and FRESHNESS not in table.metadata else arguments


def _check(name: TableCheck | str) -> TableCheck:
    try:
        return TableCheck(name)
    except ValueError as error:
        message = f"'{name}' is not a check; expected one of {', '.join(TableCheck)}"
        raise InvalidInputError(message) from error


def _selected(selection: TableSelection, assets: Iterable[Asset]) -> Iterator[CheckedTable]:
    specs = [spec for a in assets for spec in (a.specs if isinstance(a, dg.AssetsDefinition) else [a])]
    tables = {
        name: CheckedTable(name, spec.key, spec.metadata)
        for spec in reversed(specs)
        if (name := table_name(spec.key, spec.metadata))
    }
    for name in selection.names_among(tuple(reversed(tables))):
        yield tables.get(name) or CheckedTable.of(name)
