"""Append tables that we compact and sort, read and gone on with by the real Paimon."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer

SCHEMA = pa.schema([pa.field("k", pa.int64()), pa.field("pt", pa.string()), pa.field("v", pa.string())])
MARKS = {"deletion-vectors.enabled": "true", "compaction.min.file-num": "3"}
BUCKETED = {"bucket": "2", "bucket-key": "k"}


@pytest.mark.parametrize("options", [MARKS, {**BUCKETED, **MARKS}], ids=["unaware", "bucketed"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_what_we_compact_is_the_same_for_both(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str], partitioned: bool
) -> None:
    chance = random.Random(f"{options}{partitioned}")
    created(tmp_path, partitioned=partitioned, options=options)
    compactions = 0
    for turn in range(8):
        rows = [[k, chance.choice("ab"), f"v{chance.random()}"] for k in chance.sample(range(40), 12)]
        if chance.random() < 0.5:
            columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
            opened(tmp_path).append(pa.Table.from_arrays(columns, schema=SCHEMA))
        else:
            paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        first = chance.randrange(40)
        opened(tmp_path).delete(f"k >= {first} AND k < {first + 7}")
        if turn % 2:
            compactions += len(opened(tmp_path).compact(full=chance.random() < 0.5))
        elif "bucket" in options and chance.random() < 0.5:
            paimon.compact(tmp_path, "db.t")
    assert compactions
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 16


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
@pytest.mark.parametrize("options", [{}, MARKS], ids=str)
def test_what_we_put_in_order_is_the_same_for_both(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str], strategy: str
) -> None:
    chance = random.Random(f"{options}{strategy}")
    created(tmp_path, partitioned=True, options=options)
    for _ in range(3):
        rows = [[k, chance.choice("ab"), f"v{chance.random()}"] for k in chance.sample(range(400), 50)]
        paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        opened(tmp_path).delete("k < 20")
        opened(tmp_path).compact(order_by=["k", "v"], order_strategy=strategy)
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 6


def created(warehouse: Path, *, partitioned: bool, options: dict[str, str]) -> None:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, partition_keys=["pt"] if partitioned else [], options=options)
    catalog.create_table("db.t", schema)


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table
