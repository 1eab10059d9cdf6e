"""Maps Dagster partitions to columns of a table: to values of a column, or to a range of times.

A time window covers all its days in a DATE column, the times from its start up to its end in a TIMESTAMP column, and
the text of its key in a column of any other type. A key of another definition is a value of the column. A TIMESTAMP
holds wall-clock times in the time zone of the partitions definition, a TIMESTAMP_LTZ holds instants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any, Final, TypeAlias

import dagster as dg

from dagster_paimon.io.local_times import on_the_clock, only_once
from dagster_paimon.tables.measure import value_of_text
from dagster_paimon.tables.partition_keys import key_of_moment
from table_format import Predicate
from table_format.errors import InvalidInputError
from table_format.filters import And, Compare, CompareOp, In, Literal, Or
from table_format.types import AnyTimestampType, DataField, DateType, InternalValue, LocalZonedTimestampType

_EPOCH_DAY: Final = date(1970, 1, 1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UTC: Final = "UTC"
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Values:
    """These values of a column."""

    values: tuple[InternalValue, ...]

    def holds(self, value: InternalValue) -> bool:
        """Return whether the value is one of them."""
        return value in self.values

    def may_hold(self, first: int, last: int) -> bool:
        """Return whether one of the values is between two times, which are included."""
        return any(isinstance(value, int) and first <= value <= last for value in self.values)


@dataclass(frozen=True, slots=True)
class Window:
    """The times from ``start`` (inclusive) to ``end`` (exclusive), as values of a TIMESTAMP column."""

    start: int
    end: int

    def holds(self, value: InternalValue) -> bool:
        """Return whether the value is a time in the window."""
        return isinstance(value, int) and self.start <= value < self.end

    def may_hold(self, first: int, last: int) -> bool:
        """Return whether the window has a time between two times, which are included."""
        return self.start <= last and first < self.end


Extent: TypeAlias = Values | Window


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a partitions definition and its column. It has a ``name`` if there are several dimensions."""

    column: str
    definition: dg.PartitionsDefinition[Any]
    name: str | None = None

    def part(self, key: str) -> str:
        """Return the part of a partition key for this dimension."""
        return key if self.name is None else _keys_by_dimension(key)[self.name]


@dataclass(frozen=True, slots=True)
class Slice:
    """One Dagster partition, with the values of each of its columns."""

    key: str
    extents: Mapping[str, Extent]

    def holds(self, values: Mapping[str, InternalValue]) -> bool:
        """Return whether a row with these values belongs to the partition."""
        return all(extent.holds(values[column]) for column, extent in self.extents.items())

    @property
    def has_windows(self) -> bool:
        """Whether a column may have any value of a time window."""
        return any(isinstance(extent, Window) for extent in self.extents.values())

    def specs(self) -> list[dict[str, InternalValue]]:
        """Return the combinations of values. Only for a slice without windows."""
        choices = [extent.values for extent in self.extents.values() if isinstance(extent, Values)]
        return [dict(zip(self.extents, chosen, strict=True)) for chosen in product(*choices)]


def dimensions(definition: dg.PartitionsDefinition[Any], expression: object, *, where: str) -> tuple[Dimension, ...]:
    """Return the dimensions of a definition, with the columns that ``partition_expr`` names.

    Raises:
        InvalidInputError: the expression does not fit the definition; ``where`` names its place.
    """
    if isinstance(definition, dg.MultiPartitionsDefinition):
        parts = {part.name: part.partitions_def for part in definition.partitions_defs}
        if not isinstance(expression, Mapping) or set(expression) != set(parts):
            message = (
                f"{where} {expression!r}: the asset is partitioned by {', '.join(sorted(parts))}; expected a mapping "
                "of each of them to the name of a column"
            )
            raise InvalidInputError(message)
        return tuple(Dimension(_column(expression[name], where), part, name) for name, part in parts.items())
    return (Dimension(_column(expression, where), definition),)


def _column(expression: object, where: str) -> str:
    if not isinstance(expression, str) or not expression:
        message = f"{where} {expression!r}: expected the name of one column"
        raise InvalidInputError(message)
    return expression


def slices_of(
    dims: Sequence[Dimension], keys: Iterable[str], fields: Sequence[DataField], *, where: str
) -> tuple[Slice, ...]:
    """Return the partitions with these keys.

    Raises:
        InvalidInputError: a column does not exist, or a key or time window cannot be expressed in its type, or only one
            of two partitions with the same local times is among them.
    """
    known = {field.name: field for field in fields}
    missing = [dim.column for dim in dims if dim.column not in known]
    if missing:
        message = (
            f"{where}: column {', '.join(missing)} does not exist; the value of a column determines the Dagster "
            f"partition, and the columns are {', '.join(known)}"
        )
        raise InvalidInputError(message)
    listed = tuple(keys)
    for dim in dims:
        _refuse_half_of_a_doubled_time(dim, dims, listed, known[dim.column])
    seen: set[tuple[Extent, ...]] = set()
    found: list[Slice] = []
    for key in listed:
        extents = {dim.column: extent_of(dim.definition, dim.part(key), known[dim.column]) for dim in dims}
        if tuple(extents.values()) in seen:  # the rows of an hour that occurs twice count for the first one
            extents = {column: _without_times(extent) for column, extent in extents.items()}
        seen.add(tuple(extents.values()))
        found.append(Slice(str(key), extents))
    return tuple(found)


def _without_times(extent: Extent) -> Extent:
    return Window(extent.start, extent.start) if isinstance(extent, Window) else extent


def _refuse_half_of_a_doubled_time(
    dim: Dimension, dims: Sequence[Dimension], keys: Iterable[str], field: DataField
) -> None:
    definition = dim.definition
    has_zone = isinstance(field.type, LocalZonedTimestampType)
    if not isinstance(definition, dg.TimeWindowPartitionsDefinition) or has_zone:
        return
    if not isinstance(field.type, AnyTimestampType) or definition.timezone == _UTC:
        return
    windows: dict[tuple[str, ...], list[dg.TimeWindow]] = {}
    for key in keys:
        others = tuple(other.part(key) for other in dims if other is not dim)
        windows.setdefault(others, []).append(definition.time_window_for_partition_key(dim.part(key)))
    for group in windows.values():
        half = only_once(group, lambda moment: definition.has_partition_key(key_of_moment(definition, moment)))
        if half is not None:
            message = (
                f"column '{field.name}' is a {field.type}, whose times on the clock of {definition.timezone} occur "
                f"twice when the clock is set back, and the time window {half.start:%Y-%m-%d %H:%M%z} to "
                f"{half.end:%Y-%m-%d %H:%M%z} has them only once; add the partition with the same times to the run or "
                "the read (one run for both: BackfillPolicy.single_run()), or use TIMESTAMP_LTZ, or partitions in UTC"
            )
            raise InvalidInputError(message)


def extent_of(definition: dg.PartitionsDefinition[Any], key: str, field: DataField) -> Extent:
    """Return the values of a column that belong to a partition.

    Raises:
        InvalidInputError: the column cannot express the partition.
    """
    if isinstance(definition, dg.TimeWindowPartitionsDefinition):
        if isinstance(field.type, DateType):
            return _days(definition.time_window_for_partition_key(key), key, field)
        if isinstance(field.type, AnyTimestampType):
            return _times(definition.time_window_for_partition_key(key), field)
    return Values((value_of_text(field, str(key)),))


def condition_of(slices: Sequence[Slice]) -> Predicate:
    """Return a condition for the rows of these partitions, with few terms. Without partitions, it selects no row."""
    return _union([dict(found.extents) for found in slices])


def from_first(slices: Sequence[Slice]) -> Predicate:
    """Return a condition for the rows of the first partition and all later ones, in the order of the values.

    Raises:
        InvalidInputError: the partitions have several dimensions, which have no common order.
    """
    if not slices:
        return Literal(value=False)
    if any(len(found.extents) != 1 for found in slices):
        message = "paimon/open_end: partitions of several dimensions have no order"
        raise InvalidInputError(message)
    ((column, extent),) = slices[0].extents.items()
    start = extent.start if isinstance(extent, Window) else extent.values[0]
    return Compare(column, CompareOp.GE, start)


def _union(rows: list[dict[str, Extent]]) -> Predicate:
    if not rows:
        return Literal(value=False)
    column, *others = rows[0]
    by_others: dict[tuple[Extent, ...], list[Extent]] = {}
    for row in rows:
        by_others.setdefault(tuple(row[other] for other in others), []).append(row[column])
    by_first: dict[Predicate, list[dict[str, Extent]]] = {}
    for rest, extents in by_others.items():
        by_first.setdefault(_merged(column, extents), []).append(dict(zip(others, rest, strict=True)))
    terms = [And((first, _union(rest))) if others else first for first, rest in by_first.items()]
    return terms[0] if len(terms) == 1 else Or(tuple(terms))


def _merged(column: str, extents: Sequence[Extent]) -> Predicate:
    values = dict.fromkeys(value for extent in extents if isinstance(extent, Values) for value in extent.values)
    terms: list[Predicate] = [In(column, tuple(values))] if values else []
    windows = sorted((extent for extent in extents if isinstance(extent, Window)), key=lambda window: window.start)
    joined: list[Window] = []
    for window in windows:
        if joined and window.start <= joined[-1].end:
            joined[-1] = Window(joined[-1].start, max(joined[-1].end, window.end))
        else:
            joined.append(window)
    terms += [
        And((Compare(column, CompareOp.GE, window.start), Compare(column, CompareOp.LT, window.end)))
        for window in joined
    ]
    return terms[0] if len(terms) == 1 else Or(tuple(terms))


def _days(window: dg.TimeWindow, key: str, field: DataField) -> Values:
    start, end = window.start, window.end
    if any(time.time().replace(tzinfo=None) != datetime.min.time() for time in (start, end)):
        message = (
            f"column '{field.name}' is a DATE, which cannot distinguish the time window {key} "
            f"({start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}) from others of its day; use a TIMESTAMP or a "
            "STRING column"
        )
        raise InvalidInputError(message)
    first, last = start.date().toordinal(), end.date().toordinal()
    return Values(tuple(day - _EPOCH_DAY.toordinal() for day in range(first, last)))


def _times(window: dg.TimeWindow, field: DataField) -> Window:
    if isinstance(field.type, LocalZonedTimestampType):
        return Window(_nanoseconds(window.start), _nanoseconds(window.end))
    first, after = (time.replace(tzinfo=UTC) for time in on_the_clock(window))
    return Window(_nanoseconds(first), _nanoseconds(after))


def _nanoseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND * 1000


def _keys_by_dimension(key: str) -> Mapping[str, str]:
    if not isinstance(key, dg.MultiPartitionKey):
        message = f"'{key}' is not a key of partitions with several dimensions"
        raise InvalidInputError(message)
    return key.keys_by_dimension
