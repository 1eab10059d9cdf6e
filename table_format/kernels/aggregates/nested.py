"""``nested_update``: a table in an ARRAY<ROW> (Java ``FieldNestedUpdateAgg`` of 1.4).

A single operand does not change. With a nested key, the rows are put into a hash map by key, and have its order. The
options ``nested-sequence-field`` and ``nested-key-null-strategy`` are from 2.x and select its rules.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidData, InvalidOption
from table_format.kernels.aggregates.buffers import validity
from table_format.kernels.aggregates.elements import (
    by_key,
    codes,
    collected,
    collected_lists,
    combined,
    elements_of,
    field_named,
    flattened,
    ranks,
    row_by_row,
)
from table_format.kernels.aggregates.function import TABLES, AggregateFunction
from table_format.kernels.aggregates.java_order import HashOrder, spread
from table_format.kernels.aggregates.segments import Kernel, Segments, piecewise, take_rows
from table_format.kernels.aggregates.spec import Action, AggregateSpec, NestedKeyNullStrategy
from table_format.kernels.hashing import row_hashes
from table_format.model.types import NESTED, ArrayType, RowType

Rows = list[int]

NO_LIMIT: Final = 2**31 - 1
"""The default of ``count-limit``."""


def fold_nested_update(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the rows of all inputs, or the newest row of each nested key; a retraction removes equal rows or keys."""
    if spec.nested_sequence or spec.nested_key_null_strategy is not NestedKeyNullStrategy.MERGE:
        return _KeyedTable(spec, segments).fold()
    path_dependent = segments.any_of(segments.is_action(Action.RETRACT, Action.REVERSED, Action.RESET))
    if spec.count_limit is not None:
        return fold_single_operands(segments, lambda s: _NestedTable(spec, s).fold())
    return piecewise(
        segments,
        path_dependent,
        lambda s: fold_single_operands(s, lambda several: _appended(spec, several)),
        lambda s: _NestedTable(spec, s).fold(),
    )


def _appended(spec: AggregateSpec, segments: Segments) -> pa.Array:
    inputs = flattened(segments)
    filled = validity(inputs.flat)[inputs.rows]
    rows, groups = inputs.rows[filled], inputs.groups[filled]
    if spec.nested_key:
        keys = [field_named(inputs.flat, name) for name in spec.nested_key]
        code = combined([codes(key) for key in keys], len(inputs.flat))[rows]
        spreads = np.array(key_spreads(spec, keys, len(inputs.flat)), np.uint32)[rows]
        _, last = by_key(groups, code, spreads)
        rows, groups = rows[last], groups[last]
    sizes = np.bincount(groups, minlength=segments.count)
    return collected(inputs.flat, rows, sizes, inputs.absent, segments.values.type)


def fold_single_operands(segments: Segments, exact: Kernel) -> pa.Array:
    """Keep the operand of groups that have only one; fold the others with ``exact``."""
    chosen = segments.select(validity(segments.values) & (segments.actions != Action.SKIP))
    operands = np.diff(chosen.starts, append=len(chosen.rows))
    several = segments.any_of(segments.is_action(Action.RETRACT, Action.RESET))
    several[chosen.groups[operands > 1]] = True
    return piecewise(segments, several, _only_operand, exact)


def _only_operand(segments: Segments) -> pa.Array:
    chosen = segments.select(validity(segments.values) & (segments.actions != Action.SKIP))
    return take_rows(segments, chosen, chosen.rows[chosen.starts])


class _NestedTable:
    """Builds nested tables one by one, with the rules of 1.4."""

    def __init__(self, spec: AggregateSpec, segments: Segments) -> None:
        self._spec = spec
        self._segments = segments
        self._elements = elements_of(segments.values)
        flat = self._elements.flat
        self._valid: list[bool] = validity(flat).tolist()
        keys = [field_named(flat, name) for name in spec.nested_key]
        code = combined([codes(key) for key in keys], len(flat)) if keys else codes(flat)
        self._codes: list[int] = code.tolist()
        self._spreads = key_spreads(spec, keys, len(flat))
        self._limit = NO_LIMIT if spec.count_limit is None else spec.count_limit

    def fold(self) -> pa.Array:
        """Return the nested table of each group."""
        values = [None if span is None else list(span) for span in self._elements.rows()]
        results = row_by_row(self._segments, values, self._agg, self._without)
        return collected_lists(self._elements.flat, results, self._segments.values.type)

    def _agg(self, accumulator: Rows | None, value: Rows | None) -> Rows | None:
        if accumulator is None or value is None:
            return value if accumulator is None else accumulator
        if len(accumulator) >= self._limit:
            return accumulator
        rows = [*self._filled(accumulator), *self._filled(value)[: self._limit - len(accumulator)]]
        return self._keyed(rows) if self._spec.nested_key else rows

    def _without(self, accumulator: Rows | None, value: Rows | None) -> Rows | None:
        if accumulator is None or value is None:
            return accumulator
        removed = {self._codes[row] for row in self._filled(value)}
        rows = self._filled(accumulator)
        if not self._spec.nested_key:
            return [row for row in rows if self._codes[row] not in removed]
        return [row for row in self._keyed(rows) if self._codes[row] not in removed]

    def _filled(self, rows: Rows) -> Rows:
        return [row for row in rows if self._valid[row]]

    def _keyed(self, rows: Rows) -> Rows:
        newest = {self._codes[row]: row for row in rows}
        return [newest[code] for code in HashOrder((self._codes[row], self._spreads[row]) for row in rows)]


class _KeyedTable(_NestedTable):
    """The rules of 2.x: sequence columns order the rows of a nested key, and a strategy determines null keys."""

    def __init__(self, spec: AggregateSpec, segments: Segments) -> None:
        super().__init__(spec, segments)
        flat = self._elements.flat
        order = [ranks(field_named(flat, name)).tolist() for name in spec.nested_sequence]
        self._sequences = list(zip(*order, strict=True)) if order else [()] * len(flat)
        self._null_keys = null_keys(spec, flat)

    def _agg(self, accumulator: Rows | None, value: Rows | None) -> Rows | None:
        if value is None:
            return accumulator
        newest: dict[int, int] = {}
        order = HashOrder()
        for row in self._filled(accumulator or []):
            self._put(newest, order, row, limit=NO_LIMIT)
        for row in self._filled(value):
            self._put(newest, order, row, limit=self._limit)
        return [newest[code] for code in order]

    def _put(self, newest: dict[int, int], order: HashOrder, row: int, *, limit: int) -> None:
        code = self._codes[row]
        there = newest.get(code)
        if there is None and len(newest) >= limit:
            return
        if there is None or self._sequences[row] >= self._sequences[there]:
            newest[code] = row
            order.add(code, self._spreads[row])

    def _filled(self, rows: Rows) -> Rows:
        return with_keys(self._spec, super()._filled(rows), self._null_keys)


def null_keys(spec: AggregateSpec, flat: pa.Array) -> list[bool]:
    """Return the rows of a nested table with a null in their key."""
    mask = np.zeros(len(flat), np.bool_)
    for name in spec.nested_key:
        mask |= ~validity(field_named(flat, name))
    found: list[bool] = mask.tolist()
    return found


def with_keys(spec: AggregateSpec, rows: Rows, null_keys: list[bool]) -> Rows:
    """Return the rows without those that are excluded because of a null in their key.

    Raises:
        InvalidData: a row has a null key, and the column's strategy is ``error``.
    """
    match spec.nested_key_null_strategy:
        case NestedKeyNullStrategy.MERGE:
            return rows
        case NestedKeyNullStrategy.IGNORE:
            return [row for row in rows if not null_keys[row]]
    if any(null_keys[row] for row in rows):
        message = (
            f"column '{spec.field.name}': a row of the nested table has a null in its key {list(spec.nested_key)}; "
            f"write no such rows or set 'fields.{spec.field.name}.nested-key-null-strategy' to 'merge' or 'ignore'"
        )
        raise InvalidData(message)
    return rows


def key_spreads(spec: AggregateSpec, keys: list[pa.Array], count: int) -> list[int]:
    """Return the spread hash in Java's hash maps of the key of each row."""
    types = {f.name: f.type for f in row_type(spec).fields}
    key_types = [types[name] for name in spec.nested_key]
    if not keys or any(isinstance(t, NESTED) for t in key_types):
        return [0] * count
    hashes = row_hashes(key_types, keys).view(np.uint32)
    spreads: list[int] = spread(hashes).tolist()
    return spreads


def row_type(spec: AggregateSpec) -> RowType:
    """Return the type of the rows of a nested table. Requires that ``check_aggregate`` accepts the column."""
    array = spec.field.type
    if isinstance(array, ArrayType) and isinstance(array.element, RowType):
        return array.element
    message = f"column '{spec.field.name}': expected ARRAY<ROW>, found {array}"
    raise InvalidData(message)


def check_nested_names(spec: AggregateSpec) -> None:
    """Refuse options that name fields that the nested table lacks.

    Raises:
        InvalidOption: there is such an option; the message names it and the field.
    """
    name = spec.field.name
    if not (isinstance(spec.field.type, ArrayType) and isinstance(spec.field.type.element, RowType)):
        return
    known = [f.name for f in spec.field.type.element.fields]
    for option, columns in (("nested-key", spec.nested_key), ("nested-sequence-field", spec.nested_sequence)):
        for column in columns:
            if column not in known:
                message = f"column '{name}' has no nested field '{column}'; its fields are {', '.join(known)}"
                option_key = f"fields.{name}.{option}"
                raise InvalidOption(option_key, message)


def _check_keyed_options(spec: AggregateSpec) -> None:
    if not spec.nested_key:
        for option, is_set in (
            ("nested-sequence-field", bool(spec.nested_sequence)),
            ("nested-key-null-strategy", spec.nested_key_null_strategy is not NestedKeyNullStrategy.MERGE),
        ):
            if is_set:
                option_key, message = (
                    f"fields.{spec.field.name}.{option}",
                    (f"needs the option 'fields.{spec.field.name}.nested-key'"),
                )
                raise InvalidOption(option_key, message)
    check_nested_names(spec)


NESTED_UPDATE: Final = AggregateFunction(
    "nested_update",
    fold_nested_update,
    TABLES,
    "the rows of all nested tables; with `fields.<column>.nested-key`, the last row of each key",
    retracts=True,
    sees_resets=True,
    check=_check_keyed_options,
)
