"""Evaluates predicates on columns, with the three-valued logic of SQL.

Comparisons follow the order of Java and Spark: NaN equals itself and is greater than every number, -0.0 equals 0.0,
strings are compared by their UTF-8 bytes. So every comparison of two values is true or false, and its NOT is the
opposite comparison.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidFilter
from table_format.kernels.equal_numbers import with_equal_bits
from table_format.kernels.values import array_of
from table_format.model.arrow_calls import fill_null, if_else
from table_format.model.column_names import no_such_column
from table_format.model.like import Wildcard, pieces, regular_expression
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
    columns_of,
)
from table_format.model.ticks import compared_with_tick, decimal_of, position, tick_range
from table_format.model.types import (
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DecimalType,
    FloatingType,
    InternalValue,
    TextType,
)

_COMPARE: Final[Mapping[CompareOp, Callable[..., pa.BooleanArray]]] = {
    CompareOp.EQ: pc.equal,
    CompareOp.NE: pc.not_equal,
    CompareOp.LT: pc.less,
    CompareOp.LE: pc.less_equal,
    CompareOp.GT: pc.greater,
    CompareOp.GE: pc.greater_equal,
}
_OPPOSITE: Final[Mapping[CompareOp, CompareOp]] = {
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
    CompareOp.LT: CompareOp.GE,
    CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.GE: CompareOp.LT,
}

_MANY: Final = 16
"""Above this number of values for each row, an IN uses a Python set: slower for each row, but built only once."""


def matches(predicate: Predicate, batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.BooleanArray:
    """Return a mask of the rows that satisfy the predicate, without nulls: unknown is false.

    >>> from table_format.model.types import IntType
    >>> batch = pa.record_batch({"a": pa.array([1, None, 3], pa.int32())})
    >>> matches(Not(Compare("a", CompareOp.EQ, 1)), batch, [DataField(0, "a", IntType())]).to_pylist()
    [False, False, True]

    Raises:
        ColumnNotFound: ``fields`` or the batch lacks a column of the predicate.
        InvalidFilter: a literal is invalid for the type of its column, or the type cannot be compared.
    """
    types = {field.name: field.type for field in fields}
    return fill_null(_evaluate(predicate, batch, types), False)


def negate(predicate: Predicate) -> Predicate:
    """Return the predicate that is true if this one is false, with NOT moved to the leaves that need it.

    >>> negate(And((IsNull("a"), Compare("b", CompareOp.LT, 1))))
    Or(parts=(Not(part=IsNull(column='a')), Compare(column='b', op=<CompareOp.GE: '>='>, value=1)))
    """
    match predicate:
        case Not(part):
            return normalise(part)
        case And(parts):
            return normalise(Or(tuple(negate(part) for part in parts)))
        case Or(parts):
            return normalise(And(tuple(negate(part) for part in parts)))
        case Literal(value):
            return Literal(None if value is None else not value)
        case Compare(column, op, value) if op in _OPPOSITE:
            return Compare(column, _OPPOSITE[op], value)
        case _:
            return Not(predicate)


def normalise(predicate: Predicate) -> Predicate:
    """Return an equivalent predicate with NOT only at leaves, nested AND and OR flattened, and constants folded.

    >>> normalise(Not(Or((Compare("a", CompareOp.GT, 1), Literal(False)))))
    Compare(column='a', op=<CompareOp.LE: '<='>, value=1)
    """
    match predicate:
        case Not(part):
            return negate(part)
        case And(parts):
            return _folded(And, parts, neutral=True)
        case Or(parts):
            return _folded(Or, parts, neutral=False)
        case _:
            return predicate


def in_partition(predicate: Predicate, fields: Sequence[DataField], values: Sequence[InternalValue]) -> Predicate:
    """Return the rest of a normalized predicate in a partition with these key values.

    >>> from table_format.model.types import IntType
    >>> both = And((Compare("p", CompareOp.GT, 1), IsNull("a")))
    >>> fields = [DataField(0, "p", IntType())]
    >>> in_partition(both, fields, [2]), in_partition(both, fields, [1])
    (IsNull(column='a'), Literal(value=False))
    """
    if not fields:
        return predicate
    arrays = [array_of([value], field.type) for field, value in zip(fields, values, strict=True)]
    row = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in fields])
    names = frozenset(row.schema.names)

    def decided(part: Predicate) -> Predicate:
        if isinstance(part, And | Or):
            return type(part)(tuple(map(decided, part.parts)))
        columns = columns_of(part)
        return Literal(bool(matches(part, row, fields)[0].as_py())) if columns and columns <= names else part

    return normalise(decided(predicate))


def _folded(kind: type[And | Or], parts: Sequence[Predicate], *, neutral: bool) -> Predicate:
    kept: list[Predicate] = []
    for part in map(normalise, parts):
        if part == Literal(not neutral):
            return part
        if isinstance(part, kind):
            kept += part.parts
        elif part != Literal(neutral):
            kept.append(part)
    if len(kept) < 2:
        return kept[0] if kept else Literal(neutral)
    return kind(tuple(kept))


def _evaluate(predicate: Predicate, batch: pa.RecordBatch, types: Mapping[str, DataType]) -> pa.BooleanArray:
    match predicate:
        case And(parts):
            return _combined(pc.and_kleene, (_evaluate(p, batch, types) for p in parts), batch, empty=True)
        case Or(parts):
            return _combined(pc.or_kleene, (_evaluate(p, batch, types) for p in parts), batch, empty=False)
        case Not(part):
            return pc.invert(_evaluate(part, batch, types))
        case Literal(value):
            return pa.repeat(pa.scalar(value, pa.bool_()), batch.num_rows)
        case IsNull(column):
            return _column(batch, column, types)[0].is_null()
        case Compare(column, op, value):
            return _compare(*_column(batch, column, types), column, op, value)
        case In(column):
            return _is_in(*_column(batch, column, types), predicate)
        case Like(column, pattern):
            array, data_type = _column(batch, column, types)
            if not isinstance(data_type, TextType):
                raise _misfit(column, data_type, "LIKE")
            return _like(array, pattern)


def _combined(
    operation: Callable[[pa.BooleanArray, pa.BooleanArray], pa.BooleanArray],
    parts: Iterator[pa.BooleanArray],
    batch: pa.RecordBatch,
    *,
    empty: bool,
) -> pa.BooleanArray:
    first = next(parts, None)
    # Only one mask is kept, however many parts there are.
    return pa.repeat(pa.scalar(empty), batch.num_rows) if first is None else functools.reduce(operation, parts, first)


def _column(batch: pa.RecordBatch, name: str, types: Mapping[str, DataType]) -> tuple[pa.Array, DataType]:
    at = batch.schema.get_field_index(name)
    if name not in types or at < 0:
        raise no_such_column(name, batch.schema.names, "of the filter")
    return batch.column(at), types[name]


def _compare(array: pa.Array, data_type: DataType, column: str, op: CompareOp, value: InternalValue) -> pa.BooleanArray:
    _check_literal(column, data_type, value)
    if isinstance(data_type, TextType | BytesType):
        return _compare_bytes(array, op, value)
    if op not in _COMPARE:
        raise _misfit(column, data_type, op)
    if isinstance(data_type, FloatingType):
        return _compare_float(array, op, float(value))  # type: ignore[arg-type]  # _check_literal lets numbers through only
    if isinstance(data_type, BooleanType):
        return _COMPARE[op](array.cast(pa.int8()), pa.scalar(int(bool(value)), pa.int8()))
    return _compare_ticks(array, data_type, op, value)


def _compare_ticks(array: pa.Array, data_type: DataType, op: CompareOp, value: Any) -> pa.BooleanArray:  # noqa: ANN401
    ticks = tick_range(data_type)
    assert ticks is not None  # noqa: S101 - of all other types literals have been refused
    at_tick = compared_with_tick(op, position(value, data_type), ticks)
    if isinstance(at_tick, bool):
        return _where_known(array, at_tick)
    tick_op, tick = at_tick
    numbers = _as_ticks(array)
    return _COMPARE[tick_op](numbers, _tick_array([tick], numbers.type)[0])


def _as_ticks(array: pa.Array) -> pa.Array:
    """Return dates and times as their stored integers, and numbers unchanged."""
    if pa.types.is_temporal(array.type):
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array


def _tick_array(ticks: Sequence[int], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([decimal_of(tick, kind.scale) for tick in ticks], kind)
    return pa.array(ticks, kind)


def _compare_float(array: pa.Array, op: CompareOp, value: float) -> pa.BooleanArray:
    if not math.isnan(value):
        if pa.scalar(value, array.type).as_py() != value:
            array = array.cast(pa.float64())  # a DOUBLE literal between two FLOAT values
        plain = _COMPARE[op](array, pa.scalar(value, array.type))
        # In Arrow, every comparison with NaN is false, except <>.
        return pc.or_(plain, pc.is_nan(array)) if op in (CompareOp.GT, CompareOp.GE) else plain
    match op:
        case CompareOp.EQ | CompareOp.GE:
            return pc.is_nan(array)
        case CompareOp.NE | CompareOp.LT:
            return pc.invert(pc.is_nan(array))
        case _:
            return _where_known(array, op is CompareOp.LE)


def _compare_bytes(array: pa.Array, op: CompareOp, value: Any) -> pa.BooleanArray:  # noqa: ANN401 - str or bytes
    match op:
        case CompareOp.STARTS_WITH:
            return pc.starts_with(array, pattern=value)
        case CompareOp.ENDS_WITH:
            return pc.ends_with(array, pattern=value)
        case CompareOp.CONTAINS:
            return pc.match_substring(array, pattern=value)
        case _:
            return _COMPARE[op](array, pa.scalar(value, array.type))


def _is_in(array: pa.Array, data_type: DataType, condition: In) -> pa.BooleanArray:
    if isinstance(data_type, FloatingType):
        # FLOAT is widened because literals are DOUBLE.
        numbers = with_equal_bits(array.cast(pa.float64()))
    else:
        numbers = array if tick_range(data_type) is None else _as_ticks(array)
    wanted = condition.prepared((data_type, numbers.type), lambda: _wanted(condition, data_type, numbers.type))
    if isinstance(data_type, FloatingType) or len(wanted) <= _MANY * len(numbers):
        found = pc.is_in(numbers, value_set=wanted)
    else:
        # is_in would put all values into a hash table again, for each small file.
        known = condition.prepared((data_type, numbers.type, frozenset), lambda: frozenset(wanted.to_pylist()))
        found = pa.array([number in known for number in numbers.to_pylist()], pa.bool_())
    return if_else(array.is_valid(), found, pa.scalar(None, pa.bool_()))


def _wanted(condition: In, data_type: DataType, kind: pa.DataType) -> pa.Array:
    """Return the values of an IN as an array of this type, without those that no value of the column can equal."""
    for value in condition.values:
        _check_literal(condition.column, data_type, value)
    ticks = tick_range(data_type)
    if ticks is not None:
        # _check_literal accepts only numbers.
        places = [position(value, data_type) for value in condition.values]  # type: ignore[arg-type]  # see above
        return _tick_array([p.tick for p in places if p.is_exact and p.tick in ticks], kind)
    array = pa.array(condition.values, kind)
    return with_equal_bits(array) if isinstance(data_type, FloatingType) else array


def _like(array: pa.Array, pattern: str) -> pa.BooleanArray:
    parts = pieces(pattern)
    match parts:
        case ():
            return pc.equal(array, pa.scalar("", array.type))
        case (str(text),):
            return pc.equal(array, pa.scalar(text, array.type))
        case (Wildcard.ANY_TEXT,):
            return _where_known(array, answer=True)
        case (str(text), Wildcard.ANY_TEXT):
            return pc.starts_with(array, pattern=text)
        case (Wildcard.ANY_TEXT, str(text)):
            return pc.ends_with(array, pattern=text)
        case (Wildcard.ANY_TEXT, str(text), Wildcard.ANY_TEXT):
            return pc.match_substring(array, pattern=text)
        case _:
            return pc.match_substring_regex(array, pattern=regular_expression(parts))


def _where_known(array: pa.Array, answer: bool) -> pa.BooleanArray:  # noqa: FBT001
    """Return the same answer for every value, and unknown for nulls."""
    return if_else(array.is_valid(), pa.scalar(answer), pa.scalar(None, pa.bool_()))


def _check_literal(column: str, data_type: DataType, value: InternalValue) -> None:
    expected: tuple[type, ...]
    if isinstance(data_type, BooleanType):
        expected = (bool,)
    elif isinstance(data_type, TextType):
        expected = (str,)
    elif isinstance(data_type, BytesType):
        expected = (bytes,)
    elif isinstance(data_type, FloatingType):
        expected = (int, float)
    elif isinstance(data_type, DecimalType):
        expected = (int, Decimal)
    elif tick_range(data_type) is not None:
        expected = (int,)
    else:
        message = f"column '{column}' of type {data_type} can only be tested for null"
        raise InvalidFilter(message)
    is_number_for_boolean = isinstance(value, bool) and bool not in expected
    if not isinstance(value, expected) or is_number_for_boolean:
        message = f"column '{column}' has type {data_type}; {value!r} is not a value of the type"
        raise InvalidFilter(message)


def _misfit(column: str, data_type: DataType, operation: str) -> InvalidFilter:
    return InvalidFilter(f"{operation} does not apply to column '{column}' of type {data_type}")
