"""The real Paimon reads what we write: every type, partitioned or not, buckets, deletes, compacted or not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.rows import ALL_TYPES, all_types
from tests.support.matrix import combinations

PARTITIONS = {
    "unpartitioned": [],
    "by text": ["pt"],
    "by day and number": ["day_key", "hour_key"],
}
MATRIX = combinations(PARTITIONS, (1, 3), (False, True), (False, True))


def partitioned(rows: pa.Table) -> pa.Table:
    keys = rows.column("k").to_pylist()
    rows = rows.append_column("pt", pa.array([("a/b", "plain", "x=%y", "中")[k % 4] for k in keys], pa.string()))
    days = pa.array([19_000 + k % 3 for k in keys], pa.int32()).cast(pa.date32())
    return rows.append_column("day_key", days).append_column("hour_key", pa.array([k % 2 for k in keys], pa.int32()))


def create(warehouse: Path, partition_keys: list[str], options: dict[str, str], *, keyed: bool) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    schema = partitioned(all_types(0, [])).schema
    primary_keys = ["k", *partition_keys] if keyed else []
    made = Schema.from_arrow(schema, primary_keys=primary_keys, partition_keys=partition_keys, options=options)
    catalog.create_table("db.t", made)
    return catalog.load_table("db.t")


@pytest.mark.parametrize(("layout", "buckets", "deletes", "compacted"), MATRIX)
def test_primary_key_tables_read_equal(
    paimon: PaimonPeer, tmp_path: Path, layout: str, buckets: int, deletes: bool, compacted: bool
) -> None:
    options = {"bucket": str(buckets), "num-sorted-run.compaction-trigger": "3"}
    if not compacted:
        options["write-only"] = "true"
    table = create(tmp_path, PARTITIONS[layout], options, keyed=True)
    for seed in range(4):
        table.append(partitioned(all_types(seed, list(range(seed * 7, seed * 7 + 30)))))
    if deletes:
        table.delete("k between 10 and 19")
    if compacted:
        table.compact(full=True)
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 4 + deletes


@pytest.mark.parametrize("layout", PARTITIONS)
@pytest.mark.parametrize("options", [{}, {"bucket": "3", "bucket-key": "k"}], ids=["unaware", "fixed"])
def test_append_tables_read_equal(paimon: PaimonPeer, tmp_path: Path, layout: str, options: dict[str, str]) -> None:
    table = create(tmp_path, PARTITIONS[layout], options, keyed=False)
    for seed in range(6):
        table.append(partitioned(all_types(seed, list(range(25)))))
    table.compact(full=True)
    first = partitioned(all_types(9, [1, 5]))
    table.overwrite(first)
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 7


@pytest.mark.parametrize("name", [f.name for f in ALL_TYPES if not pa.types.is_nested(f.type)])
def test_a_key_of_every_type_finds_its_bucket(paimon: PaimonPeer, tmp_path: Path, name: str) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db", ignore_if_exists=True)
    rows = all_types(5, list(range(80))).select([name, "k"] if name != "k" else ["k", "i64"])
    rows = rows.filter(rows.column(name).is_valid())
    field = rows.schema.field(0).with_nullable(nullable=False)
    rows = rows.cast(pa.schema([field, rows.schema.field(1).with_nullable(nullable=True)]))
    catalog.create_table("db.t", Schema.from_arrow(rows.schema, primary_keys=[name], options={"bucket": "5"}))
    catalog.load_table("db.t").append(rows)
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    # Paimon writes the same keys again: were its buckets others than ours, keys would be there twice.
    before = paimon.read(tmp_path, "db.t")["rows"]
    paimon.write(tmp_path, "db.t", [["+I", row] for row in before])
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    assert len(paimon.read(tmp_path, "db.t")["rows"]) == len(before)
