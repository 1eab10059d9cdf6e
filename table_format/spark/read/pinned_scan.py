"""One state of a table that frames are made of: of the columns and rows that a query needs, planned when it is known.

``Lake.table`` finds the snapshot and nothing more. Each frame derived from it reads that snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.predicate import Predicate, columns_of, conjunction
from table_format.model.types import DataField
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode, startup_mode
from table_format.spark.names import quoted
from table_format.spark.read.frames import pruned_frame
from table_format.spark.read.spark_parquet import nullable
from table_format.spark.types import spark_schema
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting, starting_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class PinnedScan:
    """The rows of one snapshot that meet ``predicate``, with the columns ``fields``."""

    spark: SparkSession
    facts: TableFacts
    start: Starting
    fields: tuple[DataField, ...]
    predicate: Predicate | None

    @classmethod
    def of(
        cls, spark: SparkSession, facts: TableFacts, columns: Sequence[str] | None, filter: str | Predicate | None
    ) -> PinnedScan | None:
        """The scan of the snapshot that the options name; ``None`` where a scan is more than the state of one snapshot.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
        """
        branch = facts.options.scan.fallback_branch
        if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL or branch is not None:
            return None
        require_same_table(facts.store)
        facts.require(Operation.READ)
        start = starting_point(facts)
        if start.snapshot is None:
            return None
        fields = start.schema.fields if columns is None else start.schema.select(columns)
        return cls(spark, facts, start, fields, bound_filter(filter, start.schema.fields))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def spark_schema(self) -> StructType:
        """The columns as frames have them: all admit nulls, whoever reads them.

        Raises:
            UnsupportedFeature: Spark has no such type.
        """
        return spark_schema([nullable(field) for field in self.fields])

    def frame(self, columns: Sequence[str] | None = None, pruning: Predicate | None = None) -> DataFrame:
        """Some of the columns, without some of the rows that do not meet ``pruning``: the caller tests it once more.

        Without columns there is one, for its rows to be counted.

        Raises:
            SnapshotExpired: the snapshot was expired since it was found.
            CorruptionError: a manifest or a deletion vector is missing or damaged.
        """
        wanted = self.names if columns is None else tuple(columns) or self._one_column
        needed = frozenset[str]() if self.predicate is None else columns_of(self.predicate)
        hidden = tuple(sorted(needed.difference(wanted)))
        both = conjunction(tuple(part for part in (self.predicate, pruning) if part is not None))
        plan = state_plan(self.facts, self.start, (*wanted, *hidden), both)
        rows = pruned_frame(self.spark, self.facts, plan, tested=self.predicate)
        return rows.select(*(quoted(name) for name in wanted)) if hidden else rows

    @property
    def _one_column(self) -> tuple[str, ...]:
        """A column to count rows by: one of the key, which is read in any case where rows are merged."""
        return tuple(name for name in self.start.schema.primary_keys if name in self.names)[:1] or self.names[:1]
