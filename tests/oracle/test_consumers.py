"""Both engines advance one consumer in turn. Each reads the next snapshots, and expiry keeps them until then."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.oracle.random_merges import VERSION

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
PRODUCERS = ["none", "input", "lookup", "full-compaction"]
Plans = list[list[str]]


@pytest.mark.parametrize("producer", [None, *PRODUCERS], ids=lambda producer: producer or "append table")
@pytest.mark.parametrize(
    "start", [{}, {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}, {"scan.mode": "latest"}]
)
def test_a_consumer_continues_where_the_other_engine_stopped(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, producer: str | None, start: dict[str, str]
) -> None:
    paimon, chance = peers(VERSION), random.Random(f"{producer}{start}")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    keys, options = ([], {}) if producer is None else (["k"], {"bucket": "1", "changelog-producer": producer})
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=keys, options=options))

    def theirs(consumer: str, most: int) -> Plans:
        plans = paimon.consume(tmp_path, "db.t", {**start, "consumer-id": consumer}, most)
        return [sorted(map(repr, plan["rows"])) for plan in plans]

    def ours(consumer: str, most: int) -> Plans:
        return consumed(catalog.load_table("db.t"), {**start, "consumer-id": consumer}, most)

    for step in range(7):
        for _ in range(chance.randrange(3) + (step == 0)):
            write(chance, paimon, tmp_path, catalog.load_table("db.t"), step)
        most = chance.choice([1, 2, 9])
        either = chance.choice([ours, theirs])
        assert ours("our own", most) == theirs("their own", most) == either("of both", most), step
        if chance.random() < 0.4:
            paimon.history(tmp_path, "db.t", "expire", 1)
        kept = paimon.kept(tmp_path, "db.t")["consumers"]
        assert kept == dict(catalog.load_table("db.t").consumers())
        assert len(set(kept.values())) == 1


def write(chance: random.Random, paimon: PaimonPeer, warehouse: Path, table: Table, step: int) -> None:
    deletes = bool(table.schema.primary_keys) and step > 0
    rows = [[chance.choice(["+I", "-D"]) if deletes else "+I", [chance.randrange(4), step]] for _ in range(2)]
    if chance.random() < 0.5:
        paimon.write(warehouse, "db.t", rows)
        return
    columns: dict[str, Any] = {
        name: pa.array([values[at] for _, values in rows], pa.int32()) for at, name in enumerate(("k", "v"))
    }
    kinds = {"_row_kind": [kind for kind, _ in rows]} if table.schema.primary_keys else {}
    table.append(pa.table({**columns, **kinds}))


def consumed(table: Table, options: dict[str, str], most: int) -> Plans:
    stream = table.stream(options=options)
    plans: Plans = []
    while len(plans) < most:
        plan = stream.next_plan()
        if plan is None:
            break
        if len(plan):
            plans.append(sorted(repr([kind, list(row)]) for kind, *row in rows_of(stream.to_arrow(plan))))
    stream.acknowledge()
    return plans


def rows_of(changes: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in changes.to_pylist()]
