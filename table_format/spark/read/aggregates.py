"""Computes aggregates of a table in Spark tasks. They read the necessary files and, if there are many, the indexes.

The result is that of ``Scan.aggregate``. Each task computes totals of its splits, and the driver adds them up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from table_format.kernels.totals import Wanted
from table_format.model.condition import Filter
from table_format.model.split import DataSplit
from table_format.options.file_index import READ_ENABLED
from table_format.spark.read.task_groups import grouped
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.task_results import RESULT_DDL
from table_format.spark.tasks.total_results import gathered_totals, total_result
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.table.facts import TableFacts
from table_format.table.read.aggregates import (
    Aggregates,
    Aggregation,
    Totals,
    aggregates_of,
    known_totals,
    totals_of_splits,
)
from table_format.table.read.plan import Plan
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_INDEXES_ON_DRIVER: Final = 64
"""Maximum number of index files that the driver reads. With more, starting a job is faster."""


def aggregate_on_spark(
    spark: SparkSession,
    table: Table,
    aggregates: Mapping[str, tuple[str, str]],
    *,
    group_by: str | None,
    filter: Filter | None,
) -> Aggregates:
    """Return the aggregates of a table. Results and errors are those of ``Scan.aggregate``.

    If recorded row counts and a few indexes provide the result, no job is started.
    """
    facts = table.facts
    # If there are many indexes, the tasks read them, including those for the filter.
    first = table.scan(filter=filter, options={READ_ENABLED.key: "false"})
    plan, aggregation = first.aggregation(aggregates, group_by=group_by)
    is_large = _index_files(plan) > _MAX_INDEXES_ON_DRIVER
    if not is_large:
        plan, aggregation = table.scan(filter=filter).aggregation(aggregates, group_by=group_by)
    facts = facts.in_schema(plan.schema)
    known, rest = known_totals(facts, plan, aggregation.wanted, plan.splits)
    if not rest:
        return aggregates_of(plan, aggregation, known)
    used = _with_indexes(plan, facts) if is_large else plan
    groups = grouped(spark, rest, facts.options.scan)
    found = _in_tasks(spark, facts, used.without_splits, aggregation, groups)
    return aggregates_of(plan, aggregation, known.plus(found), tasks=len(groups))


def _index_files(plan: Plan) -> int:
    """Return the number of separate index files of the planned data files."""
    return sum(
        file.embedded_file_index is None and bool(file.extra_files) for split in plan.splits for file in split.files
    )


def _with_indexes(plan: Plan, facts: TableFacts) -> Plan:
    pruning = replace(plan.pruning, may_read_indexes=facts.options.file_index.read_enabled)
    fallback = None if plan.fallback is None else _with_indexes(plan.fallback, facts)
    return replace(plan, pruning=pruning, fallback=fallback)


def _in_tasks(
    spark: SparkSession,
    facts: TableFacts,
    plan: Plan,
    aggregation: Aggregation,
    groups: Sequence[Sequence[DataSplit]],
) -> list[Totals]:
    work = _totaller(facts, plan, aggregation.wanted, TaskInputs.of(groups))
    numbers = spark.range(0, len(groups), 1, len(groups))
    return list(gathered_totals(map_in_workers(numbers, work, RESULT_DDL).collect(), aggregation.wanted))


def _totaller(
    facts: TableFacts, plan: Plan, wanted: Wanted, groups: TaskInputs[Sequence[DataSplit]]
) -> Callable[[Batches], Batches]:
    """Compute the totals of the groups of splits with the given numbers. Return one row for each group."""

    def results(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            yield total_result(partial(totals_of_splits, facts, plan, wanted, groups[number]), wanted)

    return results
