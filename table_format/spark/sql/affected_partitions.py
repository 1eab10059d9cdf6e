"""Which partitions of a materialized table a change of its sources can affect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from table_format.materialized.refreshes import Refresh, digest_of
from table_format.materialized.source_changes import SourceChanges, changes_since
from table_format.materialized.sources import SourceState
from table_format.materialized.table import MaterializedTable
from table_format.model.types import (
    BigIntType,
    BooleanType,
    DataField,
    DateType,
    DecimalType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from table_format.options.bucket_mode import CrossPartition
from table_format.spark.read.conditions import literal
from table_format.spark.sql.session import SqlSession
from table_format.spark.types import spark_type
from table_format.sql.row_origins import Origin, origins_in
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST: Final = 200
"""The maximum number of partitions that are replaced one by one."""

_MOST_OF_SOURCE: Final = 1000
"""The maximum number of partitions of a source whose values are computed without reading rows."""

_TYPES: Final = (VarCharType, TinyIntType, SmallIntType, IntType, BigIntType, DecimalType, DateType, BooleanType)
"""Types of partition columns whose values have one form in Spark, in Python and in the table."""


class NotByPartitions(Exception):
    """Why a refresh has to replace all rows."""


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    facts: TableFacts
    changes: SourceChanges


def affected_partitions(
    session: SqlSession, found: MaterializedTable, facts: TableFacts, states: Mapping[str, SourceState]
) -> Sequence[Mapping[str, object]]:
    """Return the partitions of a materialized table, whose rows the states of its sources may have changed.

    Each has values of some or of all partition columns. All other rows of the table are those that the query would
    return at these states.

    Raises:
        NotByPartitions: this cannot be told without running the whole query.
    """
    refresh = _base(found, facts)
    sources = {name: session.data_table(name).facts for name in found.sources}
    source = _changed_source(sources, refresh, states)
    columns = {name: each.schema.field_names for name, each in sources.items()}
    origins = origins_in(found.query, source.name, columns, facts.schema.partition_keys)
    fields = [facts.schema.field(name) for name in origins]
    origins = {field.name: origins[field.name] for field in fields if isinstance(field.type, _TYPES)}
    rows, usable = _changed_rows(session, source, origins)
    values = rows.select(*(_value(origins[name], facts.schema.field(name)) for name in usable)).distinct()
    partitions = [row.asDict() for row in values.limit(_MOST + 1).collect()]
    if not 0 < len(partitions) <= _MOST:
        message = f"more than {_MOST} partitions are affected" if partitions else "no changed row was found"
        raise NotByPartitions(message)
    return partitions


def _base(found: MaterializedTable, facts: TableFacts) -> Refresh:
    if not facts.schema.partition_keys:
        message = "the table has no partitions"
        raise NotByPartitions(message)
    if isinstance(facts.bucket_mode, CrossPartition):
        message = "the primary key lacks partition columns"
        raise NotByPartitions(message)
    if found.refresh is None or found.refresh.query_digest != digest_of(found.query):
        message = "no earlier refresh of the query is known"
        raise NotByPartitions(message)
    if found.nondeterministic is not None:
        message = f"the value of {found.nondeterministic} differs from one run to the next"
        raise NotByPartitions(message)
    return found.refresh


def _changed_source(sources: Mapping[str, TableFacts], refresh: Refresh, states: Mapping[str, SourceState]) -> _Source:
    """Return the only source with other rows than the refresh before has read."""
    changed = []
    for name, state in states.items():
        read = refresh.consumed.get(name)
        if read is None or state.follows or state.is_altered or refresh.schemas.get(name) != state.schema_id:
            message = f"{name} has another schema, or options that name what is read"
            raise NotByPartitions(message)
        if state.consumed == read:
            continue
        changes = None if state.snapshot is None else changes_since(sources[name], read, state.snapshot)
        if changes is None:
            message = f"the commits to {name} since snapshot {read.id} are not all known"
            raise NotByPartitions(message)
        changed += [_Source(name, sources[name], changes)] if changes.partitions else []
    if len(changed) != 1:
        names = ", ".join(source.name for source in changed)
        message = f"{len(changed)} sources have changed: {names}" if changed else "no source has changed"
        raise NotByPartitions(message)
    return changed[0]


def _changed_rows(
    session: SqlSession, source: _Source, origins: Mapping[str, Origin]
) -> tuple[DataFrame, Sequence[str]]:
    """Return rows of the source that have all values of the changed ones, and the columns that they determine."""
    schema, changes = source.facts.schema, source.changes
    by_partition = [name for name, origin in origins.items() if origin.columns <= frozenset(schema.partition_keys)]
    if by_partition and len(changes.partitions) <= _MOST_OF_SOURCE:
        return _partition_rows(session, source), by_partition
    fixed = frozenset(schema.primary_keys or schema.field_names)
    by_row = [name for name, origin in origins.items() if origin.columns <= fixed]
    if not by_row:
        row = "the key of a row" if schema.primary_keys else "a row"
        message = f"no partition column is computed from {row} of {source.name} alone"
        raise NotByPartitions(message)
    if not changes.are_rows:
        message = f"rows of {source.name} were not only added"
        raise NotByPartitions(message)
    used = sorted({column for name in by_row for column in origins[name].columns})
    span = {
        "incremental-between": f"{changes.first_id},{changes.last_id}",
        "incremental-between-scan-mode": "delta",
    }
    return session.table(f"{source.name}$audit_log", columns=used, **span), by_row


def _partition_rows(session: SqlSession, source: _Source) -> DataFrame:
    fields = [source.facts.schema.field(name) for name in source.facts.schema.partition_keys]
    rows = [
        F.struct(*(literal(value, f.type).alias(f.name) for value, f in zip(values, fields, strict=True)))
        for values in map(source.facts.partitions.values, sorted(source.changes.partitions))
    ]
    return session.spark.range(1).select(F.inline(F.array(*rows)))


def _value(origin: Origin, field: DataField) -> Column:
    return F.expr(origin.expression).cast(spark_type(field.type)).alias(field.name)
