"""The state of a table that a statement reads, as a DataFrame. It is planned when its columns and rows are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pyspark.errors.exceptions.captured import CapturedException

from table_format.errors import UnsupportedFeature
from table_format.model.predicate import Predicate, columns_of, conjunction
from table_format.model.row_order import RowLimit
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.bucket_mode import Postponed
from table_format.spark.names import quoted
from table_format.spark.read.classic_frames import classic_frame
from table_format.spark.read.frames import pruned_frame
from table_format.spark.read.metadata_columns import columns_of_hidden, located_frame, metadata_fields, without_hidden
from table_format.spark.read.numbered_rows import NUMBERS, numbered_frame
from table_format.spark.tasks.bucket_jobs import buckets_in_tasks
from table_format.spark.tasks.code_shipping import is_connect
from table_format.table.changes.row_actions import latest_state, require_known_columns
from table_format.table.changes.whole_state import whole_state
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting
from table_format.table.upkeep.bucket_compaction import Work, compact, perform_work
from table_format.table.upkeep.redistribution import MAX_READERS
from table_format.table.write.batch_commit import fresh_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from table_format.errors import BucketLost
    from table_format.model.commit import CommitMessage

RESERVED: str = "__dml_"
"""The prefix of internal column names in this package."""


@contextmanager
def without_reserved_names() -> Iterator[None]:
    """Leave internal columns out of the columns that an error of Spark suggests."""
    try:
        yield
    except CapturedException as error:
        error._desc = re.sub(rf", (`[^`]+`\.)?`{RESERVED}\w+`", "", error._desc)
        raise


def check_names(schema: TableSchema, where: str) -> None:
    """Refuse a table with a column whose name is reserved for statements.

    Raises:
        UnsupportedFeature: a name is reserved; the message names the column.
    """
    for name in schema.field_names:
        if name.lower().startswith(RESERVED):
            feature = f"a statement on Spark on a table with a column {name}"
            message = f"{where}: column '{name}' has a name that is reserved for statements on Spark; rename it"
            raise UnsupportedFeature(feature, message)


@dataclass(frozen=True)
class TargetScan:
    """All rows committed up to a snapshot; on a table without a primary key, with ``NUMBERS`` for each row.

    ``hidden`` are the metadata columns that the statement names. Rows that do not match ``bounds`` are left out.
    ``plans`` holds the plans of its DataFrames.
    """

    spark: SparkSession
    facts: TableFacts
    start: Starting
    hidden: tuple[str, ...] = ()
    bounds: Predicate | None = None
    plans: list[Plan] = field(default_factory=list, compare=False)

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key."""
        return self.start.schema.is_primary_key_table

    @cached_property
    def fields(self) -> tuple[DataField, ...]:
        """The columns."""
        schema = self.start.schema
        known = metadata_fields(schema)
        return (*schema.fields, *(() if self.is_keyed else NUMBERS), *(known[name] for name in self.hidden))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.fields)

    def frame(
        self,
        columns: Sequence[str] | None = None,
        pruning: Predicate | None = None,
        *,
        is_limited: bool = False,
        limit: RowLimit | None = None,  # noqa: ARG002 - a statement needs all rows
        note: Callable[[str], None] | None = None,
    ) -> DataFrame:
        """Return some of the columns, without some of the rows that do not match ``pruning``. The caller must test
        ``pruning`` again.

        Raises:
            SnapshotExpired: the snapshot has expired.
            SchemaChanged: rows have a newer schema, and the older one would truncate their values.
            CorruptionError: a manifest or a deletion vector is missing or damaged.
            UnsupportedFeature: a metadata column is requested for rows that are merged from several files.
        """
        schema = self.start.schema
        shown = self.names if columns is None else tuple(columns)
        hidden = [name for name in self.hidden if name in shown]
        asked = {*shown, *columns_of_hidden(schema, hidden)}
        wanted = tuple(name for name in schema.field_names if name in asked) or self._one_column
        needed = frozenset[str]() if self.bounds is None else columns_of(self.bounds)
        tested = tuple(sorted(needed.difference(wanted)))
        parts = (self.bounds, without_hidden(pruning, schema))
        both = conjunction(tuple(part for part in parts if part is not None))
        latest = latest_state(self.facts)
        plan = state_plan(latest, self.start, (*wanted, *tested), both, min_level=0 if self.is_keyed else None)
        require_known_columns(self.facts, plan)
        self.plans.append(plan)
        if hidden:
            rows = located_frame(self.spark, latest, plan, hidden, tested=self.bounds)
        elif self.is_keyed:
            rows = pruned_frame(self.spark, latest, plan, tested=self.bounds, is_limited=is_limited, note=note)
        else:
            rows = numbered_frame(self.spark, latest, plan, tested=self.bounds)
        listed = list(shown or wanted)
        return rows if rows.columns == listed else rows.select(*map(quoted, listed))

    @property
    def _one_column(self) -> tuple[str, ...]:
        """A column for counting rows: one of the key, which merging reads anyway."""
        schema = self.start.schema
        return (schema.primary_keys or schema.field_names)[:1]


def latest_target(spark: SparkSession, facts: TableFacts, hidden: tuple[str, ...] = ()) -> TargetScan:
    """Return the latest state. Spark tasks first assign the buckets of postponed rows, in a separate commit. ``hidden``
    are the metadata columns that the statement needs.

    Raises:
        ConflictError: postponed rows arrived faster than buckets could be assigned.
    """
    if not isinstance(facts.bucket_mode, Postponed):
        return TargetScan(spark, facts, Starting(facts.snapshots.latest(), facts.schema), hidden)

    def place_rows(latest: TableFacts) -> None:
        def perform(pieces: Sequence[Work]) -> Iterator[CommitMessage | BucketLost]:
            return buckets_in_tasks(spark, pieces, partial(perform_work, latest, full=False))

        compact(latest, fresh_user(latest), perform=perform, shares=MAX_READERS)

    scan = whole_state(latest_state(facts), None, place_rows)
    return TargetScan(spark, facts, Starting(scan.plan().snapshot, facts.schema), hidden)


def target_frame(scan: TargetScan) -> DataFrame:
    """Return the DataFrame of a scan. In a classic session, it reads only the columns and rows that a query needs."""
    return scan.frame() if is_connect(scan.spark) else classic_frame(scan)
