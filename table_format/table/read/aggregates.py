"""Count, sum, minimum and maximum of the rows of a scan, computed from file indexes where possible.

A file is not opened if its rows need no merge and its indexes cover the columns and evaluate the filter exactly. Rows
in deletion vectors are excluded by position. If only partition columns are wanted and tested, the recorded row counts
suffice. All other files are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import pyarrow as pa
from pyroaring import BitMap, FrozenBitMap

from table_format.counted import counted
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.indexes.file_index import FileIndex, FileIndexes, has_index
from table_format.indexes.index_totals import index_totals
from table_format.kernels.totals import ColumnTotals, Groups, GroupTotals, Wanted, totals_of, united
from table_format.kernels.values import array_of
from table_format.metastore.references.expired_reads import explaining_expiry_of_splits
from table_format.model.arguments import name_or_names, shown, text
from table_format.model.column_names import no_such_column
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate
from table_format.model.split import DataSplit
from table_format.model.ticks import decimal_of
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    DataField,
    DateType,
    DecimalType,
    IntegerType,
    InternalValue,
    TimeType,
)
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned
from table_format.table.read.known_rows import PlannedRows, is_read_as_stored
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_in_order
from table_format.table.read.splits import with_files

COUNT: Final = "count"
SUM: Final = "sum"
EXTREMES: Final = ("min", "max")
ALL_ROWS: Final = "*"
ROW_COUNT: Final = {"rows": (COUNT, ALL_ROWS)}
"""The aggregate that ``row_count`` reads."""
_FUNCTIONS: Final = (COUNT, SUM, *EXTREMES)

_ADDED: Final = (IntegerType, DecimalType)
_ORDERED: Final = (IntegerType, DecimalType, DateType, TimeType, AnyTimestampType)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One column of the result: a function of a column, or the count of all rows if there is no column."""

    name: str
    function: str
    field: DataField | None

    def __str__(self) -> str:
        return f"{self.name} = {self.function}({ALL_ROWS if self.field is None else self.field.name})"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The functions to compute; create it with ``of``."""

    aggregates: tuple[Aggregate, ...]
    group_by: DataField | None

    @classmethod
    def of(
        cls, fields: Sequence[DataField], aggregates: Mapping[str, tuple[str, str]], group_by: str | None
    ) -> Aggregation:
        """Check the arguments of a caller against the columns.

        Raises:
            InvalidInputError: there is no aggregate, a function does not exist, or a name is used twice.
            ColumnNotFound: a column does not exist.
            UnsupportedFeature: the function does not support the type of a column.
        """
        if not aggregates or not hasattr(aggregates, "items"):
            message = f"aggregates: expected (function, column) by name, found {shown(aggregates)}"
            raise InvalidInputError(message)
        group = None if group_by is None else _field(fields, text(group_by, "group_by"))
        if group is not None and isinstance(group.type, NESTED):
            feature = f"group_by of column '{group.name}' of type {group.type}"
            raise UnsupportedFeature(feature)
        if group is not None and group.name in aggregates:
            message = f"aggregates: rows are grouped by '{group.name}'; give the aggregate of this name another one"
            raise InvalidInputError(message)
        return cls(tuple(_aggregate(fields, name, wanted) for name, wanted in aggregates.items()), group)

    @property
    def wanted(self) -> Wanted:
        """The totals from which the result is computed."""
        found = {each.field.name: each.field for each in self.aggregates if each.field is not None}
        numbers = {each.field.name for each in self.aggregates if each.field is not None and each.function != COUNT}
        return Wanted(tuple(found.values()), frozenset(numbers), self.group_by)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read where no index helps; there may be none."""
        fields = (*self.wanted.columns, *(() if self.group_by is None else (self.group_by,)))
        return tuple(dict.fromkeys(field.name for field in fields))

    def rows(self, groups: Groups) -> tuple[dict[str, object], ...]:
        """Return the result: one row for each group in ascending order, null last; one row without groups."""
        if self.group_by is None:
            return (self._row(groups.get(None) or self._nothing),)
        keys = sorted(groups, key=_place)
        shown_keys = array_of(keys, self.group_by.type).to_pylist()
        pairs = zip(shown_keys, keys, strict=True)
        return tuple({self.group_by.name: value, **self._row(groups[key])} for value, key in pairs)

    @property
    def _nothing(self) -> GroupTotals:
        return GroupTotals(0, tuple(ColumnTotals() for _ in self.wanted.columns))

    def _row(self, group: GroupTotals) -> dict[str, object]:
        totals = dict(zip((field.name for field in self.wanted.columns), group.columns, strict=True))
        return {
            each.name: group.rows if each.field is None else _value(each.function, each.field, totals[each.field.name])
            for each in self.aggregates
        }

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.aggregates))
        return listed if self.group_by is None else f"{listed} by {self.group_by.name}"


@dataclass(frozen=True)
class Aggregates:
    """The result of an aggregation and its sources.

    ``rows`` are mappings by name: one row, or one for each group. ``files_by_row_count`` files used only the row
    count in the metadata, ``files_by_index`` files used only their indexes. The data files of both were not opened.
    ``tasks`` is the number of Spark tasks that took part.
    """

    aggregation: Aggregation
    plan: Plan
    rows: tuple[Mapping[str, object], ...]
    files_by_row_count: int
    files_by_index: int
    files_read: int
    tasks: int = 0

    def explain(self) -> str:
        """Return the plan as text, with the numbers of files that were not opened."""
        in_tasks = f"; in {counted(self.tasks, 'Spark task')} and the driver" if self.tasks else ""
        return (
            f"{self.plan.explain()}\n  aggregate  {self.aggregation}: {counted(self.files_by_row_count, 'file')} by "
            f"recorded row counts, {self.files_by_index} by their indexes, {self.files_read} read{in_tasks}"
        )

    def __str__(self) -> str:
        return self.explain()


def row_count(found: Aggregates) -> int:
    """The row count, if ``ROW_COUNT`` is one of the aggregates."""
    (row,) = found.rows
    return cast("int", row["rows"])


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of the rows of some files, and the number of files by kind of source."""

    groups: Groups
    files_by_row_count: int = 0
    files_by_index: int = 0
    files_read: int = 0

    def plus(self, others: Iterable[Totals]) -> Totals:
        """Return the totals of these files and others."""
        everything = [self, *others]
        return Totals(
            united(each.groups for each in everything),
            sum(each.files_by_row_count for each in everything),
            sum(each.files_by_index for each in everything),
            sum(each.files_read for each in everything),
        )


def aggregated(facts: TableFacts, plan: Plan, aggregation: Aggregation) -> Aggregates:
    """Return the aggregates of the rows of a plan that has the columns of the aggregation.

    Raises:
        CorruptionError: a file that had to be read is missing or damaged.
        SnapshotExpired: the snapshot has expired in the meantime.
    """
    return aggregates_of(plan, aggregation, totals_of_splits(facts, plan, aggregation.wanted, plan.splits))


def aggregates_of(plan: Plan, aggregation: Aggregation, totals: Totals, *, tasks: int = 0) -> Aggregates:
    """Return the result from the totals of all files. ``tasks`` is the number of Spark tasks that computed some of
    them.
    """
    return Aggregates(
        aggregation,
        plan,
        aggregation.rows(totals.groups),
        totals.files_by_row_count,
        totals.files_by_index,
        totals.files_read,
        tasks,
    )


def totals_of_splits(facts: TableFacts, plan: Plan, wanted: Wanted, splits: Sequence[DataSplit]) -> Totals:
    """Return the totals of splits of a plan. Reads files if nothing else has the totals; raises as ``aggregated``."""
    known, rest = known_totals(facts, plan, wanted, splits)
    batches = read_in_order(rest, lambda split: read_planned(facts, plan, split))
    groups = united(totals_of(batch, wanted) for batch in batches)
    files_read = sum(len(split.before_files) + len(split.files) for split in rest)
    return known.plus([Totals(groups, files_read=files_read)])


def known_totals(
    facts: TableFacts, plan: Plan, wanted: Wanted, splits: Sequence[DataSplit]
) -> tuple[Totals, list[DataSplit]]:
    """Return the totals of files that need not be opened, and splits of the others.

    Raises:
        CorruptionError: a deletion vector is missing or damaged.
        SnapshotExpired: the snapshot has expired in the meantime.
    """
    known: list[Groups] = []
    rest: list[DataSplit] = []
    by_row_count = by_index = 0
    sources = {id(part): _FileTotals(part.facts or facts, part, wanted) for part in _parts(plan)}
    with explaining_expiry_of_splits(facts.store, splits):
        for split in splits:
            found = list(sources[id(plan.part_of(split))].of_split(split))
            known += [each.groups for each in found if each is not None]
            by_index += sum(each is not None and each.is_by_index for each in found)
            by_row_count += sum(each is not None and not each.is_by_index for each in found)
            unknown = [place for place, each in enumerate(found) if each is None]
            if unknown:
                rest.append(with_files(split, unknown))
    return Totals(united(known), by_row_count, by_index), rest


@dataclass(frozen=True, slots=True)
class _Known:
    """The totals of a file that is not opened, from its indexes or from its recorded row count."""

    groups: Groups
    is_by_index: bool


class _FileTotals:
    """Computes the totals of files of a plan without opening them, if possible."""

    def __init__(self, facts: TableFacts, plan: Plan, wanted: Wanted) -> None:
        self._facts = facts
        self._plan = plan
        self._wanted = wanted
        self._rows = PlannedRows(facts, plan)
        self._of_one_row: dict[bytes, Groups] = {}
        self._indexes = plan.indexes or FileIndexes(facts.store, facts.schemas, plan.schema)

    def of_split(self, split: DataSplit) -> Iterator[_Known | None]:
        """Return the totals of each file of a split; ``None`` for a file that must be read."""
        if not is_read_as_stored(split):
            yield from (None for _ in split.files)
            return
        condition, deletions = self._rows.condition(split), self._rows.deletions(split)
        for file in split.files:
            vector = None if deletions is None else deletions.of(file)
            selected = None if condition is None else self._plan.exact_rows.get(file.file_name)
            if condition is None and self._is_of_partitions:
                rows = file.row_count - (0 if vector is None else vector.cardinality)
                yield _Known(self._of_partition(split.partition, rows), is_by_index=False)
            elif selected is not None and self._wanted == Wanted():
                rows = len(selected) if vector is None else len(selected - BitMap(vector.positions))
                yield _Known({None: GroupTotals(rows)}, is_by_index=True)
            elif self._plan.pruning.may_read_indexes and has_index(file):
                deleted = None if vector is None else BitMap(vector.positions)
                found = self._of_indexes(split, file, condition if selected is None else None, selected, deleted)
                yield None if found is None else _Known(found, is_by_index=True)
            else:
                yield None

    @cached_property
    def _is_of_partitions(self) -> bool:
        """Whether the row counts of partitions are enough."""
        wanted = self._wanted
        needed = {field.name for field in (*wanted.columns, *(() if wanted.group_by is None else (wanted.group_by,)))}
        return needed <= {field.name for field in self._facts.partitions.fields}

    def _of_partition(self, partition: bytes, rows: int) -> Groups:
        """Return the totals of so many rows of a partition."""
        if not rows:
            return {}
        if partition not in self._of_one_row:
            pairs = zip(self._facts.partitions.fields, self._facts.partitions.values(partition), strict=True)
            # A batch without columns has no rows.
            arrays = {field.name: array_of([value], field.type) for field, value in pairs} or {"row": pa.array([0])}
            self._of_one_row[partition] = totals_of(pa.RecordBatch.from_pydict(arrays), self._wanted)
        return {value: totals.times(rows) for value, totals in self._of_one_row[partition].items()}

    def _of_indexes(
        self,
        split: DataSplit,
        file: DataFileMeta,
        condition: Predicate | None,
        selected: FrozenBitMap | None,
        deleted: BitMap | None,
    ) -> Groups | None:
        def totals(index: FileIndex) -> Groups | None:
            return index_totals(index, file.row_count, condition, deleted, self._wanted, selected=selected)

        text_of_partition = self._facts.partitions.text(split.partition)
        return self._indexes.evaluated(text_of_partition, split.bucket, file, totals, None)


def _parts(plan: Plan) -> tuple[Plan, ...]:
    return (plan,) if plan.fallback is None else (plan, plan.fallback)


def _aggregate(fields: Sequence[DataField], name: str, wanted: tuple[str, str]) -> Aggregate:
    name = text(name, "the name of an aggregate")
    pair = name_or_names(wanted, f"aggregate '{name}'")
    if len(pair) != 2:
        message = f"aggregate '{name}': expected (function, column), found {shown(wanted)}"
        raise InvalidInputError(message)
    function, column = pair
    if function not in _FUNCTIONS:
        message = f"aggregate '{name}': expected one of {', '.join(_FUNCTIONS)}, found '{function}'"
        raise InvalidInputError(message)
    if column == ALL_ROWS:
        if function != COUNT:
            message = f"aggregate '{name}': '{ALL_ROWS}' can be counted only, found '{function}'"
            raise InvalidInputError(message)
        return Aggregate(name, function, None)
    field = _field(fields, column)
    allowed = {SUM: _ADDED, **dict.fromkeys(EXTREMES, _ORDERED)}.get(function)
    if allowed is not None and not isinstance(field.type, allowed):
        feature = f"{function} of column '{column}' of type {field.type}"
        raise UnsupportedFeature(feature)
    return Aggregate(name, function, field)


def _field(fields: Sequence[DataField], column: str) -> DataField:
    found = next((field for field in fields if field.name == column), None)
    if found is None:
        raise no_such_column(column, (field.name for field in fields))
    return found


def _value(function: str, field: DataField, totals: ColumnTotals) -> object:
    if function == COUNT:
        return totals.count
    if not totals.count:
        return None
    if function == SUM:
        return decimal_of(totals.total, field.type.scale) if isinstance(field.type, DecimalType) else totals.total
    return array_of([totals.minimum if function == EXTREMES[0] else totals.maximum], field.type)[0].as_py()


def _place(value: InternalValue) -> tuple[bool, bool, object]:
    """Return the sort key of a group: NaN comes after all numbers, and null last."""
    return value is None, value != value, value
