"""One table, two writers: we and the real Paimon write, delete and compact in turn, and both read the same."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.matrix import tries

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("pt", pa.string(), nullable=False),
        pa.field("seq", pa.int32()),
        pa.field("v", pa.string()),
    ]
)
TABLES = {
    "plain": {},
    "sequence": {"sequence.field": "seq"},
    "descending": {"sequence.field": "seq", "sequence.field.sort-order": "descending"},
    "ignore delete": {"ignore-delete": "true"},
    "write only": {"write-only": "true"},
}


def open_table(warehouse: Path, options: dict[str, str]) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "3", **options}
    schema = Schema.from_arrow(SCHEMA, primary_keys=["k", "pt"], partition_keys=["pt"], options=options)
    catalog.create_table("db.t", schema)
    return catalog.load_table("db.t")


def changes(chance: random.Random) -> list[list[object]]:
    kinds = ("+I", "+I", "+I", "+U", "-D")
    keys = chance.sample(range(30), chance.randrange(1, 12))
    return [
        [
            chance.choice(kinds),
            [k, chance.choice("ab"), chance.choice((None, chance.randrange(9))), f"v{chance.random()}"],
        ]
        for k in keys
    ]


def as_table(rows: list[list[object]]) -> pa.Table:
    columns = list(zip(*(row for _, row in rows), strict=True))
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    return table.append_column("_row_kind", pa.array([kind for kind, _ in rows]))


@pytest.mark.parametrize("seed", range(tries(1, many=4)))
@pytest.mark.parametrize("kind", TABLES)
def test_we_and_paimon_take_turns_on_one_table(paimon: PaimonPeer, tmp_path: Path, kind: str, seed: int) -> None:
    if kind == "descending" and paimon.version == "0.9.0":
        pytest.skip("0.9.0 does not know 'sequence.field.sort-order'")
    chance = random.Random(f"{kind} {seed}")
    table = open_table(tmp_path, TABLES[kind])
    for _ in range(9):
        match chance.randrange(6):
            case 0 | 1:
                table.append(as_table(changes(chance)))
            case 2 | 3:
                paimon.write(tmp_path, "db.t", changes(chance))
            case 4 if kind != "write only":
                paimon.compact(tmp_path, "db.t")
            case _:
                table.compact(full=chance.random() < 0.5)
    table.append(as_table(changes(chance)))
    paimon.write(tmp_path, "db.t", changes(chance))
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
