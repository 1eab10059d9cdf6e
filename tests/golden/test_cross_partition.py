"""Golden tables whose keys changed their partition: what Paimon's Spark job made of rows, and where it left off."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.support.golden import golden_case
from tests.support.json_rows import json_rows

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("v", pa.int32()),
        ("w", pa.string()),
        pa.field("dt", pa.string(), nullable=False),
    ]
)
STEPS = (
    [(i, i, "one", f"d{i % 2}") for i in range(14)],
    [(i, 100, None if i % 3 == 0 else "two", "d9") for i in range(4, 8)],
    [(i, 1000, "three", "d0") for i in range(5, 17)],
)
"""The rows of the three INSERT statements of the case."""


def as_table(rows: list[tuple[int, int, str | None, str]]) -> pa.Table:
    return pa.table([pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)], schema=SCHEMA)


def shown(table: Table) -> list[list[object]]:
    return json_rows(table.scan().to_arrow(), table.schema.fields)


@pytest.mark.parametrize("name", ["dedup", "partial", "agg", "first"])
def test_the_same_rows_come_to_lie_where_paimon_puts_them(tmp_path: Path, name: str) -> None:
    facts = golden_case("cross_partition").tables[f"db.{name}"]
    states = [facts["snapshots"][str(i)]["rows"] for i in facts["snapshot_ids"]]
    options = {k: v for k, v in facts["schema"]["options"].items() if k not in ("owner", "provider")}
    catalog = load_catalog({"warehouse": str(tmp_path / "w"), "local-cache.dir": str(tmp_path / "cache")})
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, ["id"], ["dt"], options))
    for step in STEPS:
        table.append(as_table(step))
        assert shown(table) in states
    assert shown(table) == states[-1]


@pytest.mark.parametrize("name", ["dedup", "partial", "agg", "first"])
def test_a_table_is_continued_where_paimon_left_off(tmp_path: Path, name: str) -> None:
    case = golden_case("cross_partition")
    facts = case.tables[f"db.{name}"]
    warehouse = case.writable_copy(tmp_path)
    table = load_catalog({"warehouse": str(warehouse), "local-cache.dir": str(tmp_path / "cache")}).load_table(
        f"db.{name}"
    )
    assert isinstance(table, Table)
    # Back to before the last of three statements, which is then carried out here.
    states = {i: facts["snapshots"][str(i)]["rows"] for i in facts["snapshot_ids"]}
    last = states[facts["snapshot_ids"][-1]]
    table.rollback_to(max(i for i, rows in states.items() if rows != last))
    table.append(as_table(STEPS[2]))
    assert shown(table) == last
