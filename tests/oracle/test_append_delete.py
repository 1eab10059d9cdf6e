"""Rows that we delete from append tables, read and gone on with by the real Paimon."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer

SCHEMA = pa.schema([pa.field("k", pa.int64()), pa.field("pt", pa.string()), pa.field("v", pa.string())])
MARKS = {"deletion-vectors.enabled": "true"}
BUCKETED = {"bucket": "2", "bucket-key": "k"}


@pytest.mark.parametrize("options", [{}, MARKS, BUCKETED, {**BUCKETED, **MARKS}], ids=str)
@pytest.mark.parametrize("partitioned", [False, True])
def test_what_we_delete_is_gone_for_both(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str], partitioned: bool
) -> None:
    chance = random.Random(f"{options}{partitioned}")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, partition_keys=["pt"] if partitioned else [], options=options)
    catalog.create_table("db.t", schema)
    for _ in range(6):
        rows = [[k, chance.choice("ab"), f"v{chance.random()}"] for k in chance.sample(range(40), 12)]
        if chance.random() < 0.5:
            columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
            opened(tmp_path).append(pa.Table.from_arrays(columns, schema=SCHEMA))
        else:
            paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        first = chance.randrange(40)
        opened(tmp_path).delete(f"k >= {first} AND k < {first + 7}")
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 7


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table
