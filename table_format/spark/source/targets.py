"""Finds the table of ``df.write.format("paimon")``, and creates or alters it first if the write requires that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from pyspark.sql.types import StructField, StructType

from table_format.errors import InvalidInputError, TableNotFound, UnsupportedFeature
from table_format.format_table.table import no_format_table
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import Schema
from table_format.model.schema_change import SchemaChange
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.options.unread import Reader
from table_format.spark.source.places import Place
from table_format.spark.types import fields_of_spark, spark_schema
from table_format.spark.write.frames import check_frame
from table_format.spark.write.merged_schema import check_required, with_merged_schema
from table_format.spark.write.spelling import schema_with_names_of_table
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


@dataclass(frozen=True)
class Target:
    """A writable table, and its place if this write created it."""

    table: Table
    made_at: Place | None = None


def target_of(place: Place, rows: StructType) -> Target:
    """Return the table at a place, with its latest schema; create it if it does not exist.

    Raises:
        UnsupportedFeature: the table cannot be written this way.
        InvalidData: the columns do not fit the table.
        InvalidInputError: the table is a system table.
    """
    try:
        opened = no_format_table(place.catalog.load_any(place.name))
    except TableNotFound:
        target = Target(_made(place, rows), place)
    else:
        target = Target(_existing(place, opened))
    try:
        return Target(_checked(place, target.table, rows), target.made_at)
    except BaseException:
        if target.made_at is not None:
            target.made_at.drop()
        raise


def stream_target_of(place: Place, rows: StructType) -> Table:
    """Return the table at a place for a streaming write, which does not create it; otherwise like ``target_of``.

    Raises:
        TableNotFound: the table does not exist.
    """
    return _checked(place, _existing(place, no_format_table(place.catalog.load_any(place.name))), rows)


def _existing(place: Place, opened: Table | SystemTable) -> Table:
    if isinstance(opened, SystemTable):
        message = f"'{place.name}' is a system table, which is read-only"
        raise InvalidInputError(message)
    return opened.for_reader(Reader.WRITE, place.dynamic).current()


def _made(place: Place, rows: StructType) -> Table:
    """Create a table with the columns of the rows and the options of the write."""
    columns = StructType([_plain(field) for field in rows.fields if field.name != ROW_KIND_COLUMN])
    made = place.catalog.create_table(place.name, Schema(fields_of_spark(columns), (), (), dict(place.dynamic)))
    return made.copy({})


def _plain(field: StructField) -> StructField:
    return StructField(field.name, field.dataType, nullable=True)


def _checked(place: Place, table: Table, rows: StructType) -> Table:
    rows = schema_with_names_of_table(rows, table.facts)
    if table.options.write.merge_schema:
        check_required(table.schema, rows.names)

        def alter(_: str, changes: Sequence[SchemaChange]) -> Table:
            return place.catalog.alter_table(place.name, changes)

        table = with_merged_schema(table, rows, alter)
    check_writable(table)
    names = set(rows.names)
    missing = [field for field in table.schema.fields if field.name not in names]
    whole = [*rows.fields, *spark_schema(missing).fields] if table.options.write.merge_schema else rows.fields
    check_frame(StructType(list(whole)), table.facts)
    return table


def check_writable(table: Table) -> None:
    """Refuse a table that needs all rows of a bucket in one task.

    Raises:
        UnsupportedFeature: the table has dynamic buckets or keys that move between partitions, or writes must compact.
    """
    options, way_out = table.options, "write with Lake.write, which sends the rows of a bucket to one task"
    mode = table.facts.bucket_mode
    match mode:
        case Dynamic():
            feature = "writing dynamic buckets through format('paimon')"
            raise UnsupportedFeature(feature, f"{feature} is not supported: {table.identifier} has them; {way_out}")
        case CrossPartition():
            feature = "writing keys that may change their partition through format('paimon')"
            raise UnsupportedFeature(feature, f"{feature} is not supported: {table.identifier} has them; {way_out}")
        case Fixed() | Unaware() | Postponed():
            pass
        case _:
            assert_never(mode)
    compacts = options.compacts_by_lookup or options.compaction.full_compaction_delta_commits is not None
    if table.schema.is_primary_key_table and compacts and not options.compaction.write_only:
        feature = "compaction by a write through format('paimon')"
        message = f"{feature} is not supported, and the options of {table.identifier} require it; {way_out}"
        raise UnsupportedFeature(feature, f"{message}, or with write-only = true and compact afterwards")
