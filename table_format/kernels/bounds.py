"""Bounds of columns, which can show that no row of a file, row group or partition satisfies a predicate.

For each part of the predicate, the possible outcomes (true, false, unknown) are determined. Unknown facts leave all
outcomes possible, so a matching row is never pruned. Bounds only have to enclose the values, so truncated strings
(format chapter 04, section 3) are valid. Other writers may omit NaN from the bounds. A FLOAT or DOUBLE column may
therefore contain NaN, which is above every number, unless its bounds exclude it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from table_format.model.like import literal_prefix
from table_format.model.predicate import (
    And,
    Compare,
    CompareOp,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    SortedValues,
    in_order,
)
from table_format.model.types import InternalValue


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The known bounds of a column's values; ``None`` means unknown.

    ``may_hold_nan=False`` states that a FLOAT or DOUBLE column has no NaN outside the bounds.
    """

    minimum: InternalValue
    maximum: InternalValue
    null_count: int | None
    row_count: int
    may_hold_nan: bool = field(default=True, repr=False, compare=False)

    @property
    def is_unknown(self) -> bool:
        """Whether only the number of rows is known."""
        return self.minimum is None and self.maximum is None and self.null_count is None

    @property
    def may_hold_null(self) -> bool:
        """Whether a null may be among the values."""
        return self.row_count > 0 if self.null_count is None else self.null_count > 0

    @property
    def may_hold_value(self) -> bool:
        """Whether a non-null value may be among the values."""
        return self.row_count > (self.null_count or 0)


def may_match(predicate: Predicate, bounds: Mapping[str, ColumnBounds]) -> bool:
    """Return whether some row may satisfy the predicate; true unless this is impossible.

    >>> from table_format.model.predicate import Compare, CompareOp
    >>> may_match(Compare("a", CompareOp.GT, 9), {"a": ColumnBounds(1, 9, 0, 100)})
    False
    """
    return _outcomes(predicate, bounds).true


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """The possible results of a condition for any row."""

    true: bool
    false: bool
    unknown: bool


_ANY: Final = _Outcomes(true=True, false=True, unknown=True)


def _outcomes(predicate: Predicate, bounds: Mapping[str, ColumnBounds]) -> _Outcomes:
    match predicate:
        case Literal(value):
            return _Outcomes(true=value is True, false=value is False, unknown=value is None)
        case Not(part):
            inner = _outcomes(part, bounds)
            return _Outcomes(true=inner.false, false=inner.true, unknown=inner.unknown)
        case And(parts):
            all_of = [_outcomes(part, bounds) for part in parts]
            return _Outcomes(
                true=all(o.true for o in all_of),
                false=any(o.false for o in all_of),
                unknown=any(o.unknown for o in all_of),
            )
        case Or(parts):
            any_of = [_outcomes(part, bounds) for part in parts]
            return _Outcomes(
                true=any(o.true for o in any_of),
                false=all(o.false for o in any_of),
                unknown=any(o.unknown for o in any_of),
            )
        case _:
            known = bounds.get(predicate.column)
            return _ANY if known is None else _column_outcomes(predicate, known)


def _column_outcomes(predicate: Compare | In | Like | IsNull, known: ColumnBounds) -> _Outcomes:
    if isinstance(predicate, IsNull):
        return _Outcomes(true=known.may_hold_null, false=known.may_hold_value, unknown=False)
    if not known.may_hold_value:
        return _Outcomes(true=False, false=False, unknown=known.may_hold_null)
    if isinstance(predicate, Compare):
        true, false = _compare(predicate.op, _Range.of(known, predicate.value), predicate.value)
    elif isinstance(predicate, In):
        each = [
            _compare(CompareOp.EQ, _Range.of(known, value), value) for value in _decisive(in_order(predicate), known)
        ]
        true, false = any(t for t, _ in each), all(f for _, f in each)
    else:
        prefix = literal_prefix(predicate.pattern)
        true = _compare(CompareOp.STARTS_WITH, _Range.of(known, prefix), prefix)[0]
        false = True
    return _Outcomes(true=true, false=false, unknown=known.may_hold_null)


def _decisive(values: SortedValues, known: ColumnBounds) -> Iterator[InternalValue]:
    """Return the values that decide an IN: of each kind, the first that is not below the minimum, and its equals.

    If that value is above the maximum, so are all after it. Only values that equal the minimum can be all that the
    column contains.
    """
    for of_kind in (values.numbers, values.texts, values.data):
        if not of_kind:
            continue
        low = _Range.of(known, of_kind[0]).low
        start = 0 if low is None else bisect_left(of_kind, low)
        yield from of_kind[start : max(start + 1, 0 if low is None else bisect_right(of_kind, low, start))]
    if values.has_nan:
        yield math.nan


@dataclass(frozen=True, slots=True)
class _Range:
    """Bounds that can be compared with a literal; ``None`` is unbounded."""

    low: Any
    high: Any
    may_hold_nan: bool

    @classmethod
    def of(cls, known: ColumnBounds, value: InternalValue) -> _Range:
        low, high = (bound if _is_comparable(bound, value) else None for bound in (known.minimum, known.maximum))
        is_float = isinstance(value, float) or isinstance(low, float) or isinstance(high, float)
        return cls(low, high, is_float and known.may_hold_nan)


def _is_comparable(bound: InternalValue, value: InternalValue) -> bool:
    if isinstance(bound, float) and math.isnan(bound):
        return False
    for family in (str, bytes, (int, float, Decimal)):
        if isinstance(value, family):
            return isinstance(bound, family)
    return False


def _compare(op: CompareOp, values: _Range, literal: Any) -> tuple[bool, bool]:  # noqa: ANN401
    """Return whether ``value op literal`` may be true, and whether it may be false, for non-null values in range."""
    low = values.low
    if isinstance(literal, float) and math.isnan(literal):
        return _compare_nan(op, values)
    match op:
        case CompareOp.LT:
            return low is None or low < literal, _reaches(values, literal)
        case CompareOp.LE:
            return low is None or low <= literal, _exceeds(values, literal)
        case CompareOp.GT:
            return _exceeds(values, literal), low is None or low <= literal
        case CompareOp.GE:
            return _reaches(values, literal), low is None or low < literal
        case CompareOp.EQ:
            return _may_equal(values, literal), _may_differ(values, literal)
        case CompareOp.NE:
            return _may_differ(values, literal), _may_equal(values, literal)
        case CompareOp.STARTS_WITH:
            return _may_start(values, literal), not _all_start(values, literal)
        case CompareOp.ENDS_WITH | CompareOp.CONTAINS:
            return True, len(literal) > 0


def _reaches(values: _Range, literal: Any) -> bool:  # noqa: ANN401
    """Return whether some value may be at or above the literal."""
    return values.may_hold_nan or values.high is None or bool(values.high >= literal)


def _exceeds(values: _Range, literal: Any) -> bool:  # noqa: ANN401
    """Return whether some value may be above the literal."""
    return values.may_hold_nan or values.high is None or bool(values.high > literal)


def _may_equal(values: _Range, literal: Any) -> bool:  # noqa: ANN401
    return not (
        (values.low is not None and literal < values.low) or (values.high is not None and values.high < literal)
    )


def _may_differ(values: _Range, literal: Any) -> bool:  # noqa: ANN401
    return values.may_hold_nan or not (values.low == literal == values.high)


def _may_start(values: _Range, prefix: Any) -> bool:  # noqa: ANN401
    starts_low = values.low is None or values.low[: len(prefix)] <= prefix
    return starts_low and (values.high is None or values.high >= prefix)


def _all_start(values: _Range, prefix: Any) -> bool:  # noqa: ANN401
    # A string between two strings with a common prefix has that prefix.
    return (
        values.low is not None
        and values.high is not None
        and all(bound[: len(prefix)] == prefix for bound in (values.low, values.high))
    )


def _compare_nan(op: CompareOp, values: _Range) -> tuple[bool, bool]:
    """Return the same as ``_compare`` for the literal NaN, which equals itself and is above every number."""
    nan, number = values.may_hold_nan, True
    match op:
        case CompareOp.LT | CompareOp.NE:
            return number, nan
        case CompareOp.EQ | CompareOp.GE:
            return nan, number
        case CompareOp.LE:
            return True, False
        case CompareOp.GT:
            return False, True
        case _:
            return True, True
