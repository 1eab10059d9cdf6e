"""``$audit_log``: the rows of a table with their kinds (format chapter 14; Java ``AuditLogTable``).

Of a state it shows the last version of each key, deletes that have not been compacted away among them; with
``incremental-between`` every change. A condition may name ``rowkind``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import pyarrow as pa

from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.kernels.predicate import matches
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import And, Predicate, columns_of, conjuncts
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.table.changelog_rows import read_changes
from table_format.table.facts import TableFacts
from table_format.table.filters import bound_filter
from table_format.table.incremental import require_one_branch
from table_format.table.plan import Plan
from table_format.table.read import read_in_order
from table_format.table.row_kinds import ROW_KIND, kind_texts
from table_format.table.scan import Scan, columns_argument, shown_schema
from table_format.table.system.table import SystemScan, SystemTable
from table_format.table.table import Table

_SEQUENCE_NUMBERS: Final = "table-read.sequence-number.enabled"


@dataclass(frozen=True, slots=True)
class AuditLogTable(SystemTable):
    """The audit log of ``table``."""

    table: Table

    @property
    def name(self) -> str:
        return f"{self.table.identifier}$audit_log"

    @property
    def fields(self) -> tuple[DataField, ...]:
        return (ROW_KIND, *self.table.schema.fields)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        options: Mapping[str, str] | None = None,
    ) -> AuditLogScan:
        """A reading of some columns (all without) and of the rows a filter selects; see ``Table.scan``."""
        table = self.table.copy(options) if options else self.table
        return AuditLogScan(table.facts, columns_argument(columns), filter)


@dataclass(frozen=True)
class AuditLogScan(SystemScan):
    """One reading of an audit log; nothing happens before it is planned or read, and it is planned once."""

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: str | Predicate | None = None

    @cached_property
    def _plan(self) -> Plan:
        require_log(self.facts)
        # What does not ask for row kinds is asked of the table: it prunes, and is applied to final rows.
        on_rows = [part for part in conjuncts(self._predicate) if ROW_KIND.name not in columns_of(part)]
        names = [f.name for f in self._needed if f != ROW_KIND]
        return Scan(self.facts, tuple(names), _joined(on_rows)).plan()

    @cached_property
    def _available(self) -> tuple[DataField, ...]:
        return (ROW_KIND, *shown_schema(self.facts).fields)

    @cached_property
    def _predicate(self) -> Predicate | None:
        return bound_filter(self.filter, self._available)

    @cached_property
    def _needed(self) -> tuple[DataField, ...]:
        on_kinds = [part for part in conjuncts(self._predicate) if ROW_KIND.name in columns_of(part)]
        wanted = {f.name for f in self.fields}.union(*(columns_of(part) for part in on_kinds))
        return tuple(f for f in self._available if f.name in wanted)

    @cached_property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows.

        Raises:
            ColumnNotFound: there is no such column.
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
        """A function that gives the rows of one split; it travels between processes."""
        on_kinds = [part for part in conjuncts(self._predicate) if ROW_KIND.name in columns_of(part)]
        plan = replace(self._plan, splits=(), schemas=dict(self._plan.schemas), facts=None)
        return partial(_read, self.facts, plan, self.fields, _joined(on_kinds), self._available)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, in the order of the splits."""
        return read_in_order(self._plan.splits, self.split_reader())


def require_log(facts: TableFacts) -> None:
    """Refuse a log that would lack rows or columns.

    Raises:
        UnsupportedFeature: names the option that asks for them.
    """
    require_one_branch(facts)
    if facts.options.raw.get(_SEQUENCE_NUMBERS, "").strip().lower() == "true":
        feature = f"{_SEQUENCE_NUMBERS}=true"
        message = f"{feature}: {facts.name} asks for sequence numbers in its logs, which this version does not show"
        raise UnsupportedFeature(feature, message)


def chosen_fields(available: Sequence[DataField], columns: Sequence[str] | None) -> tuple[DataField, ...]:
    """The columns of those names, in that order; all without.

    Raises:
        ColumnNotFound: there is no such column.
    """
    if columns is None:
        return tuple(available)
    by_name = {f.name: f for f in available}
    for name in columns:
        if name not in by_name:
            message = f"column '{name}' does not exist; the columns are {', '.join(by_name)}"
            raise ColumnNotFound(message)
    return tuple(by_name[name] for name in columns)


def _read(
    facts: TableFacts,
    plan: Plan,
    fields: Sequence[DataField],
    on_kinds: Predicate | None,
    available: Sequence[DataField],
    split: DataSplit,
) -> Generator[pa.RecordBatch]:
    names = [f.name for f in fields]
    changes = read_changes(facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields, plan.predicate)
    for batch in changes:
        shown = kind_texts(batch, plan.fields)
        if on_kinds is not None:
            shown = shown.filter(matches(on_kinds, shown, available))
        if shown.num_rows:
            yield shown.select(names)


def _joined(parts: Sequence[Predicate]) -> Predicate | None:
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
