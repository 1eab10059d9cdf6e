"""The distinct values of one column in the rows of files, with as few files read as possible.

The statistics of a file tell its values if the smallest one is the largest one. If they are whole numbers or days, they
also tell that a file has no other values than those that are known already: all between its bounds are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.values import array_of, values_of
from table_format.metastore.references.expired_reads import explaining_expiry_of_rows
from table_format.model.arrow_types import arrow_type
from table_format.model.data_file import DataFileMeta
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.model.types import (
    BooleanType,
    DataField,
    DateType,
    IntegerType,
    InternalValue,
    VarCharType,
)
from table_format.pruning.file_bounds import FileBounds
from table_format.table.facts import TableFacts
from table_format.table.read.known_rows import is_read_as_stored
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_split
from table_format.table.read.splits import with_files
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting

_WHOLE: Final = (IntegerType, DateType)
"""Types of which every value between two bounds can be listed."""
_EXACT: Final = (*_WHOLE, BooleanType, VarCharType)
"""Types whose equal bounds are the only value: a text that was cut has different bounds. The two zeros of a FLOAT are
equal, and Java measures other types less precisely in some file formats."""
_LONGEST_RANGE: Final = 10_000
"""The most values between two bounds that are looked up among the known ones."""
_MOST_KNOWN: Final = 100_000
"""With more known values, looking for those between two bounds would take longer than reading a file."""


def all_values(facts: TableFacts, column: str, snapshot: Snapshot | None) -> pa.Array:
    """Return the distinct values of a column in one state of the table, including null.

    Raises:
        ColumnNotFound: the column does not exist.
        SnapshotExpired: the snapshot has expired.
    """
    field = facts.schema.field(column)
    if snapshot is None:
        return distinct([], field)
    if column in facts.schema.partition_keys:
        live = facts.live_files(snapshot)
        return distinct([partition_values(facts, column, (e.partition for e in live.entries))], field)
    plan = state_plan(facts, Starting(snapshot, facts.schema), (column,), None)
    values = KnownValues(facts, field)
    stored = [split for split in plan.splits if is_read_as_stored(split)]
    files = [
        FileOfColumn(file, partial(_read, facts, plan, with_files(split, [place])), _has_all_rows(split, place))
        for split in stored
        for place, file in enumerate(split.files)
    ]
    values.add_files(files)
    for split in plan.splits:
        if not is_read_as_stored(split):
            values.add(_read(facts, plan, split))
    return values.found


def _has_all_rows(split: DataSplit, place: int) -> bool:
    """Return whether no row of a file is marked as deleted."""
    return not split.deletion_files or split.deletion_files[place] is None


@dataclass(frozen=True, slots=True)
class FileOfColumn:
    """A file whose rows are taken as they are stored, and how to read its column. If ``has_all_rows`` is false, some of
    them are left out.
    """

    file: DataFileMeta
    read: Callable[[], Iterable[pa.Array]]
    has_all_rows: bool = True


class KnownValues:
    """The distinct values of a column that are known so far."""

    def __init__(self, facts: TableFacts, field: DataField) -> None:
        self._field = field
        self._bounds = FileBounds(facts.schema, facts.schemas, (field.name,))
        self.found = distinct([], field)

    def add(self, arrays: Iterable[pa.Array]) -> None:
        """Add the values of columns that were read."""
        self.found = distinct((self.found, *arrays), self._field)

    def add_files(self, files: Iterable[FileOfColumn]) -> None:
        """Add the values in files. Those whose statistics tell all their values are not read."""
        left: list[tuple[FileOfColumn, ColumnBounds | None]] = []
        certain: dict[InternalValue, None] = {}
        for file in files:
            bounds = self._bounds_of(file.file)
            values = _only_values(bounds) if file.has_all_rows else None
            if values is None:
                left.append((file, bounds))
            else:
                certain.update(dict.fromkeys(values))
        self.add([array_of(list(certain), self._field.type)])
        for file, bounds in sorted(left, key=lambda one: _width(one[1])):
            if not self._holds_all_between(bounds):
                self.add(file.read())

    def _bounds_of(self, file: DataFileMeta) -> ColumnBounds | None:
        return self._bounds.of_values(file).get(self._field.name) if isinstance(self._field.type, _EXACT) else None

    def _holds_all_between(self, bounds: ColumnBounds | None) -> bool:
        """Return whether every value that a file with these bounds may have is known already."""
        if _width(bounds) > _LONGEST_RANGE or bounds is None or len(self.found) > _MOST_KNOWN:
            return False
        first, last = bounds.minimum, bounds.maximum
        if not isinstance(first, int) or not isinstance(last, int) or not isinstance(self._field.type, _WHOLE):
            return False
        known = set(values_of(self.found, self._field.type))
        return known.issuperset(range(first, last + 1)) and (None in known or not bounds.may_hold_null)


def _only_values(bounds: ColumnBounds | None) -> list[InternalValue] | None:
    """Return the only values that a file with these bounds has; ``None`` if they are unknown."""
    if bounds is None or bounds.null_count is None:
        return None
    nulls: list[InternalValue] = [None] if bounds.null_count else []
    if not bounds.may_hold_value:
        return nulls
    is_known = bounds.minimum is not None and bounds.minimum == bounds.maximum
    return [bounds.minimum, *nulls] if is_known else None


def _width(bounds: ColumnBounds | None) -> float:
    """Return the distance of the bounds of a file; infinite if it is unknown."""
    if bounds is None or not isinstance(bounds.minimum, int) or not isinstance(bounds.maximum, int):
        return float("inf")
    return bounds.maximum - bounds.minimum


def partition_values(facts: TableFacts, column: str, partitions: Iterable[bytes]) -> pa.Array:
    """Return the values of a partition column in some partitions."""
    position = facts.schema.partition_keys.index(column)
    values = [facts.partitions.values(partition)[position] for partition in sorted(set(partitions))]
    return array_of(values, facts.schema.field(column).type)


def distinct(arrays: Iterable[pa.Array], field: DataField) -> pa.Array:
    """Return each value once. Arrays are reduced one by one, so that memory holds values and not rows."""
    kind = arrow_type(field.type)
    found = pa.array([], kind)
    for array in arrays:
        found = pc.unique(pa.concat_arrays([found, pc.unique(array).cast(kind)]))
    return found


def _read(facts: TableFacts, plan: Plan, split: DataSplit) -> Iterator[pa.Array]:
    rows = read_split(facts.store, facts.schemas, facts.schema, facts.options, split, plan.fields)
    return (batch.column(0) for batch in explaining_expiry_of_rows(facts.store, split, rows))
