"""Creates streaming DataFrames of tables, and streaming queries into tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from pyspark.sql.types import StructType

from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.model.arguments import name_or_names
from table_format.model.identifier import branch_suffix
from table_format.spark.stream.commit_users import CHECKPOINT, QUERY_ID, user_of
from table_format.spark.stream.shown import with_row_kind
from table_format.spark.stream.targets import TARGET
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.types import spark_schema
from table_format.table.rows.row_kinds import ROW_KIND
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

OutputMode = Literal["append", "update", "complete"]

WriteBatch = Callable[["DataFrame", int, str], object]
"""Writes a micro-batch, given its rows, its number and the commit user."""


def streaming_frame(spark: SparkSession, table: Table, columns: Sequence[str] | None) -> DataFrame:
    """Return the rows of a table as a streaming DataFrame.

    Raises:
        InvalidInputError: no column is selected.
        ColumnNotFound: a column does not exist.
    """
    facts = table.facts
    columns = None if columns is None else name_or_names(columns, "columns")
    if columns is not None and not columns:
        message = f"a stream of {facts.name} without columns is not supported; name at least one column"
        raise InvalidInputError(message)
    if columns is not None and facts.options.spark_stream.read_changelog:
        columns = tuple(name for name in columns if name != ROW_KIND.name)
    fields = facts.schema.fields if columns is None else facts.schema.select(columns)
    shown: StructType = with_row_kind(facts, spark_schema(fields))
    reader = spark.readStream.format("paimon").schema(shown).options(**table.dynamic_options)
    return reader.load(_path(table))


def start_query(
    frame: DataFrame,
    table: Table,
    write: WriteBatch,
    *,
    checkpoint: str,
    output_mode: OutputMode,
    trigger: Mapping[str, bool | str] | None,
    query_name: str | None,
) -> StreamingQuery:
    """Start a query that writes each micro-batch once.

    In a classic session, ``write`` is called in this process. On Connect, the sink of ``format("paimon")`` writes.

    Raises:
        InvalidInputError: the output mode does not exist.
        UnsupportedFeature: the mode is ``update`` on Connect, where Spark does not support it for Python data sources.
    """
    if output_mode not in get_args(OutputMode):
        message = f"output mode '{output_mode}' is not known; modes are {', '.join(get_args(OutputMode))}"
        raise InvalidInputError(message)
    writer = frame.writeStream.outputMode(output_mode).option(CHECKPOINT, checkpoint)
    if trigger is not None:
        writer = writer.trigger(**trigger)  # type: ignore[arg-type]  # one of Spark's triggers
    if query_name is not None:
        writer = writer.queryName(query_name)
    if is_connect(frame.sparkSession):
        if output_mode == "update":
            feature = "output mode 'update' on Spark Connect"
            raise UnsupportedFeature(feature, f"{feature} is not supported; write with foreachBatch and Lake.write")
        target = {} if table.store.identity is None else {TARGET: table.store.identity}
        return writer.format("paimon").options(**table.dynamic_options, **target).start(_path(table))

    def write_batch(batch: DataFrame, number: int) -> None:
        query_id = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        if query_id is None:
            message = f"the local property '{QUERY_ID}' of Spark does not contain the id of the query"
            raise InvalidInputError(message)
        write(batch, number, user_of(query_id))

    return writer.foreachBatch(write_batch).start()


def _path(table: Table) -> str:
    """Return the path of a table or a branch for ``load`` and ``start``."""
    return f"{table.location}{branch_suffix(table.store.paths.branch)}"
