"""The aggregate functions one row at a time, as format chapter 12, sections 5 and 6 state them; plain values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from table_format.kernels.aggregates import AggregateSpec
from table_format.model.types import (
    BigIntType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
)
from tests.kernels.aggregates.columns import Step, float_bits, float_of

BITS = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
Value = Any


class NoRetraction(Exception):
    """The function cannot retract."""


def model(spec: AggregateSpec, groups: list[list[Step]]) -> list[Value]:
    """The result of each group."""
    return [_Accumulator(spec).after(group) for group in groups]


@dataclass
class _Accumulator:
    spec: AggregateSpec
    value: Value = None
    started: bool = field(default=False)

    def after(self, group: list[Step]) -> Value:
        for letter, value in group:
            self.step(letter, value)
        return self.value

    def step(self, letter: str, value: Value) -> None:
        function = FUNCTIONS[self.spec.function]
        if letter == "A":
            self.value = function(self, self.value, value)
        elif letter == "R":
            swaps = self.spec.function != "collect" or self.spec.ignore_retract
            self.value = function(self, value, self.value) if swaps else function(self, self.value, value)
        elif letter == "=":
            self.value = value
        elif letter == "-" and not self.spec.ignore_retract:
            if self.spec.function not in RETRACTIONS:
                raise NoRetraction
            self.value = RETRACTIONS[self.spec.function](self, self.value, value)


def _either(combine: Callable[[AggregateSpec, Value, Value], Value]) -> Callable[[_Accumulator, Value, Value], Value]:
    """If one operand is null, the result is the other."""

    def both(state: _Accumulator, older: Value, newer: Value) -> Value:
        if older is None or newer is None:
            return newer if older is None else older
        return combine(state.spec, older, newer)

    return both


def _number(t: DataType, value: Value) -> Any:
    if isinstance(t, DecimalType):
        return int(value)
    return float_of(value) if isinstance(t, FloatType | DoubleType) else value


def _stored(t: DataType, number: Any) -> Value:
    if isinstance(t, DecimalType):
        return str(number)
    if isinstance(t, DoubleType):
        return float_bits(number, t)
    if isinstance(t, FloatType):
        return float_bits(_single(number), t)
    half = 1 << BITS[type(t)] - 1
    return (number + half) % (2 * half) - half


def _single(number: float) -> float:
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _total(t: DataType, number: Any) -> Value:
    if isinstance(t, DecimalType):
        fits_long = t.precision <= 18 and -(2**63) <= number < 2**63
        return str(number) if fits_long or abs(number) < 10**t.precision else None
    return _stored(t, number)


def _sum(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    t = spec.field.type
    return _total(t, _number(t, older) + _number(t, newer))


def _sum_back(state: _Accumulator, older: Value, newer: Value) -> Value:
    t = state.spec.field.type
    if newer is None:
        return older
    if older is not None:
        return _total(t, _number(t, older) - _number(t, newer))
    negative = -_number(t, newer)
    if isinstance(t, DecimalType) and abs(negative) >= 10**t.precision:
        return None
    return _stored(t, negative)


def _product(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    t = spec.field.type
    if not isinstance(t, DecimalType):
        return _stored(t, _number(t, older) * _number(t, newer))
    with localcontext() as context:
        context.prec = 100
        exact = Decimal(older).scaleb(-t.scale) * Decimal(newer).scaleb(-t.scale)
        rounded = int(exact.scaleb(t.scale).to_integral_value(ROUND_HALF_UP))
    return str(rounded) if abs(rounded) < 10**t.precision else None


def _product_back(state: _Accumulator, older: Value, newer: Value) -> Value:
    t = state.spec.field.type
    if older is None or newer is None:
        return older
    quotient, sign = abs(older) // abs(newer), 1 if (older < 0) == (newer < 0) else -1
    return _stored(t, sign * quotient)


def _sort_key(value: Value, t: DataType) -> Any:
    if isinstance(t, DecimalType):
        return int(value)
    if isinstance(t, FloatType | DoubleType):
        number = float_of(value)
        return (number != number, 0.0 if number != number else number, value[0] != "8" or number != 0)
    return value.encode() if isinstance(value, str) else value


def _max(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    return max(older, newer, key=lambda value: _sort_key(value, spec.field.type))


def _min(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    return min(older, newer, key=lambda value: _sort_key(value, spec.field.type))


def _first(state: _Accumulator, older: Value, newer: Value) -> Value:
    result = older if state.started else newer
    state.started = True
    return result


def _first_non_null(state: _Accumulator, older: Value, newer: Value) -> Value:
    if state.started or newer is None:
        return older
    state.started = True
    return newer


def _listagg(spec: AggregateSpec, older: str, newer: str) -> str:
    if not older or not newer:
        return older or newer
    if not spec.distinct:
        return older + spec.delimiter + newer
    parts = [older]
    for part in newer.split(spec.delimiter):
        if part and part not in older.split(spec.delimiter) and part not in parts[1:]:
            parts.append(part)
    return spec.delimiter.join(parts)


def _collect(state: _Accumulator, older: Value, newer: Value) -> Value:
    if older is None and newer is None:
        return None
    elements = [*(older or ()), *(newer or ())]
    if not state.spec.distinct:
        return elements
    kept: list[Value] = []
    for element in elements:
        if element not in kept:
            kept.append(element)
    return kept


def _collect_back(_: _Accumulator, older: Value, newer: Value) -> Value:
    if older is None or not newer:
        return older
    gone = list(newer)
    kept = []
    for element in older:
        if element in gone:
            gone.remove(element)
        else:
            kept.append(element)
    return kept


def _merge_map(_: AggregateSpec, older: Value, newer: Value) -> Value:
    return [[key, value] for key, value in dict(map(tuple, [*older, *newer])).items()]


def _merge_map_back(_: _Accumulator, older: Value, newer: Value) -> Value:
    if older is None or not newer:
        return older
    gone = [key for key, _ in newer]
    return [[key, value] for key, value in older if key not in gone]


def _nested_update(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    limit = 2**31 - 1 if spec.count_limit is None else spec.count_limit
    if len(older) >= limit:
        return older
    rows = [r for r in older if r is not None] + [r for r in newer if r is not None][: limit - len(older)]
    return list({_key(spec, row): row for row in rows}.values()) if spec.nested_key else rows


def _key(spec: AggregateSpec, row: Value) -> Value:
    return tuple(row["abcdefgh".index(name)] for name in spec.nested_key)


def _nested_back(state: _Accumulator, older: Value, newer: Value) -> Value:
    if older is None or newer is None:
        return older
    rows = [r for r in older if r is not None]
    gone = [r for r in newer if r is not None]
    if not state.spec.nested_key:
        return [r for r in rows if r not in gone]
    keys = {_key(state.spec, r) for r in gone}
    return [r for r in {_key(state.spec, r): r for r in rows}.values() if _key(state.spec, r) not in keys]


def _nested_partial(spec: AggregateSpec, older: Value, newer: Value) -> Value:
    table: dict[Any, list[Value]] = {}
    for row in [*older, *newer]:
        if row is not None:
            there = table.setdefault(_key(spec, row), [None] * len(row))
            there[:] = [new if new is not None else old for old, new in zip(there, row, strict=True)]
    return list(table.values())


FUNCTIONS: dict[str, Callable[[_Accumulator, Value, Value], Value]] = {
    "sum": _either(_sum),
    "product": _either(_product),
    "max": _either(_max),
    "min": _either(_min),
    "bool_and": _either(lambda _, older, newer: older and newer),
    "bool_or": _either(lambda _, older, newer: older or newer),
    "last_value": lambda _, older, newer: newer,
    "last_non_null_value": lambda _, older, newer: older if newer is None else newer,
    "first_value": _first,
    "first_non_null_value": _first_non_null,
    "listagg": _either(_listagg),
    "collect": _collect,
    "merge_map": _either(_merge_map),
    "nested_update": _either(_nested_update),
    "nested_partial_update": _either(_nested_partial),
}

RETRACTIONS: dict[str, Callable[[_Accumulator, Value, Value], Value]] = {
    "sum": _sum_back,
    "product": _product_back,
    "last_value": lambda _, older, newer: None,
    "last_non_null_value": lambda _, older, newer: older if newer is None else None,
    "collect": _collect_back,
    "merge_map": _merge_map_back,
    "nested_update": _nested_back,
}
