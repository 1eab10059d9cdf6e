"""``merge_map`` and ``merge_map_with_keytime`` (Java ``FieldMergeMapAgg``, ``FieldMergeMapWithKeyTimeAgg`` of 1.4).

A single operand does not change. Two or more are put into a hash map, and the entries have its order.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.kernels.aggregates.elements import (
    by_key,
    codes,
    collected,
    collected_lists,
    elements_of,
    field_named,
    flattened,
    row_by_row,
)
from table_format.kernels.aggregates.function import AggregateFunction, ColumnTypes
from table_format.kernels.aggregates.java_order import HashOrder, spread_hashes
from table_format.kernels.aggregates.segments import Segments, piecewise, take_rows
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.model.types import CharType, MapType, RowType, VarCharType

Entries = list[int]


def fold_merge_map(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Merge the entries of all inputs; the newest entry of a key wins. A retraction removes its keys, with any
    values.
    """
    return piecewise(
        segments,
        segments.any_of(segments.is_action(Action.RETRACT, Action.REVERSED)),
        _merged,
        lambda s: _MapMerger(s).fold(),
    )


def fold_merge_map_with_keytime(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the entries of all inputs; for each key, the one with the greatest time. A null value removes the key."""
    return _KeyTimeMerger(segments, spec.timestamp_field).fold()


def _merged(segments: Segments) -> pa.Array:
    elements = elements_of(segments.values)
    chosen = segments.select(elements.valid & (segments.actions != Action.SKIP))
    operands = np.diff(chosen.starts, append=len(chosen.rows))
    several = np.zeros(segments.count, np.bool_)
    several[chosen.groups[operands > 1]] = True
    if not several.any():
        return take_rows(segments, chosen, chosen.rows[chosen.starts])
    return piecewise(segments, several, _merged, _merged_by_key)


def _merged_by_key(segments: Segments) -> pa.Array:
    inputs = flattened(segments)
    keys = cast("pa.StructArray", inputs.flat).field(0)
    spreads = spread_hashes(keys)
    code = codes(keys, by_identity=True)[inputs.rows]
    _, last = by_key(inputs.groups, code, None if spreads is None else spreads[inputs.rows])
    sizes = np.bincount(inputs.groups[last], minlength=segments.count)
    return collected(inputs.flat, inputs.rows[last], sizes, inputs.absent, segments.values.type)


class _MapMerger:
    """Processes rows one by one, for groups with retractions or late rows."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._elements = elements_of(segments.values)
        keys = cast("pa.StructArray", self._elements.flat).field(0)
        self._codes: list[int] = codes(keys, by_identity=True).tolist()
        spreads = spread_hashes(keys)
        self._spreads = [0] * len(keys) if spreads is None else spreads.tolist()

    def fold(self) -> pa.Array:
        """Return the entries of each group."""
        values = [None if span is None else list(span) for span in self._elements.rows()]
        results = row_by_row(self._segments, values, self._agg, self._without)
        return collected_lists(self._elements.flat, results, self._segments.values.type)

    def _agg(self, accumulator: Entries | None, value: Entries | None) -> Entries | None:
        if accumulator is None or value is None:
            return value if accumulator is None else accumulator
        entries: dict[int, int] = {}
        order = HashOrder()
        for entry in accumulator:
            self._put(entries, order, entry)
        for entry in value:
            self._merge(entries, order, entry)
        return [entries[code] for code in order]

    def _put(self, entries: dict[int, int], order: HashOrder, entry: int) -> None:
        order.add(self._codes[entry], self._spreads[entry])
        entries[self._codes[entry]] = entry

    def _merge(self, entries: dict[int, int], order: HashOrder, entry: int) -> None:
        self._put(entries, order, entry)

    def _without(self, accumulator: Entries | None, value: Entries | None) -> Entries | None:
        if accumulator is None or not value:
            return accumulator
        removed = {self._codes[entry] for entry in value}
        entries: dict[int, int] = {}
        order = HashOrder()
        for entry in accumulator:
            if self._codes[entry] not in removed:
                self._put(entries, order, entry)
        return [entries[code] for code in order]


class _KeyTimeMerger(_MapMerger):
    def __init__(self, segments: Segments, timestamp_field: str | None) -> None:
        super().__init__(segments)
        values = cast("pa.StructArray", self._elements.flat).field(1)
        name = timestamp_field or values.type.field(values.type.num_fields - 1).name
        self._times: list[object] = field_named(values, name).to_pylist()
        self._valid = values.is_valid().to_pylist()

    def _merge(self, entries: dict[int, int], order: HashOrder, entry: int) -> None:
        code = self._codes[entry]
        if not self._valid[entry]:
            order.discard(code)
            entries.pop(code, None)
            return
        time = self._times[entry]
        if time is None:
            return
        there = entries.get(code)
        known = None if there is None or not self._valid[there] else self._times[there]
        if known is None or _is_later(time, known):
            self._put(entries, order, entry)


def _is_later(time: object, known: object) -> bool:
    """Return whether a time is later; as in Java, times are compared as texts by UTF-16 units.

    Raises:
        UnsupportedFeature: the times have another type, which is refused when a table is created.
    """
    if not isinstance(time, str) or not isinstance(known, str):
        feature = "merge_map_with_keytime with times that are not texts"
        raise UnsupportedFeature(feature)
    return time.encode("utf-16-be") > known.encode("utf-16-be")


def _check_timestamp_field(spec: AggregateSpec) -> None:
    """Refuse times that Java cannot compare: it treats times as texts, whatever their type."""
    data_type, name = spec.field.type, spec.timestamp_field
    if not isinstance(data_type, MapType) or not isinstance(data_type.value, RowType):
        return
    key, column = f"fields.{spec.field.name}.ts-field", spec.field.name
    by_name = {f.name: f.type for f in data_type.value.fields}
    if name is not None and name not in by_name:
        message = f"column '{column}' has no field '{name}'; its fields are {', '.join(by_name)}"
        raise InvalidOption(key, message)
    time = data_type.value.fields[-1].name if name is None else name
    if not isinstance(by_name[time], CharType | VarCharType):
        named = "names" if name is not None else "is not set, which means the last field:"
        message = (
            f"{named} field '{time}' of column '{column}', which is {by_name[time]}; "
            "times are compared as texts; name a field of type STRING, VARCHAR(n) or CHAR(n)"
        )
        raise InvalidOption(key, message)


MERGE_MAP: Final = AggregateFunction(
    "merge_map",
    fold_merge_map,
    ColumnTypes("MAP<...>", lambda t: isinstance(t, MapType)),
    "the entries of all maps; for each key, the last entry",
    retracts=True,
)
MERGE_MAP_WITH_KEYTIME: Final = AggregateFunction(
    "merge_map_with_keytime",
    fold_merge_map_with_keytime,
    ColumnTypes(
        "MAP<..., ROW<...>> with two or more fields in the ROW",
        lambda t: isinstance(t, MapType) and isinstance(t.value, RowType) and len(t.value.fields) > 1,
    ),
    "the entries of all maps; for each key, the entry with the greatest `fields.<column>.ts-field`",
    check=_check_timestamp_field,
)
