"""Merge engines row by row in plain Python, written from the rules of format chapter 12: slow and obvious."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from table_format.kernels.aggregates import AggregateSpec
from table_format.kernels.engines import Aggregation, Engine, FirstRow, PartialUpdate, SequenceGroup

Row = dict[str, Any]
INSERT, UPDATE_BEFORE, DELETE = 0, 1, 3
SYSTEM = ("_SEQUENCE_NUMBER", "_VALUE_KIND")


class Refused(Exception):
    """The reference raises here."""


@dataclass
class Accumulator:
    """One column under one function."""

    spec: AggregateSpec
    value: Any = None
    begun: bool = False

    def add(self, new: Any) -> None:
        name, old = self.spec.function, self.value
        if name == "last_value":
            self.value = new
        elif name == "first_value":
            self.value, self.begun = old if self.begun else new, True
        elif name == "first_non_null_value":
            if not self.begun and new is not None:
                self.value, self.begun = new, True
        elif new is not None:
            self.value = new if old is None else _FUNCTIONS[name](old, new)

    def add_older(self, new: Any) -> None:
        """The value after a late version: the existing value counts as newer."""
        old, self.value = self.value, new
        if self.spec.function == "collect":
            self.value = old
            self.add(new)
        elif old is not None or self.spec.function in ("last_value", "first_value"):
            self.add(old)

    def take_back(self, new: Any) -> None:
        name, old = self.spec.function, self.value
        if self.spec.ignore_retract:
            return
        if name == "sum":
            self.value = old if new is None else -new if old is None else old - new
        elif name == "last_value":
            self.value = None
        elif name == "last_non_null_value":
            self.value = old if new is None else None
        elif name == "collect":
            if old is not None and new is not None:
                self.value = list(old)
                for item in new:
                    if item in self.value:
                        self.value.remove(item)
        else:
            raise Refused(name)


_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda old, new: old + new,
    "max": max,
    "min": min,
    "last_non_null_value": lambda _old, new: new,
    "listagg": lambda old, new: old if not new.strip() else new if not old else f"{old},{new}",
    "collect": lambda old, new: old + new,
}


@dataclass
class Current:
    """The row of a key while its versions are merged."""

    values: Row
    accumulators: dict[str, Accumulator] = field(default_factory=dict)

    def replace(self, row: Row) -> None:
        for name in self.values:
            self.values[name] = row[name]
        for name, accumulator in self.accumulators.items():
            accumulator.value = row[name]


def merged(versions: Sequence[Row], engine: Engine) -> Row | None:
    """The row of a key, or none; ``versions`` oldest first."""
    if len(versions) == 1:
        return versions[0]
    match engine:
        case FirstRow():
            return _first_row(versions, engine)
        case Aggregation():
            return _aggregation(versions, engine)
        case _:
            return _partial_update(versions, engine)


def _first_row(versions: Sequence[Row], engine: FirstRow) -> Row | None:
    if any(_is_retract(row) for row in versions) and not engine.ignore_delete:
        raise Refused
    return next((row for row in versions if not _is_retract(row)), None)


def _aggregation(versions: Sequence[Row], engine: Aggregation) -> Row:
    accumulators = {spec.field.name: Accumulator(spec) for spec in engine.aggregates}
    kind = INSERT
    for row in versions:
        kind = DELETE if engine.remove_on_delete and row["_VALUE_KIND"] == DELETE else INSERT
        for name, accumulator in accumulators.items():
            if kind == DELETE:
                accumulator.value = row[name]
            elif _is_retract(row):
                accumulator.take_back(row[name])
            else:
                accumulator.add(row[name])
    values = {name: accumulator.value for name, accumulator in accumulators.items()}
    return {**versions[-1], **values, "_VALUE_KIND": kind}


def _partial_update(versions: Sequence[Row], engine: PartialUpdate) -> Row:
    functions = {spec.field.name: spec for spec in engine.aggregates}
    current = Current({name: None for name in versions[0] if name not in SYSTEM})
    current.accumulators = {name: Accumulator(spec) for name, spec in functions.items()}
    removed, has_add, number = False, False, versions[-1]["_SEQUENCE_NUMBER"]
    counted = [row for row in versions if not (engine.ignore_delete and _is_retract(row))]
    if counted:
        number = counted[-1]["_SEQUENCE_NUMBER"]
    for at, row in enumerate(versions):
        if _is_retract(row):
            if at == 0:
                current.replace(row)
            if engine.ignore_delete:
                continue
            removed = _take_back(current, row, engine)
        else:
            _update(current, row, engine)
            removed, has_add = False, True
    for name, accumulator in current.accumulators.items():
        current.values[name] = accumulator.value
    kind = DELETE if removed or not has_add else INSERT
    return {**current.values, "_SEQUENCE_NUMBER": number, "_VALUE_KIND": kind}


def _update(current: Current, row: Row, engine: PartialUpdate) -> None:
    grouped = {name for group in engine.groups for name in (*group.sequence, *group.members)}
    for name in current.values:
        if name not in grouped and row[name] is not None:
            current.values[name] = row[name]
    for group in engine.groups:
        if all(row[name] is None for name in group.sequence):
            continue
        is_on_time = _is_on_time(current, row, group)
        for name in group.members:
            if name in current.accumulators:
                accumulator = current.accumulators[name]
                (accumulator.add if is_on_time else accumulator.add_older)(row[name])
            elif is_on_time:
                current.values[name] = row[name]
        if is_on_time:
            current.values.update({name: row[name] for name in group.sequence})


def _take_back(current: Current, row: Row, engine: PartialUpdate) -> bool:
    """Whether the row is removed."""
    if not engine.groups:
        if not engine.remove_on_delete:
            raise Refused
        if row["_VALUE_KIND"] == DELETE:
            current.replace(row)
        return bool(row["_VALUE_KIND"] == DELETE)
    present = [group for group in engine.groups if any(row[name] is not None for name in group.sequence)]
    on_time = [group for group in present if _is_on_time(current, row, group)]
    if row["_VALUE_KIND"] == DELETE and any(group.removes_record for group in on_time):
        current.replace(row)
        return True
    for group in present:
        for name in group.members:
            if name in current.accumulators:
                current.accumulators[name].take_back(row[name])
            elif group in on_time:
                current.values[name] = None
        if group in on_time:
            current.values.update({name: row[name] for name in group.sequence})
    return False


def _is_on_time(current: Current, row: Row, group: SequenceGroup) -> bool:
    def order(values: Row) -> list[tuple[Any, ...]]:
        return [(0,) if values[name] is None else (1, values[name]) for name in group.sequence]

    return order(row) >= order(current.values)


def _is_retract(row: Row) -> bool:
    return row["_VALUE_KIND"] in (UPDATE_BEFORE, DELETE)
