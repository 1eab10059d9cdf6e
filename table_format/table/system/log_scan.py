"""Reads the log of a table: its changes, or its state with deletes (format chapter 14)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.incremental import require_one_branch
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan, shown_schema
from table_format.table.read.split_reader import read_in_order
from table_format.table.system.table import SystemScan, chosen_fields

_SEQUENCE_NUMBERS: Final = "table-read.sequence-number.enabled"


@dataclass(frozen=True)
class LogScan(SystemScan):
    """A scan of a log. It is planned when it is first planned or read, and only once."""

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: Filter | None = None

    @abstractmethod
    def _columns_of(self, fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        """All columns of the log of a table with these."""

    @abstractmethod
    def _reading(self) -> Scan:
        """The scan of the table."""

    @abstractmethod
    def _reader(self, facts: TableFacts, plan: Plan) -> Callable[[DataSplit], Generator[pa.RecordBatch]]:
        """Return a function that reads the rows of one split of a plan; it can be sent to other processes."""

    @cached_property
    def _available(self) -> tuple[DataField, ...]:
        return self._columns_of(shown_schema(self.facts).fields)

    @cached_property
    def _predicate(self) -> Predicate | None:
        return bound_filter(self.filter, self._available)

    @cached_property
    def _plan(self) -> Plan:
        _require_log(self.facts)
        return self._reading().plan()

    @cached_property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows.

        Raises:
            ColumnNotFound: a column does not exist.
        """
        return chosen_fields(self._available, self.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self.fields)

    def plan(self) -> Plan:
        """The splits to read, which are those of the table.

        Raises:
            As ``Table.scan(...).plan``.
        """
        return self._plan

    def split_reader(self) -> Callable[[DataSplit], Generator[pa.RecordBatch]]:
        """Return a function that reads the rows of one split; it can be sent to other processes."""
        facts = self._plan.facts or self.facts
        return self._reader(facts, replace(self._plan, splits=(), schemas=dict(self._plan.schemas), facts=None))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, in the order of the splits."""
        return read_in_order(self._plan.splits, self.split_reader())


def _require_log(facts: TableFacts) -> None:
    require_one_branch(facts)
    if facts.options.raw.get(_SEQUENCE_NUMBERS, "").strip().lower() == "true":
        feature = f"{_SEQUENCE_NUMBERS}=true"
        message = f"{feature}: {facts.name} asks for sequence numbers in its logs, which this version does not show"
        raise UnsupportedFeature(feature, message)
