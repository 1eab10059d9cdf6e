"""Reads format tables on Spark: with Spark's own file readers, or with tasks of this library where those differ.

Spark's readers prune columns and partitions when the plan of a query is known. They do not read what Java writes into
JSON (numbers as text), and the names of partitions that Hive does not use. The kinds of times in Parquet and ORC files
differ between engines. Such tables, and those of text, are read by tasks, one for each file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from table_format.format_table.table import FormatTable
from table_format.model.condition import Filter
from table_format.model.predicate import columns_of
from table_format.model.types import AnyTimestampType, BytesType, DataField, DateType, TextType, types_in
from table_format.options.format_table import HIVE_NULL_PARTITION, PERMISSIVE
from table_format.spark.names import column
from table_format.spark.read.conditions import condition
from table_format.spark.read.frames import no_rows
from table_format.spark.read.readable_names import first_columns
from table_format.spark.read.split_frames import split_frame
from table_format.spark.tasks.spark_reach import spark_reaches
from table_format.spark.types import frame_schema
from table_format.table.read.filters import bound_filter

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_COLUMNAR: Final = ("parquet", "orc")


def format_frame(
    spark: SparkSession,
    table: FormatTable,
    *,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,
    limit: int | None = None,
) -> DataFrame:
    """Return rows of a format table. Files are listed now, and read when Spark runs the DataFrame.

    Raises:
        ColumnNotFound, InvalidFilter: a column does not exist, or the filter does not fit.
        UnsupportedFeature: Spark does not have the type of a column.
    """
    fields = table.schema.fields
    predicate = bound_filter(filter, fields)
    wanted = table.schema.field_names if columns is None else tuple(columns)
    table.schema.select(wanted)
    if not is_native(table):
        hidden = sorted((columns_of(predicate) if predicate else frozenset()).difference(wanted))
        frame = first_columns(split_frame(spark, table.scan((*wanted, *hidden), predicate)), wanted)
    else:
        frame = _native(spark, table)
        if predicate is not None:
            frame = frame.where(condition(predicate, fields))
        frame = frame.select(*map(column, wanted))
    return frame if limit is None else frame.limit(limit)


def is_native(table: FormatTable) -> bool:
    """Return whether Spark's own reader shows the same rows as this library."""
    options, fields = table.options, table.schema.fields
    if not spark_reaches(table.io) or options.only_values_in_path:
        return False
    if table.partition_keys and not _hive_names(table):
        return False
    if options.file_format in _COLUMNAR:
        return not any(isinstance(part, AnyTimestampType) for field in fields for part in types_in(field.type))
    has_quotes = options.quote_character is not None or options.escape_character is None
    return options.file_format == "csv" and options.mode == PERMISSIVE and has_quotes


def _hive_names(table: FormatTable) -> bool:
    """Return whether the directories of partitions have names as in Hive."""
    options = table.options
    keys = table.schema.partition_fields
    is_dated = any(isinstance(field.type, DateType | AnyTimestampType) for field in keys)
    is_readable = not (is_dated and options.partition_legacy_name)
    return options.partition_default_name == HIVE_NULL_PARTITION and is_readable


def _native(spark: SparkSession, table: FormatTable) -> DataFrame:
    schema = frame_schema(table.schema.fields)
    if table.io.status(table.root) is None:
        return no_rows(spark, schema)
    options, name = table.options, table.options.file_format
    if name in _COLUMNAR:
        return spark.read.schema(schema).format(name).load(table.root).select(*map(column, schema.names))
    stored = [field for field in table.schema.fields if field.name not in table.partition_keys]
    texts = {field.name for field in stored}
    reader = spark.read.schema(StructType([_text(f.name) if f.name in texts else f for f in schema.fields]))
    given_options = {
        "sep": options.field_delimiter,
        "quote": options.quote_character or "",
        "escape": options.escape_character or "\0",
        "header": str(options.header).lower(),
        "nullValue": options.null_literal,
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        "mode": "PERMISSIVE",
    }
    frame = reader.options(**given_options).csv(table.root)
    typed = {field.name: _typed(field, options.null_literal).alias(field.name) for field in stored}
    return frame.select(*(typed.get(name, column(name)) for name in schema.names))


def _text(name: str) -> StructField:
    return StructField(name, StringType())


def _typed(field: DataField, null_literal: str) -> Column:
    """Return the value of a text; null if the text is not a value of the column."""
    text = F.nullif(column(field.name), F.lit(null_literal))
    if isinstance(field.type, TextType):
        return text
    if isinstance(field.type, BytesType):
        return F.try_to_binary(text, F.lit("base64"))
    return text.try_cast(frame_schema([field]).fields[0].dataType)
