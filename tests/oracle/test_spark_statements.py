"""Rows that our statements on Spark change, read at every snapshot and gone on with by the real Paimon."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Delete, Insert, Schema, Update
from table_format.spark import paimon as lake_of
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.spark_session import local_session

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("pt", pa.string(), nullable=False), pa.field("v", pa.string())]
)
MARKS = {"deletion-vectors.enabled": "true"}
CASES: list[tuple[list[str], dict[str, str]]] = [
    ([], {}),
    ([], MARKS),
    (["k", "pt"], {"bucket": "2"}),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = local_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.mark.parametrize(("keys", "options"), CASES, ids=str)
def test_what_spark_changes_is_the_same_for_both(
    paimon: PaimonPeer, spark: Any, tmp_path: Path, keys: list[str], options: dict[str, str]
) -> None:
    chance = random.Random(f"{keys}{options}")
    lake = lake_of(spark, {"warehouse": str(tmp_path)})
    lake.catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, primary_keys=keys, partition_keys=["pt"], options=options)
    lake.catalog.create_table("db.t", schema)
    for step in range(2):
        rows = [[k, chance.choice("ab"), f"v{step}"] for k in chance.sample(range(40), 12)]
        paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        first = chance.randrange(40)
        moved = {} if keys else {"pt": "IF(pt = 'a', 'b', 'a')"}
        lake.update("db.t", {"v": "concat(v, '+')", **moved}, f"k BETWEEN {first} AND {first + 6}")
        source = spark.createDataFrame(
            [(k, "gone" if k % 2 else f"m{step}") for k in range(first, first + 6)], "k long, v string"
        )
        lake.merge(
            "db.t",
            source,
            on="t.k = s.k",
            when_matched=[Delete("s.v = 'gone'"), Update({"v": "s.v"})],
            when_not_matched=Insert({"k": "k", "pt": "'a'", "v": "v"}, "k < 40"),
        )
        lake.delete("db.t", f"k % 5 = {step}")
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 6
