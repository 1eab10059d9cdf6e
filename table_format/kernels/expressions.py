"""Evaluates expressions (``model.expression``) by column, with SQL's treatment of nulls.

Integers are computed in 64 bits, decimals exactly, and ``/`` in DOUBLE. An overflow, a division by zero or a text that
is not a number is an error, never a wrong value. Kinds of values are not mixed: text is not converted to a number or a
date implicitly.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidExpression
from table_format.kernels.expression_kinds import DIGITS, Value, alike, cast, floating, numeric, rounded_floats
from table_format.kernels.values import array_of
from table_format.model.arrow_calls import binary_join_element_wise, equal, fill_null, if_else, or_, repeat, utf8_length
from table_format.model.expression import Call, CastTo, ColumnOf, Constant, Expression, columns_in

Columns: TypeAlias = Mapping[ColumnOf, pa.Array]

_FACTOR_DIGITS: Final = 37


def evaluate(expression: Expression, columns: Columns, row_count: int) -> pa.Array:
    """Return the value of the expression for each row.

    Raises:
        InvalidExpression: the kinds of values do not match, or a value cannot be computed.
    """
    try:
        return _array(expression, columns, row_count)
    except (pa.ArrowException, OverflowError) as error:
        raise _failure(error) from error


def truths(expression: Expression, columns: Columns, row_count: int) -> pa.BooleanArray:
    """Return a mask of the rows for which a condition holds; unknown counts as false.

    Raises:
        InvalidExpression: the expression is not a condition; see also ``evaluate``.
    """
    try:
        return _truths(expression, columns, row_count)
    except (pa.ArrowException, OverflowError) as error:
        raise _failure(error) from error


def _failure(error: Exception) -> InvalidExpression:
    if isinstance(error, pa.ArrowNotImplementedError):
        return InvalidExpression(f"an expression mixes kinds of values: {error}")
    return InvalidExpression(f"an expression cannot be evaluated for a row: {error}")


def _array(expression: Expression, columns: Columns, row_count: int) -> pa.Array:
    found = _evaluated(expression, columns, row_count)
    return found if isinstance(found, pa.Array) else repeat(found, row_count)


def _truths(expression: Expression, columns: Columns, row_count: int) -> pa.BooleanArray:
    (found,) = _conditions(_array(expression, columns, row_count))
    return typing.cast("pa.BooleanArray", fill_null(found, fill_value=False))


def _evaluated(expression: Expression, columns: Columns, row_count: int) -> Value:
    match expression:
        case ColumnOf():
            return columns[expression]
        case Constant(value=value, type=data_type):
            return pa.scalar(None, pa.null()) if data_type is None else array_of([value], data_type)[0]
        case CastTo(argument=argument, type=data_type):
            return cast(_evaluated(argument, columns, row_count), data_type)
        case Call(function="case", arguments=parts):
            return _case(parts, columns, row_count)
        case Call(function=function, arguments=arguments):
            return _FUNCTIONS[function](*(_evaluated(part, columns, row_count) for part in arguments))


# --- numbers ----------------------------------------------------------------------------------------------------------


def _arithmetic(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *values: function(*numeric(*values))


def _product(left: Value, right: Value) -> Value:
    left, right = numeric(left, right)
    if pa.types.is_decimal(left.type) and left.type.precision + right.type.precision >= DIGITS:
        # The product of two of the widest columns has one digit too many, but hardly any value needs it.
        left, right = (
            v.cast(pa.decimal256(min(v.type.precision, _FACTOR_DIGITS), v.type.scale)) for v in (left, right)
        )
    return pc.multiply_checked(left, right)


def _divided(left: Value, right: Value) -> Value:
    left, right = numeric(left, right)
    return pc.divide_checked(floating(left, pa.float64()), floating(right, pa.float64()))


def _rounded(value: Value, digits: Value | None = None) -> Value:
    (number,) = numeric(value)
    places = 0 if digits is None else digits.as_py() if isinstance(digits, pa.Scalar) else None
    if not isinstance(places, int):
        message = "expected as the digits of ROUND a whole number that is the same for all rows"
        raise InvalidExpression(message)
    if pa.types.is_floating(number.type):
        return rounded_floats(number, places)
    return pc.round(number, places, round_mode="half_towards_infinity")


# --- comparisons and conditions ---------------------------------------------------------------------------------------


def _comparison(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda left, right: _compared(function, left, right)


def _compared(function: Callable[..., Value], left: Value, right: Value) -> Value:
    if pa.types.is_null(left.type) and pa.types.is_null(right.type):
        return pa.scalar(None, pa.bool_())
    return function(*alike(left, right))


def _same(left: Value, right: Value) -> Value:
    """Return whether values are equal, where null equals null."""
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return or_(both, fill_null(_compared(equal, left, right), fill_value=False))


def _conditions(*values: Value) -> tuple[Value, ...]:
    for value in values:
        if not (pa.types.is_boolean(value.type) or pa.types.is_null(value.type)):
            message = f"expected a condition, which is TRUE or FALSE, found a value of the Arrow type {value.type}"
            raise InvalidExpression(message)
    return tuple(value.cast(pa.bool_()) for value in values)


def _logic(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *values: function(*_conditions(*values))


def _case(parts: Sequence[Expression], columns: Columns, row_count: int) -> Value:
    """Evaluate each branch only for its own rows, because the condition may exclude rows for which it would fail."""
    needed = {column: columns[column] for part in parts for column in columns_in(part)}
    left = np.arange(row_count)
    rows: list[npt.NDArray[np.int64]] = []
    values: list[Value] = []

    def taken(wanted: npt.NDArray[np.int64]) -> Columns:
        return {column: values.take(wanted) for column, values in needed.items()}

    for test, value in zip(parts[:-1:2], parts[1::2], strict=True):
        holds = _truths(test, taken(left), len(left)).to_numpy(zero_copy_only=False)
        rows.append(left[holds])
        values.append(_array(value, taken(left[holds]), int(holds.sum())))
        left = left[~holds]
    rows.append(left)
    values.append(_array(parts[-1], taken(left), len(left)))
    return pa.concat_arrays(typing.cast("tuple[pa.Array, ...]", alike(*values))).take(np.argsort(np.concatenate(rows)))


def _coalesced(*values: Value) -> Value:
    return pc.coalesce(*alike(*values))


def _without(value: Value, unwanted: Value) -> Value:
    """Return the value, or null if it equals ``unwanted`` (NULLIF)."""
    is_it = fill_null(_compared(equal, value, unwanted), fill_value=False)
    return if_else(is_it, pa.scalar(None, value.type), value)


# --- texts ------------------------------------------------------------------------------------------------------------


def _text(value: Value) -> Value:
    if pa.types.is_null(value.type):
        return value.cast(pa.string())
    if not pa.types.is_string(value.type):
        message = f"expected a text, found a value of the Arrow type {value.type}; cast it"
        raise InvalidExpression(message)
    return value


def _joined(*values: Value) -> Value:
    return binary_join_element_wise(*map(_text, values), "", null_handling="emit_null")


def _whole(value: Value, what: str) -> int:
    number = value.as_py() if isinstance(value, pa.Scalar) else None
    if not isinstance(number, int):
        message = f"expected as the {what} of a text a whole number that is the same for all rows"
        raise InvalidExpression(message)
    return number


def _substring(value: Value, start: Value, length: Value | None = None) -> Value:
    first = _whole(start, "start")
    count = None if length is None else _whole(length, "length")
    if first < 1 or (count is not None and count < 0):
        message = f"SUBSTRING: expected a start of at least 1 and a length of at least 0, found {first} and {count}"
        raise InvalidExpression(message)
    return pc.utf8_slice_codeunits(_text(value), first - 1, None if count is None else first - 1 + count)


def _replaced(value: Value, old: Value, new: Value) -> Value:
    pattern, replacement = (v.as_py() if isinstance(v, pa.Scalar) else None for v in (_text(old), _text(new)))
    if not pattern or replacement is None:
        message = "REPLACE: expected a text that is not empty and its replacement, both the same for all rows"
        raise InvalidExpression(message)
    return pc.replace_substring(_text(value), pattern, replacement)


_FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "add": _arithmetic(pc.add_checked),
    "subtract": _arithmetic(pc.subtract_checked),
    "multiply": _product,
    "divide": _divided,
    "negate": _arithmetic(pc.negate_checked),
    "abs": _arithmetic(pc.abs_checked),
    "round": _rounded,
    "equal": _comparison(equal),
    "not_equal": _comparison(pc.not_equal),
    "less": _comparison(pc.less),
    "less_equal": _comparison(pc.less_equal),
    "greater": _comparison(pc.greater),
    "greater_equal": _comparison(pc.greater_equal),
    "same": _same,
    "is_null": pc.is_null,
    "and": _logic(pc.and_kleene),
    "or": _logic(pc.or_kleene),
    "not": _logic(pc.invert),
    "coalesce": _coalesced,
    "nullif": _without,
    "concat": _joined,
    "upper": lambda value: pc.utf8_upper(_text(value)),
    "lower": lambda value: pc.utf8_lower(_text(value)),
    "trim": lambda value: pc.utf8_trim(_text(value), " "),
    "length": lambda value: utf8_length(_text(value)),
    "substring": _substring,
    "replace": _replaced,
}
