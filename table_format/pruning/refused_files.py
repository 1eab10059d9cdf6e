"""Finds files that contain no selected row, with columnar operations. This prunes most files of a large table.

It is a first filter before ``kernels.bounds.may_match``, which tests each remaining file. That test would also refuse
every file that is refused here. Files with unsupported types or conditions pass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.codecs.binary_row import bitmap_bytes
from table_format.codecs.manifest_columns import Bounds, ManifestColumns, StoredRows
from table_format.model.predicate import And, Compare, CompareOp, In, Or, Predicate, columns_of, in_order
from table_format.model.schema import TableSchema
from table_format.model.types import (
    BigIntType,
    DataType,
    DateType,
    InternalValue,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from table_format.pruning.file_bounds import FileBounds, StatsColumns

Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sifted:
    """Which files contain no selected row, and which may contain one according to their statistics.

    For all other files, only the test of the single file decides.
    """

    refused: Mask
    passed: Mask


Refusal: TypeAlias = Callable[[ManifestColumns, Rows], Sifted]
"""Classifies entries of a manifest, which are given by their positions."""

_WIDTHS: Final[Mapping[type[DataType], type[np.signedinteger[Any]]]] = {
    TinyIntType: np.int8,
    SmallIntType: np.int16,
    IntType: np.int32,
    DateType: np.int32,
    BigIntType: np.int64,
}
_ARITY_BYTES: Final = 4
_SLOT_BYTES: Final = 8
_INLINE: Final = 0x80


def refusal_by_keys(condition: Predicate, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> Refusal:
    """Return the refusal by the bounds of keys, for a condition on keys only. The arguments are those of
    ``FileBounds``.
    """
    located = FileBounds(schema, schemas, columns_of(condition))

    def sifted(columns: ManifestColumns, rows: Rows) -> Sifted:
        layouts = columns.schema_ids[rows].tolist()
        return _sifted(condition, columns.key_bounds, rows, layouts, located.key_columns)

    return sifted


def refusal_by_values(condition: Predicate, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> Refusal:
    """Return the refusal by the bounds of all columns. The arguments are those of ``FileBounds``."""
    located = FileBounds(schema, schemas, columns_of(condition))

    def sifted(columns: ManifestColumns, rows: Rows) -> Sifted:
        layouts = columns.value_layouts(rows)
        return _sifted(condition, columns.value_bounds, rows, layouts, lambda layout: located.value_columns(*layout))

    return sifted


def _sifted(
    condition: Predicate,
    bounds: Bounds | None,
    rows: Rows,
    layouts: Sequence[Any],
    columns_of_layout: Callable[[Any], StatsColumns],
) -> Sifted:
    found = Sifted(np.zeros(rows.size, np.bool_), np.zeros(rows.size, np.bool_))
    if bounds is None:
        return found
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(layout, len(numbers)) for layout in layouts], np.int64)
    for layout, code in numbers.items():
        here = np.flatnonzero(codes == code)
        of_layout = _Layout(columns_of_layout(layout), bounds, rows[here]).sifted(condition)
        found.refused[here], found.passed[here] = of_layout.refused, of_layout.passed
    return found


@dataclass(frozen=True, slots=True)
class _Values:
    """One bound of a column in each file. If it is unknown, its value has no meaning."""

    are_known: Mask
    values: npt.NDArray[Any] | list[str]

    def where(self, test: Callable[[Any], Any]) -> Mask:
        """Return a mask of the files whose bound is known and passes a test. The test takes an array or a text."""
        if isinstance(self.values, list):
            return self.are_known & np.fromiter(map(test, self.values), np.bool_, len(self.values))
        found: Mask = self.are_known & test(self.values)
        return found


class _Layout:
    """The bounds of files with the same statistics columns."""

    def __init__(self, columns: StatsColumns, bounds: Bounds, rows: Rows) -> None:
        self._columns = columns
        self._bounds = bounds
        self._rows = rows
        self._known: dict[str, tuple[_Values, _Values] | None] = {}

    def sifted(self, condition: Predicate) -> Sifted:
        match condition:
            case And(parts) if parts:
                return reduce(_both, map(self.sifted, parts))
            case Or(parts) if parts:
                return reduce(_either, map(self.sifted, parts))
            case Compare(column, op, value):
                return self._compared(column, op, value)
            case In(values=values) if values:
                return self._listed(condition)
        return self._nothing()

    def _listed(self, condition: In) -> Sifted:
        known = self._bounds_of(condition.column)
        if known is None:
            return self._nothing()
        low, high = known
        of_kind = _texts_in(condition) if isinstance(low.values, list) else _integers_in(condition)
        if not of_kind:
            return self._nothing()
        first, last = of_kind[0], of_kind[-1]
        may_hold = low.are_known & high.are_known & _holds_one(of_kind, low.values, high.values)
        refused = low.where(lambda v: v > last) | high.where(lambda v: v < first)
        refused |= low.are_known & high.are_known & ~may_hold
        # A value of another kind is left to the test of the single file.
        is_whole = len(of_kind) == len(condition.values)
        return Sifted(refused if is_whole else self._nothing().refused, may_hold)

    def _compared(self, column: str, op: CompareOp, literal: InternalValue) -> Sifted:
        known = self._bounds_of(column)
        if known is None or type(literal) is not (str if isinstance(known[0].values, list) else int):
            return self._nothing()
        low, high = known
        match op:
            case CompareOp.EQ:
                refused = low.where(lambda v: v > literal) | high.where(lambda v: v < literal)
                return Sifted(refused, low.are_known & high.are_known & ~refused)
            case CompareOp.LT:
                refused = low.where(lambda v: v >= literal)
            case CompareOp.LE:
                refused = low.where(lambda v: v > literal)
            case CompareOp.GT:
                refused = high.where(lambda v: v <= literal)
            case CompareOp.GE:
                refused = high.where(lambda v: v < literal)
            case _:
                return self._nothing()
        needed = low if op in (CompareOp.LT, CompareOp.LE) else high
        return Sifted(refused, needed.are_known & ~refused)

    def _bounds_of(self, column: str) -> tuple[_Values, _Values] | None:
        if column not in self._known:
            self._known[column] = self._read_bounds(column)
        return self._known[column]

    def _read_bounds(self, column: str) -> tuple[_Values, _Values] | None:
        if column not in self._columns.names:
            return None
        position = self._columns.positions[self._columns.names.index(column)]
        types = self._columns.types
        if type(types[position]) not in (*_WIDTHS, VarCharType):
            return None
        low, high = (
            _values_of(stored, self._rows, types, position) for stored in (self._bounds.minima, self._bounds.maxima)
        )
        return low, high

    def _nothing(self) -> Sifted:
        return Sifted(np.zeros(self._rows.size, np.bool_), np.zeros(self._rows.size, np.bool_))


def _texts_in(condition: In) -> Sequence[str]:
    return in_order(condition).texts


def _integers_in(condition: In) -> Sequence[int]:
    return condition.prepared(int, lambda: [number for number in in_order(condition).numbers if type(number) is int])


def _holds_one(wanted: Sequence[Any], low: npt.NDArray[Any] | list[str], high: npt.NDArray[Any] | list[str]) -> Mask:
    """Return a mask of the ranges that include one of some sorted values."""
    if isinstance(low, list):
        first = [bisect_left(wanted, text) for text in low]
        pairs = zip(first, high, strict=True)
        return np.array([at < len(wanted) and wanted[at] <= text for at, text in pairs], np.bool_)
    limits = np.iinfo(np.int64)
    within = np.array([number for number in wanted if limits.min <= number <= limits.max], np.int64)
    return np.searchsorted(within, low, "left") < np.searchsorted(within, high, "right")


def _both(left: Sifted, right: Sifted) -> Sifted:
    return Sifted(left.refused | right.refused, left.passed & right.passed)


def _either(left: Sifted, right: Sifted) -> Sifted:
    return Sifted(left.refused & right.refused, left.passed | right.passed)


def _values_of(stored: StoredRows, rows: Rows, types: Sequence[DataType], position: int) -> _Values:
    """Return the values of one column of serialized rows. Invalid values and nulls are unknown."""
    starts, lengths = stored.starts[rows], stored.ends[rows] - stored.starts[rows]
    fields = _ARITY_BYTES + bitmap_bytes(len(types))
    content = np.frombuffer(stored.content + bytes(_SLOT_BYTES), np.uint8)
    words = np.lib.stride_tricks.sliding_window_view(content, _SLOT_BYTES)
    is_long_enough = lengths >= fields + _SLOT_BYTES * len(types)
    at = np.where(is_long_enough, starts, 0)
    arity = words[at][:, :_ARITY_BYTES].copy().view(">i4").reshape(-1)
    null_bit = content[at + _ARITY_BYTES + (position + 8) // 8] & (1 << position % 8)
    are_known = is_long_enough & (arity == len(types)) & (null_bit == 0)
    slots = words[np.where(are_known, at + fields + _SLOT_BYTES * position, 0)]
    width = _WIDTHS.get(type(types[position]))
    if width is not None:
        return _Values(are_known, slots.view(np.dtype(width).newbyteorder("<"))[:, 0])
    return _texts(stored, starts, lengths, slots, are_known)


def _texts(stored: StoredRows, starts: Rows, lengths: Rows, slots: npt.NDArray[np.uint8], are_known: Mask) -> _Values:
    is_inline = slots[:, -1] & _INLINE != 0
    pointers = slots.copy().view("<u4").astype(np.int64)
    size = np.where(is_inline, slots[:, -1] & ~np.uint8(_INLINE), pointers[:, 0])
    first = starts + _ARITY_BYTES + pointers[:, 1]
    is_sound = np.where(is_inline, size < _SLOT_BYTES, pointers[:, 1] + size <= lengths - _ARITY_BYTES)
    are_known = are_known & is_sound
    texts: list[str] = []
    places = zip(first.tolist(), size.tolist(), is_inline.tolist(), are_known.tolist(), strict=True)
    for number, (start, length, inline, known) in enumerate(places):
        data = slots[number].tobytes()[:length] if inline else stored.content[start : start + length]
        try:
            texts.append(data.decode() if known else "")
        except UnicodeDecodeError:
            are_known[number] = False
            texts.append("")
    return _Values(are_known, texts)
