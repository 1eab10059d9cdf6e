"""Rows that expire: compactions of this library drop those that compactions of the real Paimon drop."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.matrix import tries

VERSION = "1.4.2"
DAY = 86_400
TIMES = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "TIMESTAMP(3)": pa.timestamp("ms"),
    "TIMESTAMP_LTZ(6)": pa.timestamp("us", tz="UTC"),
}
TABLES = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "ignore-delete": "true"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "lookup": {"changelog-producer": "lookup"},
    "sequence": {"sequence.field": "n"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors and changelog": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "large files": {"target-file-size": "1 b"},
}
BATCHES = 6


def schema_of(kind: str) -> pa.Schema:
    return pa.schema([pa.field("k", pa.int32(), nullable=False), ("at", TIMES[kind]), ("n", pa.int64())])


def rows_of_batch(chance: random.Random, kind: str, engine: str) -> list[tuple[str, list[Any], list[Any]]]:
    """Row kinds with values for this library, and as JSON for the real Paimon."""
    found = []
    for key in chance.sample(range(12), 5):
        days = chance.choice((0, 1, 3, 4, None))
        seconds = None if days is None else int(time.time()) - days * DAY
        number = chance.randrange(100)
        row_kind = "-D" if engine in {"deduplicate", "sequence"} and chance.random() < 0.2 else "+I"
        value, text = times(kind, seconds)
        found.append((row_kind, [key, value, number], [key, text, number]))
    return found


def times(kind: str, seconds: int | None) -> tuple[Any, Any]:
    if seconds is None:
        return None, None
    if kind == "BIGINT" and seconds % 2:
        return 1000 * seconds, 1000 * seconds
    if kind in {"INT", "BIGINT"}:
        return seconds, seconds
    if kind == "TIMESTAMP(3)":
        moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        return moment, moment.isoformat(timespec="milliseconds")
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment, moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def opened(warehouse: Path, kind: str, options: dict[str, str]) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    fixed = {"bucket": "1", "record-level.expire-time": "2 d", "record-level.time-field": "at"}
    # Only compactions on request, so that both drop rows at the same moment.
    triggers = {"num-sorted-run.compaction-trigger": "100", "num-sorted-run.stop-trigger": "200"}
    schema = Schema.from_arrow(schema_of(kind), primary_keys=["k"], options={**fixed, **triggers, **options})
    catalog.create_table("db.t", schema)
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    return table


def append(table: Table, kind: str, rows: list[tuple[str, list[Any], list[Any]]]) -> None:
    columns = zip(*(values for _, values, _ in rows), strict=True)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, schema_of(kind), strict=True)]
    batch = pa.Table.from_arrays(arrays, schema=schema_of(kind))
    table.append(batch.append_column("_row_kind", pa.array([row_kind for row_kind, *_ in rows])))


@pytest.mark.parametrize("seed", range(tries(1, many=6)))
@pytest.mark.parametrize("engine", TABLES)
@pytest.mark.parametrize("kind", TIMES)
def test_both_drop_the_same_rows(peers: Any, tmp_path: Path, kind: str, engine: str, seed: int) -> None:
    paimon: PaimonPeer = peers(VERSION)
    chance = random.Random(f"{kind} {engine} {seed}")
    ours, theirs = (opened(tmp_path / name, kind, TABLES[engine]) for name in ("ours", "theirs"))
    for number in range(BATCHES):
        rows = rows_of_batch(chance, kind, engine)
        is_ours = chance.random() < 0.5
        for table, name in ((ours, "ours"), (theirs, "theirs")):
            if is_ours:
                append(table, kind, rows)
            else:
                paimon.write(tmp_path / name, "db.t", [[row_kind, texts] for row_kind, _, texts in rows])
        if number % 2:
            ours.compact(full=True)
            paimon.compact(tmp_path / "theirs", "db.t")
        found = json_rows(ours.scan().to_arrow(), ours.schema.fields)
        assert found == json_rows(theirs.scan().to_arrow(), theirs.schema.fields), f"after batch {number}"
        assert found == sorted_rows(paimon.read(tmp_path / "ours", "db.t")["rows"])
    if "changelog-producer" in TABLES[engine]:
        changes = [sorted_rows(paimon.changes(tmp_path / name, "db.t$audit_log")) for name in ("ours", "theirs")]
        assert changes[0] == changes[1]
