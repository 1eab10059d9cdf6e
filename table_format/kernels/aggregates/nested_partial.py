"""``nested_partial_update``: nested rows updated field by field (Java ``FieldNestedPartialUpdateAgg`` of 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidOption
from table_format.kernels.aggregates.buffers import take_or_null, validity
from table_format.kernels.aggregates.elements import codes, collected, combined, elements_of, field_named, row_by_row
from table_format.kernels.aggregates.function import TABLES, AggregateFunction
from table_format.kernels.aggregates.java_order import HashOrder
from table_format.kernels.aggregates.nested import (
    check_nested_names,
    fold_single_operands,
    key_spreads,
    null_keys,
    row_type,
    with_keys,
)
from table_format.kernels.aggregates.segments import Segments
from table_format.kernels.aggregates.spec import AggregateSpec, NestedKeyNullStrategy


def fold_nested_partial_update(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return one row for each nested key of the inputs, in which nulls do not overwrite values."""
    if spec.nested_key_null_strategy is not NestedKeyNullStrategy.MERGE:
        return _PartialTable(spec, segments).fold()
    return fold_single_operands(segments, lambda s: _PartialTable(spec, s).fold())


@dataclass(frozen=True, slots=True)
class _Row:
    """A nested row combined from several: ``key`` is a row with its key, ``sources`` the row of each field, or -1."""

    key: int
    sources: tuple[int, ...]


_Rows = list[_Row]


class _PartialTable:
    def __init__(self, spec: AggregateSpec, segments: Segments) -> None:
        self._spec = spec
        self._segments = segments
        self._elements = elements_of(segments.values)
        flat = self._elements.flat
        self._valid: list[bool] = validity(flat).tolist()
        self._null_keys = null_keys(spec, flat)
        keys = [field_named(flat, name) for name in spec.nested_key]
        self._codes: list[int] = combined([codes(key) for key in keys], len(flat)).tolist()
        self._spreads = key_spreads(spec, keys, len(flat))
        self._fields = [field_named(flat, f.name) for f in row_type(spec).fields]
        places = [np.where(validity(f), np.arange(len(flat)), -1).tolist() for f in self._fields]
        self._sources: list[tuple[int, ...]] = list(zip(*places, strict=True))

    def fold(self) -> pa.Array:
        """Return the nested table of each group."""
        values = [
            None if span is None else [_Row(element, self._sources[element]) for element in span]
            for span in self._elements.rows()
        ]
        return self._built(row_by_row(self._segments, values, self._agg, lambda accumulator, _: accumulator))

    def _agg(self, accumulator: _Rows | None, value: _Rows | None) -> _Rows | None:
        is_merge = self._spec.nested_key_null_strategy is NestedKeyNullStrategy.MERGE
        if value is None or (accumulator is None and is_merge):
            return value if accumulator is None else accumulator
        newest: dict[int, _Row] = {}
        order = HashOrder()
        for row in [*self._filled(accumulator or []), *self._filled(value)]:
            code = self._codes[row.key]
            there = newest.get(code)
            newest[code] = row if there is None else _Row(there.key, _updated(there.sources, row.sources))
            order.compute(code, self._spreads[row.key])
        return [newest[code] for code in order]

    def _filled(self, rows: _Rows) -> _Rows:
        filled = [row for row in rows if self._valid[row.key]]
        kept = set(with_keys(self._spec, [row.key for row in filled], self._null_keys))
        return [row for row in filled if row.key in kept]

    def _built(self, results: list[_Rows | None]) -> pa.Array:
        rows = [row for result in results if result is not None for row in result]
        fields = [
            take_or_null(field, np.array([row.sources[i] for row in rows], np.int64))
            for i, field in enumerate(self._fields)
        ]
        element = self._segments.values.type.value_type
        missing = pa.array([not self._valid[row.key] for row in rows], pa.bool_())
        flat = pa.StructArray.from_arrays(fields, fields=list(element), mask=missing)
        sizes = np.array([0 if result is None else len(result) for result in results], np.int64)
        absent = np.array([result is None for result in results], np.bool_)
        return collected(flat, np.arange(len(rows)), sizes, absent, self._segments.values.type)


def _updated(older: tuple[int, ...], newer: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(b if b >= 0 else a for a, b in zip(older, newer, strict=True))


def _check_key(spec: AggregateSpec) -> None:
    if not spec.nested_key:
        option = f"fields.{spec.field.name}.aggregate-function"
        message = f"'{spec.function}' needs the option 'fields.{spec.field.name}.nested-key'"
        raise InvalidOption(option, message)
    check_nested_names(spec)


NESTED_PARTIAL_UPDATE: Final = AggregateFunction(
    "nested_partial_update",
    fold_nested_partial_update,
    TABLES,
    "one row for each `fields.<column>.nested-key`, in which nulls do not overwrite values",
    sees_resets=True,
    check=_check_key,
)
