"""System tables whose rows are metadata: built at once when read, then filtered and reduced to the wanted columns.

They show the table at the time of reading. Times are local, without zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pyarrow as pa

from table_format.errors import CorruptionError, InvalidOption
from table_format.kernels.predicate import matches
from table_format.kernels.values import array_of
from table_format.metastore.references.expired_reads import explaining_expiry, retry_if_expired
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.condition import Filter
from table_format.model.schema import columns_text
from table_format.model.types import (
    MAX_LENGTH,
    NESTED,
    BigIntType,
    DataField,
    DataType,
    TimestampType,
    VarCharType,
)
from table_format.options.registry import find
from table_format.options.scan import INCREMENTAL_SCAN_MODE, MANIFEST_PARALLELISM, MODE, STARTING_POINTS
from table_format.options.unread import Reader
from table_format.table.facts import TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.scan import columns_argument
from table_format.table.read.time_travel import starting_point
from table_format.table.system.table import SystemScan, SystemTable, chosen_fields
from table_format.table.table import Table

TEXT: Final = VarCharType(length=MAX_LENGTH)
LONG: Final = BigIntType()
TIME: Final = TimestampType(precision=3)

NANOS_PER_MILLI: Final = 1_000_000

OF_A_STATE: Final = frozenset(
    option.key for option in (MODE, *STARTING_POINTS, INCREMENTAL_SCAN_MODE, MANIFEST_PARALLELISM)
)
"""Keys of the options that say which state of the table is shown, and how it is read."""

Row = Mapping[str, object]
Rows = Callable[[TableFacts], Sequence[Row]]


def columns(**types: DataType) -> tuple[DataField, ...]:
    """Return columns in the given order."""
    return tuple(DataField(i, name, data_type) for i, (name, data_type) in enumerate(types.items()))


@dataclass(frozen=True, slots=True)
class MetadataTable(SystemTable):
    """A system table of ``table``. ``rows`` builds all rows with all columns; ``reads`` are the option keys it uses."""

    title: str
    columns: tuple[DataField, ...]
    rows: Rows
    reads: frozenset[str]
    table: Table

    def __repr__(self) -> str:
        return f"SystemTable({self.name}: {columns_text(self.columns)})"

    @property
    def name(self) -> str:
        """The name of the table with its suffix."""
        return f"{self.table.identifier}${self.title}"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return self.columns

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> MetadataScan:
        """Scan the table; see ``SystemTable``."""
        facts = self.table.for_reader(Reader.BATCH, options or {}).facts
        for key in options or {}:
            option = find(key)
            if option is None or option.key not in self.reads:
                known = ", ".join(sorted(self.reads)) or "no options"
                raise InvalidOption(key, f"would have no effect on '{self.name}', which reads {known}; leave it out")

        def rows() -> Sequence[Row]:
            facts.require_same_schema()
            return _rows_of(facts, self.rows)

        return MetadataScan(self.columns, rows, columns_argument(columns), filter)


def _rows_of(facts: TableFacts, rows: Rows) -> Sequence[Row]:
    """Return the rows. Build them again if their snapshot was expired in the meantime."""
    try:
        return rows(facts)
    except CorruptionError:
        # The snapshot is looked up only now, so that nothing is read twice without an error.
        return retry_if_expired(lambda: _rows_of_start(facts, rows))


def _rows_of_start(facts: TableFacts, rows: Rows) -> Sequence[Row]:
    start = starting_point(facts).snapshot
    with explaining_expiry(facts.store, start):
        return rows(facts)


@dataclass(frozen=True, slots=True)
class MetadataScan(SystemScan):
    """A scan of the rows that ``rows`` builds.

    Raises:
        ColumnNotFound: when read: a column does not exist.
        InvalidFilter: when read: the filter cannot be parsed or does not fit the columns.
    """

    fields: tuple[DataField, ...]
    rows: Callable[[], Sequence[Row]]
    columns: tuple[str, ...] | None
    filter: Filter | None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the wanted columns."""
        return arrow_schema(chosen_fields(self.fields, self.columns))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in one batch."""
        wanted = chosen_fields(self.fields, self.columns)
        predicate = bound_filter(self.filter, self.fields)
        batch = batch_of(self.fields, self.rows())
        if predicate is not None:
            batch = batch.filter(matches(predicate, batch, self.fields))
        yield batch.select([f.name for f in wanted])


def batch_of(fields: Sequence[DataField], rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as a batch; values are internal ones, and those of nested columns are Arrow's."""
    arrays = [
        pa.array([row[f.name] for row in rows], arrow_type(f.type))
        if isinstance(f.type, NESTED)
        else array_of([row[f.name] for row in rows], f.type)  # type: ignore[misc]  # scalars
        for f in fields
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def local_nanos(epoch_ms: int) -> int:
    """The local wall clock at an instant, as nanoseconds as if it were UTC."""
    offset = datetime.fromtimestamp(epoch_ms / 1000).astimezone().utcoffset()
    seconds = 0 if offset is None else int(offset.total_seconds())
    return (epoch_ms + seconds * 1000) * NANOS_PER_MILLI
