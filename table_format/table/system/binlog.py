"""``$binlog``: each change as a row of arrays, of an update before and after (format chapter 14; Java ``BinlogTable``).

A changelog has ``-U`` directly before its ``+U``; the two become one row of kind ``+U``. Every other change is a row of
arrays with one element.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from table_format.kernels.predicate import matches
from table_format.model.arrow_calls import concat_batches, list_array
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, columns_of
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND
from table_format.model.split import DataSplit, SplitContent
from table_format.model.types import ArrayType, DataField
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
class BinlogTable(SystemTable):
    """The binlog of ``table``."""

    table: Table

    @property
    def name(self) -> str:
        """The name of the table with its suffix."""
        return f"{self.table.identifier}$binlog"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return binlog_fields(self.table.schema.fields)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> BinlogScan:
        """Scan some columns (by default all), and the rows that a filter selects; see ``Table.scan``."""
        table = self.table.for_reader(Reader.BATCH, options or {})
        return BinlogScan(table.facts, columns_argument(columns), filter)


def binlog_fields(fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns of a binlog: ``rowkind`` and an array for each column."""
    arrays = (replace(f, type=ArrayType(element=f.type.with_nullable(True))) for f in fields)
    return (ROW_KIND, *arrays)


class BinlogScan(LogScan):
    """A scan of a binlog; conditions are on its arrays, so the table cannot prune by them."""

    def _columns_of(self, fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        return binlog_fields(fields)

    def _reading(self) -> Scan:
        wanted = {f.name for f in self.fields} | (columns_of(self._predicate) if self._predicate else frozenset())
        return Scan(self.facts, tuple(f.name for f in self._available[1:] if f.name in wanted))

    def _reader(self, facts: TableFacts, plan: Plan) -> Callable[[DataSplit], Generator[pa.RecordBatch]]:
        return partial(_read, facts, plan, self.fields, self._predicate, self._available)


def packed(batches: Iterable[pa.RecordBatch], fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """Rows with their kinds (``_VALUE_KIND``) as rows of arrays, with ``-U`` and the ``+U`` that follows it in one.

    >>> rows = {"v": pa.array([1, 2, 3], pa.int32()), "_VALUE_KIND": pa.array([1, 2, 0], pa.int8())}
    >>> from table_format.model.types import IntType
    >>> (batch,) = packed([pa.record_batch(rows)], [DataField(0, "v", IntType())])
    >>> batch.to_pydict()
    {'rowkind': ['+U', '+I'], 'v': [[1, 2], [3]]}
    """
    waiting: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = batch if waiting is None else concat_batches([waiting, batch])
        # The next row, which may be in another batch, decides whether an update is complete.
        last = rows.slice(rows.num_rows - 1)
        waiting = last if last.column(VALUE_KIND.name)[0].as_py() == RowKind.UPDATE_BEFORE else None
        rows = rows if waiting is None else rows.slice(0, rows.num_rows - 1)
        if rows.num_rows:
            yield _packed(rows, fields, pairs=True)
    if waiting is not None:
        yield _packed(waiting, fields, pairs=True)


def _packed(rows: pa.RecordBatch, fields: Sequence[DataField], *, pairs: bool) -> pa.RecordBatch:
    kinds = rows.column(VALUE_KIND.name).to_numpy()
    is_second = np.zeros(kinds.size, dtype=bool)
    if pairs:
        is_second[1:] = (kinds[:-1] == RowKind.UPDATE_BEFORE) & (kinds[1:] == RowKind.UPDATE_AFTER)
    starts = np.flatnonzero(~is_second)
    offsets = np.append(starts, kinds.size).astype(np.int32)
    schema = arrow_schema(binlog_fields(fields)[1:])
    arrays = [list_array(pa.array(offsets), rows.column(f.name), type=f.type) for f in schema]
    last_kinds = pa.array(kinds[offsets[1:] - 1], pa.int8())
    batch = pa.RecordBatch.from_arrays([*arrays, last_kinds], names=[*schema.names, VALUE_KIND.name])
    return kind_texts(batch, binlog_fields(fields)[1:])


def _read(
    facts: TableFacts,
    plan: Plan,
    fields: Sequence[DataField],
    predicate: Predicate | None,
    available: Sequence[DataField],
    split: DataSplit,
) -> Generator[pa.RecordBatch]:
    names = [f.name for f in fields]
    changes = read_changes(facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields)
    if split.content is SplitContent.CHANGES:
        rows = packed(changes, plan.fields)
    else:
        rows = (_packed(batch, plan.fields, pairs=False) for batch in changes if batch.num_rows)
    for batch in rows:
        shown = batch if predicate is None else batch.filter(matches(predicate, batch, available))
        if shown.num_rows:
            yield shown.select(names)
