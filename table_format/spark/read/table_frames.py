"""Returns a table as a DataFrame of a classic or Connect session. The DataFrame remembers its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from table_format.errors import UnsupportedFeature
from table_format.model.arguments import name_or_names
from table_format.model.condition import Filter
from table_format.model.row_order import RowLimit
from table_format.spark.names import quoted
from table_format.spark.read.classic_frames import classic_frame
from table_format.spark.read.first_rows import first_rows_of
from table_format.spark.read.frames import frame_of
from table_format.spark.read.metadata_columns import MetadataScan, hidden_in, shown_fields
from table_format.spark.read.pinned_scan import PinnedScan
from table_format.spark.read.readable_names import first_columns
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.types import frame_schema
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.scan import Scan, shown_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table_frame(
    spark: SparkSession, facts: TableFacts, *, columns: Sequence[str] | None, filter: Filter | None
) -> DataFrame:
    """Return the rows of a table by its options. They are planned when they are needed.

    Changes, tables with a fallback branch, tables without a snapshot, and all tables on Spark Connect are planned now,
    with all requested columns. ``columns`` may name hidden ones (``read/metadata_columns.py``).

    Raises:
        NotFoundError: the snapshot or tag, or a column, does not exist.
        InvalidFilter: the filter cannot be parsed or does not fit the columns.
    """
    if hidden_in(columns, shown_schema(facts)):
        return _with_metadata(spark, facts, columns or (), filter)
    if not is_connect(spark):
        scan = PinnedScan.of(spark, facts, columns, filter)
        if scan is not None and scan.fields:
            return classic_frame(scan)
    return planned_frame(spark, facts, None, columns=columns, filter=filter)


def _with_metadata(spark: SparkSession, facts: TableFacts, columns: Sequence[str], filter: Filter | None) -> DataFrame:
    scan = MetadataScan.of(spark, facts, columns, filter)
    if scan is None:
        fields = shown_fields(shown_schema(facts), columns)
        return spark.createDataFrame([], frame_schema(fields))
    return scan.frame() if is_connect(spark) else classic_frame(scan)


def planned_frame(
    spark: SparkSession,
    facts: TableFacts,
    first: RowLimit | None,
    *,
    columns: Sequence[str] | None,
    filter: Filter | None,
) -> DataFrame:
    """Return the rows of a table, or the first ones in an order, planned now. Errors as ``Scan.plan``."""
    schema = shown_schema(facts)
    predicate = bound_filter(filter, schema.fields)
    if hidden_in(columns, schema):
        feature = "a metadata column of a read with a limit"
        raise UnsupportedFeature(feature)
    wanted = schema.field_names if columns is None else name_or_names(columns, "columns")
    plan = Scan(facts, wanted, predicate, limit=first).plan()
    frame = frame_of(spark, facts, plan)
    if first is not None:
        frame = first_rows_of(frame, first)
    return first_columns(frame, wanted) if len(plan.fields) > len(wanted) else frame


def with_columns(columns: Sequence[str] | None, frame_of: Callable[[Sequence[str] | None], DataFrame]) -> DataFrame:
    """Return a DataFrame with the requested columns, built by a function that takes each name once.

    Raises:
        InvalidInputError: ``columns`` is neither a name nor a sequence of names.
    """
    if columns is None:
        return frame_of(None)
    wanted = name_or_names(columns, "columns")
    once = tuple(dict.fromkeys(wanted))
    frame = frame_of(once)
    # Spark refuses a schema with duplicate names, but a DataFrame may select a column several times.
    return frame if once == wanted else frame.select(*map(quoted, wanted))
