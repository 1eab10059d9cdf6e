"""Keys that change their partition, in turn with the real Paimon: what either writes, the other finds in its place."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.matrix import tries

SCHEMA = pa.schema([pa.field("k", pa.string(), nullable=False), ("pt", pa.string()), ("v", pa.int64())])
TURNS = 8


def open_table(warehouse: Path, options: dict[str, str]) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse / "w"), "local-cache.dir": str(warehouse / "cache")})
    catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, primary_keys=["k"], partition_keys=["pt"], options={"bucket": "-1", **options})
    return catalog.create_table("db.t", schema)


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
@pytest.mark.parametrize("seed", range(tries(1, many=2)))
def test_hand_overs_leave_each_key_in_one_partition(paimon: PaimonPeer, tmp_path: Path, engine: str, seed: int) -> None:
    chance = random.Random(f"{engine} {seed}")
    options = {"dynamic-bucket.target-row-num": str(chance.randrange(2, 9)), "merge-engine": engine}
    if engine == "deduplicate" and seed:
        options["changelog-producer"] = "input"
    table = open_table(tmp_path, options)
    model: dict[str, tuple[str, int]] = {}
    for turn in range(TURNS):
        changes: list[tuple[str, str, str, int]] = []
        for _ in range(chance.randrange(1, 15)):
            kind = chance.choice(("+I", "+U", "-D")) if engine == "deduplicate" else "+I"
            change = (kind, f"key {chance.randrange(15)}", chance.choice("pqr"), chance.randrange(1000))
            changes.append(change)
            _, key, partition, value = change
            there = model.get(key)
            if kind == "-D":
                model.pop(key, None)
            elif engine == "deduplicate" or there is None:
                model[key] = (partition, value)
            elif engine != "first-row":
                model[key] = (there[0], value)
        if turn % 2 == seed % 2:
            kinds, *columns = zip(*changes, strict=True)
            rows = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
            table.append(rows.append_column("_row_kind", pa.array(kinds)))
        else:
            paimon.write(tmp_path / "w", "db.t", [[kind, list(values)] for kind, *values in changes])
        if chance.random() < 0.2:
            table.compact(full=True)
        found = table.scan().to_arrow().to_pylist()
        assert sorted((r["k"], r["pt"], r["v"]) for r in found) == sorted((k, *lies) for k, lies in model.items())
    assert_same_at_every_snapshot(paimon, tmp_path / "w", "db.t")


def test_both_say_the_same_of_a_key_that_moves(paimon: PaimonPeer, tmp_path: Path) -> None:
    told = []
    for name in ("ours", "theirs"):
        table = open_table(tmp_path / name, {"changelog-producer": "input"})
        table.append(pa.table([["a", "b"], ["p1", "p1"], [1, 2]], schema=SCHEMA))
        if name == "ours":
            table.append(pa.table([["a", "b"], ["p2", "p1"], [3, 4]], schema=SCHEMA))
        else:
            paimon.write(tmp_path / name / "w", "db.t", [["+I", ["a", "p2", 3]], ["+I", ["b", "p1", 4]]])
        latest = table.latest_snapshot()
        assert latest is not None
        assert latest.index_manifest is None
        between = {"incremental-between": "1,2"}
        told.append(sorted(paimon.changes(tmp_path / name / "w", "db.t$audit_log", between)))
        assert sorted((e.bucket, e.total_buckets) for e in table.facts.manifests.delta_entries(latest)) == [
            (0, -1),
            (0, -1),
        ]
    assert told[0] == told[1]
    assert [values[:3] for _, values in told[0]] == [["+I", "a", "p2"], ["+I", "b", "p1"], ["-D", "a", "p1"]]


@pytest.mark.parametrize("kind", ["-U", "-D"])
def test_a_retract_leaves_the_partition_here_and_makes_it_null_there_until_a_compaction(
    paimon: PaimonPeer, tmp_path: Path, kind: str
) -> None:
    """A deliberate difference (docs/cross-partition.md): rows that a filter on the partition reads stay in it."""
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "write-only": "true"}
    table = open_table(tmp_path, options)
    paimon.write(tmp_path / "w", "db.t", [["+I", ["a", "p", 5]]])
    paimon.write(tmp_path / "w", "db.t", [[kind, ["a", "p", 2]]])
    assert table.scan(filter="pt = 'p'").to_arrow().to_pylist() == [{"k": "a", "pt": "p", "v": 3}]
    assert paimon.read(tmp_path / "w", "db.t")["rows"] == [["a", None, 3]]
    paimon.compact(tmp_path / "w", "db.t", {"write-only": "false"})
    for rows in (paimon.read(tmp_path / "w", "db.t")["rows"], [list(r.values()) for r in _rows(table)]):
        assert rows == [["a", "p", 3]]


def _rows(table: Table) -> list[dict[str, object]]:
    return table.scan().to_arrow().to_pylist()
