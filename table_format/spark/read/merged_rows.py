"""Chooses how the merged files of a plan are read, and finds the positions that this needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from table_format.lsm.hidden_rows import keeps_stored_rows
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Compare, CompareOp, In, columns_of, conjuncts
from table_format.model.split import DataSplit
from table_format.options.spark_read import MergedRead
from table_format.spark.read.merged_rows_rule import (
    MIN_ROWS_OF_FILE,
    MIN_SMALL_FILES,
    Choice,
    MergedFiles,
    choose,
    reconsidered,
)
from table_format.spark.read.positions import MAX_ROWS_IN_DRIVER, Comparison, Positions
from table_format.spark.read.spark_parquet import is_merged, is_readable
from table_format.spark.tasks.code_shipping import is_connect
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def chosen_way(
    spark: SparkSession, facts: TableFacts, plan: Plan, *, is_limited: bool
) -> tuple[Choice | None, Positions | None]:
    """Return the choice and, if it is by positions, the positions; ``None`` if no file of the plan is merged.

    Raises:
        CorruptionError: a file or a deletion vector is missing or damaged.
        RetractNotSupported: the merge engine cannot apply a retract row.
    """
    splits = [split for split in plan.splits if is_merged(split)]
    if not splits:
        return None, None
    wanted = facts.options.spark_read.merged_read
    may_find = wanted is not MergedRead.MERGE and keeps_stored_rows(plan.schema, facts.options)
    comparison = Comparison.of(facts, plan, splits) if may_find else None
    choice = choose(wanted, _files(spark, facts, plan, splits, comparison, is_limited=is_limited))
    if comparison is None or choice.way is MergedRead.MERGE:
        return choice, None
    positions = Positions(comparison.hidden(spark), frozenset(file.file_name for file in _small_files(splits)))
    stored = sum(split.row_count for split in splits)
    choice = reconsidered(wanted, choice, live=positions.live_rows(splits), stored=stored)
    return choice, positions if choice.way is MergedRead.POSITIONS else None


def _files(
    spark: SparkSession,
    facts: TableFacts,
    plan: Plan,
    splits: Sequence[DataSplit],
    comparison: Comparison | None,
    *,
    is_limited: bool,
) -> MergedFiles:
    rows = sum(split.row_count for split in splits)
    to_compare = rows if comparison is None else comparison.rows_to_compare
    is_large = to_compare > MAX_ROWS_IN_DRIVER
    return MergedFiles(
        rows=rows,
        rows_to_compare=to_compare,
        rows_of_small_files=sum(file.row_count for file in _small_files(splits)),
        columns=len(plan.fields),
        has_key_value=_has_key_value(plan),
        is_limited=is_limited and is_large,
        is_costly_to_compare=is_large and is_connect(spark),
        computes_values=not keeps_stored_rows(plan.schema, facts.options),
        is_readable_by_spark=is_readable(plan, facts, splits),
    )


def _has_key_value(plan: Plan) -> bool:
    """Return whether the filter fixes a key column to some values."""
    keys = frozenset(plan.schema.trimmed_primary_keys)
    return any(
        (isinstance(part, In) or (isinstance(part, Compare) and part.op is CompareOp.EQ)) and columns_of(part) <= keys
        for part in conjuncts(plan.predicate)
    )


def _small_files(splits: Sequence[DataSplit]) -> Sequence[DataFileMeta]:
    """Return the small files if there are many of them; Python reads these."""
    small = [file for split in splits for file in split.files if file.row_count < MIN_ROWS_OF_FILE]
    return small if len(small) >= MIN_SMALL_FILES else ()
