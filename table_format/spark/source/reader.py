"""The reader of a batch by ``format("paimon")``. Its tasks import this module, and nothing that only writers need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import datasource

from table_format.model.split import DataSplit
from table_format.spark.tasks.split_groups import grouped_splits
from table_format.spark.tasks.worker import settle
from table_format.spark.types import in_types_of
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from table_format.table.table import Table


@dataclass
class _Splits(datasource.InputPartition):
    """The splits that one task reads, one by one."""

    splits: Sequence[DataSplit]


class PaimonReader(datasource.DataSourceReader):
    """Plans on the driver, reads splits in tasks.

    It accepts no filters: Spark 4 has one reader for all uses of a DataFrame, and each pushdown of filters replaces the
    previous one. A DataFrame that is used with two conditions in one query, or again without a condition, would be read
    with the last ones.
    """

    def __init__(self, table: Table, shown: StructType, *, parallelism: int) -> None:
        self._table = table
        self._shown = shown
        self._parallelism = parallelism
        self._facts: TableFacts = table.facts

    def __getstate__(self) -> dict[str, object]:
        """Leave out the table and the splits: tasks get the splits one by one, the rest of the plan with the reader.

        Spark pickles the reader before it asks for the partitions, so this makes the plan.
        """
        plan = self._plan.without_splits
        return {key: value for key, value in self.__dict__.items() if key != "_table"} | {"_plan": plan}

    @cached_property
    def _plan(self) -> Plan:
        return self._table.scan(columns=self._shown.names).plan()

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """Return the splits in groups, one for each task, like ``Lake.table``."""
        scan = self._facts.options.scan
        return [_Splits(group) for group in grouped_splits(self._plan.splits, scan, parallelism=self._parallelism)]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the splits of a task, with exactly the requested columns."""
        if not isinstance(partition, _Splits):
            return  # Spark calls this even if there is nothing to read
        plan = self._plan
        for split in partition.splits:
            for batch in read_planned(self._facts, plan, split):
                yield in_types_of(batch, self._shown)
        settle()
