"""Predicates row by row in plain Python, and strategies for columns, rows and predicates on them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or, Predicate
from table_format.model.types import (
    BigIntType,
    BooleanType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

Row = dict[str, Any]

FIELDS = (
    DataField(0, "tiny", TinyIntType()),
    DataField(1, "big", BigIntType()),
    DataField(2, "flag", BooleanType()),
    DataField(3, "single", FloatType()),
    DataField(4, "double", DoubleType()),
    DataField(5, "price", DecimalType(precision=6, scale=2)),
    DataField(6, "day", DateType()),
    DataField(7, "ms", TimestampType(precision=3)),
    DataField(8, "ns", TimestampType(precision=9)),
    DataField(9, "text", VarCharType()),
    DataField(10, "raw", VarBinaryType()),
)

_text = st.text(alphabet="ab%_\\é😀\n", max_size=4)
_float = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 1.5, math.inf, math.nan])
_single = st.floats(width=32, allow_nan=False) | st.sampled_from([-0.0, 0.0, 1.5, math.inf, math.nan])

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tiny": st.integers(-3, 3) | st.sampled_from([-128, 127]),
    "big": st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1]),
    "flag": st.booleans(),
    "single": _single,
    "double": _float,
    "price": st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
    "day": st.integers(-3, 3),
    "ms": st.integers(-3, 3).map(lambda n: n * 1_000_000),
    "ns": st.integers(-3, 3),
    "text": _text,
    "raw": st.binary(max_size=2) | st.sampled_from([b"\xff", b"\xff\xff", b"\x00"]),
}

# Literals may lie between two values of the column, or beyond all of them.
LITERALS: dict[str, st.SearchStrategy[Any]] = VALUES | {
    "tiny": VALUES["tiny"] | st.sampled_from([-129, 128, 2**70]),
    "big": VALUES["big"] | st.sampled_from([-(2**63) - 1, 2**63]),
    "single": _single | _float,
    "price": VALUES["price"]
    | st.integers(-3000, 3000).map(lambda n: Decimal(n).scaleb(-3))
    | st.sampled_from([Decimal("99999.99"), Decimal("1E+30"), Decimal("1E-30"), Decimal("-1E-30"), 7]),
    "ms": VALUES["ms"] | st.integers(-3_000_001, 3_000_001) | st.sampled_from([2**80, -(2**80)]),
    "ns": VALUES["ns"] | st.sampled_from([2**63, -(2**63) - 1]),
}

rows = st.lists(st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}), max_size=6)

_ORDERED = tuple(op for op in CompareOp if op not in (CompareOp.STARTS_WITH, CompareOp.ENDS_WITH, CompareOp.CONTAINS))


def _leaf(name: str) -> st.SearchStrategy[Predicate]:
    literal = LITERALS[name]
    ops = tuple(CompareOp) if name in ("text", "raw") else _ORDERED
    leaves = [
        st.builds(Compare, st.just(name), st.sampled_from(ops), literal),
        st.builds(In, st.just(name), st.lists(literal, max_size=3).map(tuple)),
        st.just(IsNull(name)),
    ]
    if name == "text":
        pattern = st.lists(st.sampled_from(["a", "b", "%", "_", r"\%", r"\_", "\\\\", "é", "\n"]), max_size=4)
        leaves.append(st.builds(Like, st.just(name), pattern.map("".join)))
    return st.one_of(leaves)


predicates: st.SearchStrategy[Predicate] = st.recursive(
    st.sampled_from(list(VALUES)).flatmap(_leaf) | st.builds(Literal, st.sampled_from([True, False, None])),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, max_size=3).map(tuple))
    ),
    max_leaves=5,
)


def answer(predicate: Predicate, row: Row) -> bool | None:
    """True, false or unknown for one row of internal values."""
    match predicate:
        case Literal(value):
            return value
        case Not(part):
            inner = answer(part, row)
            return None if inner is None else not inner
        case And(parts):
            found = [answer(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [answer(part, row) for part in parts]
            return True if True in found else None if None in found else False
        case IsNull(column):
            return row[column] is None
    value = row[predicate.column]
    if value is None:
        return None
    match predicate:
        case In(_, literals):
            return any(_compare(CompareOp.EQ, value, literal) for literal in literals)
        case Like(_, pattern):
            return _like(value, pattern)
        case Compare(_, op, literal):
            return _compare(op, value, literal)


def _compare(op: CompareOp, value: Any, literal: Any) -> bool:
    match op:
        case CompareOp.STARTS_WITH:
            return value.startswith(literal)
        case CompareOp.ENDS_WITH:
            return value.endswith(literal)
        case CompareOp.CONTAINS:
            return literal in value
    a, b = _rank(value), _rank(literal)
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op.value]


def _rank(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


def _like(value: str, pattern: str) -> bool:
    regex = re.sub(
        r"\\(.)|([%_])|(.)",
        lambda m: re.escape(m[1] or m[3]) if m[1] or m[3] else {"%": ".*", "_": "."}[m[2]],
        pattern,
        flags=re.DOTALL,
    )
    return re.fullmatch(regex, value, re.DOTALL) is not None
