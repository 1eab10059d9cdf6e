"""Random statements: Spark and a single process produce the same table."""

from __future__ import annotations

import os
import random
from typing import Any

import pyarrow as pa
import pytest

from table_format import Delete, Insert, Update
from table_format.errors import InvalidData
from tests.queries.bounds import WRITTEN_IN_DRIVER, bounds_of
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        ("v", pa.int64()),
        ("s", pa.string()),
    ]
)
SOURCE = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("s", pa.string())])
MARKS = {"deletion-vectors.enabled": "true"}
TABLES: list[Any] = [
    ((), {}),
    ((), MARKS),
    ((), {"bucket": "2", "bucket-key": "k", **MARKS}),
    (("k", "p"), {"bucket": "2"}),
    (("k", "p"), {"bucket": "1", "changelog-producer": "lookup", **MARKS}),
    (("k", "p"), {"bucket": "-1", "changelog-producer": "input"}),
]
CONDITIONS = ["k < 5", "p = 'a' AND v >= 0", "v IS NULL OR s = 'x'", "k BETWEEN 3 AND 8", "s <> 'x'", "NOT (k > 2)"]
VALUES = [{"v": "v + 1"}, {"s": "'new'", "v": "k"}, {"s": "NULL"}, {"v": "CASE WHEN v > 0 THEN -v ELSE v END"}]
MATCHED = ["s.v > t.v", "t.s = 'x'", "s.s IS NULL", "t.p = 'a'"]
SET = [{"v": "t.v + s.v"}, {"s": "s.s"}, {"v": "s.v", "s": "t.s"}]
STATEMENTS = int(os.environ.get("RANDOM_STATEMENTS", "2"))
"""Statements on each table; ``make queries`` runs more."""


@pytest.mark.parametrize(("keys", "options"), TABLES, ids=str)
def test_random_statements_give_the_same_table_with_and_without_spark(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    chance = random.Random(f"{keys}{options}")
    for name in ("t", "u"):
        lake.create(name, schema=SCHEMA, primary_keys=keys, partition_keys=("p",), **options)
    for _ in range(3):
        some = rows(chance, 8)
        for name in ("t", "u"):
            lake.table(name).append(pa.Table.from_pylist(some, schema=SCHEMA))
    for number in range(STATEMENTS):
        statement, arguments = chance.choice([deletion, update, merge, merge])(chance, keyed=bool(keys))
        found = {name: outcome(chance, lake, name, statement, arguments) for name in ("t", "u")}
        assert found["t"] == found["u"], (number, statement, arguments)
        assert lake.rows_alone("t") == lake.rows_alone("u"), (number, statement, arguments)
    lake.rows("t")
    assert lake.table("t").verify(depth="rows").errors == ()


def outcome(chance: random.Random, lake: TestLake, name: str, statement: str, arguments: dict[str, Any]) -> Any:
    """Return the result of a statement. Spark runs it on ``t``, a single process on ``u``."""
    given = dict(arguments)
    source = given.pop("source", None)
    first = () if source is None else (pa.Table.from_pylist(source, schema=SOURCE),)
    try:
        if name == "u":
            changed = getattr(lake.table(name), statement)(*first, **given)
        else:
            frames = [lake.spark.createDataFrame(rows) for rows in first]
            with bounds_of({WRITTEN_IN_DRIVER: chance.choice([0, 100_000])}):
                changed = getattr(lake.lake, statement)(f"s.{name}", *frames, **given)
    except InvalidData as error:
        if "rows of the source match the row with" not in str(error):
            raise
        return "ambiguous"
    return changed.inserted, changed.updated, changed.deleted


def rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "k": chance.randrange(12),
            "p": chance.choice("ab"),
            "v": chance.choice([None, *range(-3, 4)]),
            "s": chance.choice([None, "x", "yy"]),
        }
        for _ in range(count)
    ]


def deletion(chance: random.Random, *, keyed: bool) -> tuple[str, dict[str, Any]]:
    return "delete", {"where": chance.choice(CONDITIONS) + " AND k <> 7"}


def update(chance: random.Random, *, keyed: bool) -> tuple[str, dict[str, Any]]:
    moved = {} if keyed or chance.random() < 0.5 else {"p": "CASE WHEN p = 'a' THEN 'b' ELSE 'a' END"}
    return "update", {"set_": {**chance.choice(VALUES), **moved}, "where": chance.choice([None, *CONDITIONS])}


def merge(chance: random.Random, *, keyed: bool) -> tuple[str, dict[str, Any]]:
    source = rows(chance, 6)
    once = list({(row["k"], row["p"]): row for row in source}.values())
    if chance.random() < 0.7:
        source = once
    elif keyed:
        # The order of two new rows with one key is not defined.
        source = [*once, once[0]]
    # A null matches nothing.
    source += [] if keyed else [{"k": 11, "p": "a", "v": None, "s": None}]

    def clause() -> Update | Delete:
        condition = chance.choice([None, *MATCHED])
        return Delete(condition) if chance.random() < 0.3 else Update(chance.choice([None, *SET]), condition)

    arguments: dict[str, Any] = {"source": source, "on": ["k", "p"]}
    if chance.random() < 0.8:
        arguments["when_matched"] = [clause() for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.6 or len(arguments) == 2:
        values = {"k": "s.k", "p": "s.p", "v": "s.v * 2"}
        arguments["when_not_matched"] = [Insert(values, "s.v > 0"), Insert()]
    if chance.random() < 0.3:
        arguments["when_not_matched_by_source"] = [Delete("t.v = 2"), Update({"s": "'left'"}, "t.k < 6")]
    return "merge", arguments
