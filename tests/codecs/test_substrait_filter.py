"""Arrow's expressions read as predicates, compared row by row with Arrow's own evaluation."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_format.codecs.protobuf import Message
from table_format.codecs.substrait_filter import pushed_filter
from table_format.kernels.predicate import matches
from table_format.model.arrow_types import fields_from_arrow
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or
from tests.support.package_versions import is_at_least

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("n", pa.decimal128(10, 2)),
        ("t", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.float64()),
        ("r", pa.struct([("y", pa.int32())])),
    ]
)
FIELDS = fields_from_arrow(SCHEMA)
I, S, D, N, T, B, X = (pc.field(name) for name in "isdntbx")  # noqa: E741


PREFIXES_ARE_PUSHED = is_at_least(pa, 26)
"""Older releases of Arrow refuse to serialize a prefix, and nothing of such a condition is pushed."""


def read(expression: pc.Expression) -> Any:
    return pushed_filter(bytes(expression.to_substrait(SCHEMA, allow_arrow_extensions=True)), FIELDS)


READ = {
    "a comparison": (I > 3, Compare("i", CompareOp.GT, 3)),
    "mirrored": (pc.scalar(3) > I, Compare("i", CompareOp.LT, 3)),
    "a negative number": (I == -3, Compare("i", CompareOp.EQ, -3)),
    "zero": (I != 0, Compare("i", CompareOp.NE, 0)),
    "a text": (S == "é", Compare("s", CompareOp.EQ, "é")),
    "a prefix": (pc.starts_with(S, "a"), Compare("s", CompareOp.STARTS_WITH, "a")),
    "a prefix in any case": (pc.starts_with(S, "a", ignore_case=True), None),
    "a date": (dt.date(1970, 1, 2) >= D, Compare("d", CompareOp.LE, 1)),
    "a decimal": (pa.scalar(Decimal("-1.25"), pa.decimal128(10, 2)) <= N, Compare("n", CompareOp.GE, Decimal("-1.25"))),
    "a time": (dt.datetime(1970, 1, 1, 0, 0, 1) > T, Compare("t", CompareOp.LT, 1_000_000_000)),
    "a boolean": (B, Compare("b", CompareOp.EQ, value=True)),
    "nulls": (S.is_null() | ~I.is_valid(), Or((IsNull("s"), Not(Not(IsNull("i")))))),
    "a list": (I.isin([1, 2]), And((Not(IsNull("i")), In("i", (1, 2))))),
    "a list of texts as DuckDB spells it": (
        pc.if_else(S.is_valid(), S.isin(["a"]), pa.scalar(None, pa.bool_())),
        In("s", ("a",)),
    ),
    "a list with a null": (I.isin([1, None]), None),
    "floating numbers": (X > 1.5, None),
    "arithmetic": (I * 2 > 4, None),
    "a part that is not understood": ((I > 1) & (X > 1.5), Compare("i", CompareOp.GT, 1)),
    "an alternative that is not understood": ((I > 1) | (X > 1.5), None),
    "a negation of something not understood": (~((I > 1) & (X > 1.5)), None),
    "a field of a struct": (pc.field("r", "y") == 1, None),
}


@pytest.mark.parametrize("name", [name for name in READ if PREFIXES_ARE_PUSHED or "prefix" not in name])
def test_the_supported_parts_of_an_expression_are_read(name: str) -> None:
    expression, predicate = READ[name]
    assert read(expression).predicate == predicate


def test_columns_are_collected_from_supported_and_unsupported_conditions() -> None:
    assert set(read((I * 2 > 4) & (X > 1.5) & S.is_null()).columns) == {"i", "x", "s"}
    assert read(pc.field("r", "y") == 1).columns == ("r",)
    assert read(D.cast("timestamp[s]", safe=False) > dt.datetime(2020, 1, 1)).columns == ("d",)


def some_rows(chance: random.Random) -> pa.Table:
    values = {"i": [None, *range(4)], "s": [None, "", "a", "ab", "b"], "b": [None, True, False]}
    columns = {name: chance.choices(some, k=60) for name, some in values.items()}
    return pa.table(columns, schema=pa.schema([SCHEMA.field(name) for name in columns]))


def some_condition(chance: random.Random, depth: int = 0) -> pc.Expression:
    if depth < 3 and chance.random() < 0.5:
        left, right = some_condition(chance, depth + 1), some_condition(chance, depth + 1)
        return chance.choice([left & right, left | right, ~left])
    number, text = chance.randrange(4), chance.choice(["", "a", "ab"])
    known = [number == I, number != I, number > I, number <= I, I.isin([number, 1]), I.is_null(), text == S, text < S]
    more = [S.isin([text]), S.is_valid(), B, number == I * 2, pc.utf8_length(S) > number]
    if PREFIXES_ARE_PUSHED:
        more.append(pc.starts_with(S, text))
    quoted = pc.if_else(S.is_valid(), S.isin([text, "b"]), pa.scalar(None, pa.bool_()))
    return chance.choice([*known, *more, quoted])


@pytest.mark.parametrize("seed", range(40))
def test_a_pushed_filter_loses_no_row(seed: int) -> None:
    chance = random.Random(seed)
    rows = some_rows(chance)
    fields = fields_from_arrow(rows.schema)
    for _ in range(10):
        condition = reduce(lambda a, b: a & b, [some_condition(chance) for _ in range(2)])
        data = bytes(condition.to_substrait(rows.schema, allow_arrow_extensions=True))
        predicate = pushed_filter(data, fields).predicate
        if predicate is not None:
            [batch] = rows.to_batches()
            kept = batch.filter(matches(predicate, batch, fields))
            assert pa.table(kept).filter(condition).equals(rows.filter(condition)), str(condition)


@pytest.mark.parametrize("data", [b"\x80", b"\x0a\x05a", b"\x0b", b"\xff" * 12])
def test_bytes_that_are_not_a_message_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"field|number"):
        Message.of(data)
