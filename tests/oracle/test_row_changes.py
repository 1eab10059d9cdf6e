"""Rows that we update and merge, read at every snapshot and gone on with by the real Paimon."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Delete, Insert, Schema, Table, Update, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("pt", pa.string(), nullable=False), pa.field("v", pa.string())]
)
MARKS = {"deletion-vectors.enabled": "true"}
CASES = [
    ([], {}),
    ([], MARKS),
    ([], {"bucket": "2", "bucket-key": "k", **MARKS}),
    (["k", "pt"], {"bucket": "2"}),
    (["k", "pt"], {"bucket": "2", "changelog-producer": "input"}),
    (["k", "pt"], {"bucket": "2", "changelog-producer": "lookup", **MARKS}),
]


@pytest.mark.parametrize(("keys", "options"), CASES, ids=str)
def test_what_we_change_is_the_same_for_both(
    paimon: PaimonPeer, tmp_path: Path, keys: list[str], options: dict[str, str]
) -> None:
    chance = random.Random(f"{keys}{options}")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=keys, partition_keys=["pt"], options=options))
    for step in range(6):
        rows = [[k, chance.choice("ab"), f"v{step}"] for k in chance.sample(range(40), 12)]
        paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])
        table, first = opened(tmp_path), chance.randrange(40)
        if step % 2:
            moved = {} if keys else {"pt": "CASE WHEN pt = 'a' THEN 'b' ELSE 'a' END"}
            table.update({"v": "v || '+'", **moved}, f"k >= {first} AND k < {first + 7}")
        else:
            source = pa.table({"k": list(range(first, first + 6)), "v": [f"m{step}", "gone"] * 3})
            table.merge(
                source,
                "k",
                when_matched=[Delete("source.v = 'gone'"), Update({"v": "source.v"})],
                when_not_matched=Insert({"k": "k", "pt": "'a'", "v": "v"}, "k < 40"),
            )
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 12


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize(
    "options", [{"bucket": "1", **MARKS}, {"bucket": "1", "changelog-producer": "lookup", **MARKS}, {"bucket": "-2"}]
)
def test_what_java_left_uncompacted_is_what_we_change(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str]
) -> None:
    if options["bucket"] == "-2" and paimon.version.startswith("0."):
        pytest.skip("Paimon 0.9 does not postpone buckets")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], options))
    paimon.write(tmp_path, "db.t", [["+I", [k, "a", "old"]] for k in range(3)])
    opened(tmp_path).compact(full=True)
    paimon.write(tmp_path, "db.t", [["+I", [1, "a", "new"]], ["-D", [2, "a", "old"]]], **{"write-only": "true"})
    assert opened(tmp_path).update({"v": "v || '+'"}, "k > 0").updated == 1
    opened(tmp_path).compact(full=True)
    rows = [[0, "a", "old"], [1, "a", "new+"]]
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == rows
    assert sorted(map(list, zip(*opened(tmp_path).scan().to_arrow().to_pydict().values(), strict=True))) == rows


@pytest.mark.parametrize("keys", [[], ["k"]], ids=str)
def test_rows_that_java_wrote_longer_than_their_column_can_be_changed(
    paimon: PaimonPeer, tmp_path: Path, keys: list[str]
) -> None:
    columns = [
        ["k", "BIGINT NOT NULL"],
        ["c", "CHAR(3)"],
        ["t", {"type": "ARRAY", "element": "VARCHAR(2)"}],
        ["v", "INT"],
    ]
    paimon.create_table(tmp_path, "db.t", columns=columns, primary_keys=keys, options={"bucket": "1" if keys else "-1"})
    paimon.write(tmp_path, "db.t", [["+I", [k, "longer", ["abc"], k]] for k in range(4)])
    paimon.alter_options(tmp_path, "db.t", {"file.format": "orc"})  # the ORC reader of Java would cut them
    opened(tmp_path).delete("k = 0")
    opened(tmp_path).update({"v": "v + 10"}, "k = 1")
    opened(tmp_path).compact(full=True)
    expected = [[1, "longer", ["abc"], 11], [2, "longer", ["abc"], 2], [3, "longer", ["abc"], 3]]
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == expected
    assert sorted(map(list, zip(*opened(tmp_path).scan().to_arrow().to_pydict().values(), strict=True))) == expected
