"""One state of a table as a source of DataFrames. It is planned when the columns and rows of a query are known.

``Lake.table`` only finds the snapshot. Each DataFrame derived from it reads that snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, columns_of, conjunction
from table_format.model.row_order import RowLimit
from table_format.model.types import DataField
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode, startup_mode
from table_format.spark.read.counted_rows import are_known, counted_rows
from table_format.spark.read.frames import pruned_frame
from table_format.spark.read.readable_names import first_columns
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.limit import limited
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting, checked_starting_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FrameSource(Protocol):
    """Rows from which DataFrames of a classic session are derived before they are planned."""

    @property
    def spark(self) -> SparkSession:
        """The session of the DataFrames."""
        ...

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    def frame(
        self,
        columns: Sequence[str] | None = None,
        pruning: Predicate | None = None,
        *,
        is_limited: bool = False,
        limit: RowLimit | None = None,
        note: Callable[[str], None] | None = None,
    ) -> DataFrame:
        """Return these columns in this order, without some of the rows that do not match ``pruning``.

        Without columns, the rows can only be counted. ``is_limited`` is true if few rows are needed, and ``limit``
        selects the rows that match ``pruning`` and are sufficient. ``note`` gets lines about which reader reads what.
        """
        ...


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
        cls, spark: SparkSession, facts: TableFacts, columns: Sequence[str] | None, filter: Filter | None
    ) -> PinnedScan | None:
        """Return the scan of the snapshot that the options name; ``None`` if the scan is not the state of one snapshot.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table uses a feature that reads do not support.
        """
        branch = facts.options.scan.fallback_branch
        if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL or branch is not None:
            return None
        facts.require(Operation.READ)
        start = checked_starting_point(facts)
        if start.snapshot is None:
            return None
        fields = start.schema.fields if columns is None else start.schema.select(columns)
        return cls(spark, facts.in_schema(start.schema), start, fields, bound_filter(filter, start.schema.fields))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in self.fields)

    def frame(
        self,
        columns: Sequence[str] | None = None,
        pruning: Predicate | None = None,
        *,
        is_limited: bool = False,
        limit: RowLimit | None = None,
        note: Callable[[str], None] | None = None,
    ) -> DataFrame:
        """Return some of the columns, without some of the rows that do not match ``pruning``. The caller must test
        ``pruning`` again.

        Without columns, the rows can only be counted. ``is_limited`` is true if few rows are needed, and ``limit``
        selects the rows that match ``pruning`` and are sufficient. ``note`` gets lines about which reader reads what.

        Raises:
            SnapshotExpired: the snapshot has expired since it was found.
            CorruptionError: a manifest or a deletion vector is missing or damaged.
        """
        wanted = self.names if columns is None else tuple(columns) or self._one_column
        needed = frozenset[str]() if self.predicate is None else columns_of(self.predicate)
        hidden = tuple(sorted(needed.difference(wanted)))
        both = conjunction(tuple(part for part in (self.predicate, pruning) if part is not None))
        plan = state_plan(self.facts, self.start, (*wanted, *hidden), both)
        if limit is not None:
            plan = limited(self.facts, plan, limit)
            if note is not None and plan.limited is not None:
                note(f"{self.facts.name}: {plan.limited}")
        if columns is not None and not is_limited:
            shown = self._known_by_partition(columns, both)
            counted = None if shown is None else counted_rows(self.spark, self.facts, plan, shown, self.predicate)
            if counted is not None:
                return first_columns(counted, tuple(columns))
        rows = pruned_frame(self.spark, self.facts, plan, tested=self.predicate, is_limited=is_limited, note=note)
        return first_columns(rows, wanted) if hidden else rows

    def _known_by_partition(self, columns: Sequence[str], condition: Predicate | None) -> tuple[DataField, ...] | None:
        """Return these columns, if partitions say their values and whether a row meets the condition."""
        fields = self.start.schema.fields
        needed = frozenset(columns) if condition is None else columns_of(condition) | frozenset(columns)
        if not are_known([field for field in fields if field.name in needed], self.facts.partitions.fields):
            return None
        return self.start.schema.select(columns)

    @property
    def _one_column(self) -> tuple[str, ...]:
        """A column for counting rows: one of the key, which merging reads anyway."""
        return tuple(name for name in self.start.schema.primary_keys if name in self.names)[:1] or self.names[:1]
