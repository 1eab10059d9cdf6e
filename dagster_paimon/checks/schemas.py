"""Checks of the columns of a table: against the declaration of its asset, and for changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import dagster as dg
import pyarrow as pa

from dagster_paimon.checks.base import CheckedTable, check_result, table_check
from dagster_paimon.reporting.metadata import column_schema, listed
from table_format import Table, TableSchema
from table_format.types import arrow_schema

_NOT_FOLLOWED: Final = ("bucket",)
"""Options that a table keeps even if its asset has others. Another number of buckets needs a rescale."""


def schema_as_declared(table: CheckedTable | str, *, schema: pa.Schema | None = None) -> dg.AssetChecksDefinition:
    """Fail if the table does not have the columns and keys that its asset declares.

    The columns are those of ``schema``, or of ``dagster/column_schema`` in the metadata of the asset; the keys and
    options are those of ``paimon/primary_key``, ``partition_expr`` and ``paimon/options``. Anything not declared is
    not checked.
    """
    checked = CheckedTable.of(table)

    def evaluate(found: Table) -> dg.AssetCheckResult:
        problems = list(_differences(found.schema, schema, checked.metadata))
        metadata = {"problems": listed(problems), "dagster/column_schema": column_schema(found.schema)}
        return check_result(not problems, metadata=metadata)

    return table_check(
        checked, "schema_as_declared", "The table has the columns and keys that its asset declares.", evaluate
    )


def _differences(found: TableSchema, declared: pa.Schema | None, metadata: Mapping[str, Any]) -> Iterator[str]:
    if declared is not None:
        actual = arrow_schema(found.fields)
        types = {name: str(actual.field(name).type) for name in actual.names}
        yield from _columns({field.name: str(field.type) for field in declared}, types)
    shown = metadata.get("dagster/column_schema")
    shown = shown.value if isinstance(shown, dg.MetadataValue) else shown
    if declared is None and isinstance(shown, dg.TableSchema):
        wanted = {column.name: _plain(column.type) for column in shown.columns}
        yield from _columns(wanted, {field.name: _plain(field.type.sql()) for field in found.fields})
    keys = {
        "primary key": (_names(metadata.get("paimon/primary_key")), found.primary_keys),
        "partition columns": (_names(metadata.get("partition_expr")), found.partition_keys),
    }
    for what, (wanted_names, names) in keys.items():
        if wanted_names and wanted_names != names:
            yield f"{what}: expected {', '.join(wanted_names)}, found {', '.join(names) or 'none'}"
    for option, value in dict(metadata.get("paimon/options") or {}).items():
        if option not in _NOT_FOLLOWED and found.options.get(option) != str(value):
            yield f"option '{option}': expected {value}, found {found.options.get(option, 'none')}"


def _columns(wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    for name, kind in wanted.items():
        if name not in found:
            yield f"column '{name}': expected {kind}, found none"
        elif found[name] != kind:
            yield f"column '{name}': expected {kind}, found {found[name]}"
    for name in found:
        if name not in wanted:
            yield f"column '{name}': not declared, found {found[name]}"


def _plain(sql_type: str) -> str:
    """Remove NOT NULL, which is a separate constraint in Dagster."""
    return sql_type.upper().removesuffix(" NOT NULL")


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, dg.MetadataValue):
        value = value.value
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(map(str, value.values()))
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def schema_change(table: CheckedTable | str) -> dg.AssetChecksDefinition:
    """Warn if the last commit has another schema than the one before it, or if the table was altered since."""

    def evaluate(found: Table) -> dg.AssetCheckResult:
        snapshots = found.snapshots()
        before = snapshots[-2].schema_id if len(snapshots) > 1 else (snapshots[0].schema_id if snapshots else None)
        old = found.facts.schemas[before] if before is not None else found.schema
        changes = list(_changes(old, found.schema))
        return check_result(
            not changes,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "changes": listed(changes),
                "paimon/schema_id": found.schema.id,
                "dagster/column_schema": column_schema(found.schema),
            },
        )

    return table_check(table, "schema_change", "The last commit and an ALTER since changed no column.", evaluate)


def _changes(old: TableSchema, new: TableSchema) -> Iterator[str]:
    """Return the differences of two schemas. Columns are matched by id."""
    was, now = ({field.id: field for field in schema.fields} for schema in (old, new))
    for field_id in sorted({*was, *now}):
        before, after = was.get(field_id), now.get(field_id)
        if before is None and after is not None:
            yield f"added {after.name} {after.type.sql()}"
        elif after is None and before is not None:
            yield f"dropped {before.name}"
        elif before is not None and after is not None:
            if before.name != after.name:
                yield f"renamed {before.name} to {after.name}"
            if before.type != after.type:
                yield f"{after.name}: {before.type.sql()} became {after.type.sql()}"
