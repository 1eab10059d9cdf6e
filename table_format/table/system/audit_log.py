"""``$audit_log``: the rows of a table with their kinds (format chapter 14; Java ``AuditLogTable``).

Of a state, it shows the last version of each key, including deletes that no compaction has removed; with
``incremental-between``, every change. A condition may name ``rowkind``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from table_format.kernels.predicate import matches
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, columns_of, conjunction, conjuncts
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.unread import Reader
from table_format.table.facts import TableFacts
from table_format.table.read.changelog_rows import read_changes
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.rows.row_kinds import ROW_KIND, kind_texts
from table_format.table.system.log_scan import LogScan
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


@dataclass(frozen=True, slots=True)
class AuditLogTable(SystemTable):
    """The audit log of ``table``."""

    table: Table

    @property
    def name(self) -> str:
        """The name of the table with its suffix."""
        return f"{self.table.identifier}$audit_log"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return (ROW_KIND, *self.table.schema.fields)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> AuditLogScan:
        """Scan some columns (by default all), and the rows that a filter selects; see ``Table.scan``."""
        table = self.table.for_reader(Reader.BATCH, options or {})
        return AuditLogScan(table.facts, columns_argument(columns), filter)


class AuditLogScan(LogScan):
    """A scan of an audit log. The table prunes by conditions that do not name row kinds."""

    def _columns_of(self, fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        return (ROW_KIND, *fields)

    def _reading(self) -> Scan:
        on_rows = tuple(part for part in conjuncts(self._predicate) if ROW_KIND.name not in columns_of(part))
        wanted = {f.name for f in self.fields}.union(*(columns_of(part) for part in self._on_kinds))
        names = [f.name for f in self._available if f.name in wanted and f != ROW_KIND]
        return Scan(self.facts, tuple(names), conjunction(on_rows))

    def _reader(self, facts: TableFacts, plan: Plan) -> Callable[[DataSplit], Generator[pa.RecordBatch]]:
        return partial(_read, facts, plan, self.fields, conjunction(self._on_kinds), self._available)

    @property
    def _on_kinds(self) -> tuple[Predicate, ...]:
        return tuple(part for part in conjuncts(self._predicate) if ROW_KIND.name in columns_of(part))


def _read(
    facts: TableFacts,
    plan: Plan,
    fields: Sequence[DataField],
    on_kinds: Predicate | None,
    available: Sequence[DataField],
    split: DataSplit,
) -> Generator[pa.RecordBatch]:
    names = [f.name for f in fields]
    changes = read_changes(facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields, plan.pruning)
    for batch in changes:
        shown = kind_texts(batch, plan.fields)
        if on_kinds is not None:
            shown = shown.filter(matches(on_kinds, shown, available))
        if shown.num_rows:
            yield shown.select(names)
