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

    It takes no filters: Spark 4 keeps one reader for all uses of a frame, and each push of filters replaces it. A frame
    that is used with two conditions in one query, or again without one, would be read with those that came last.
    """

    def __init__(self, table: Table, shown: StructType, *, parallelism: int) -> None:
        self._table = table
        self._shown = shown
        self._parallelism = parallelism
        self._facts: TableFacts = table.facts

    def __getstate__(self) -> dict[str, object]:
        """Tasks get the splits one by one, and all other facts of the plan with the reader."""
        state = {key: value for key, value in self.__dict__.items() if key != "_table"}
        if "_plan" in state:
            state["_plan"] = self._plan.without_splits
        return state

    @cached_property
    def _plan(self) -> Plan:
        return self._table.scan(columns=self._shown.names).plan()

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """The splits, in groups of which each is for a task, as those of ``Lake.table``."""
        scan = self._facts.options.scan
        return [_Splits(group) for group in grouped_splits(self._plan.splits, scan, parallelism=self._parallelism)]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the splits of a task, with exactly the columns asked for."""
        if not isinstance(partition, _Splits):
            return  # Spark asks so when there is nothing to read
        plan = self._plan
        for split in partition.splits:
            for batch in read_planned(self._facts, plan, split):
                yield in_types_of(batch, self._shown)
        settle()
