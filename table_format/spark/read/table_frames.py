"""A table as a frame of either kind of session, which remembers what it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from table_format.model.arguments import name_or_names
from table_format.model.predicate import Predicate, columns_of
from table_format.model.row_order import RowLimit
from table_format.spark.names import quoted
from table_format.spark.read.classic_frames import classic_frame
from table_format.spark.read.first_rows import first_rows_of
from table_format.spark.read.frames import frame_of
from table_format.spark.read.pinned_scan import PinnedScan
from table_format.spark.tasks.code_shipping import is_connect
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.scan import Scan, shown_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table_frame(
    spark: SparkSession, facts: TableFacts, *, columns: Sequence[str] | None, filter: str | Predicate | None
) -> DataFrame:
    """The rows of a table, as its options say, planned when they are needed.

    Changes, tables with a fallback branch, tables without a snapshot, and all tables on Spark Connect are planned now,
    with all columns that are asked for.

    Raises:
        NotFoundError: the snapshot or tag, or a column, does not exist.
        InvalidFilter: the filter cannot be parsed or does not fit the columns.
    """
    wanted = None if columns is None else name_or_names(columns, "columns")
    if not is_connect(spark):
        scan = PinnedScan.of(spark, facts, wanted, filter)
        if scan is not None and scan.fields:
            return classic_frame(scan)
    return planned_frame(spark, facts, None, columns=wanted, filter=filter)


def planned_frame(
    spark: SparkSession,
    facts: TableFacts,
    first: RowLimit | None,
    *,
    columns: Sequence[str] | None,
    filter: str | Predicate | None,
) -> DataFrame:
    """The rows of a table, or the first of them in an order, planned now; errors as for ``Scan.plan``."""
    schema = shown_schema(facts)
    predicate = bound_filter(filter, schema.fields)
    wanted = schema.field_names if columns is None else name_or_names(columns, "columns")
    needed = columns_of(predicate) if predicate is not None else frozenset()
    plan = Scan(facts, (*wanted, *sorted(needed.difference(wanted))), predicate, limit=first).plan()
    frame = frame_of(spark, facts, plan)
    if first is not None:
        frame = first_rows_of(frame, first)
    return frame.select(*(quoted(name) for name in wanted)) if len(plan.fields) > len(wanted) else frame
